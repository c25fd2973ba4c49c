// Files are found, uploaded without being stored twice, replaced, described, and deleted only after one saw what uses them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, password, start } from "./desk.mjs";

const more =
  "    plugin::upload.content-api: [find, findOne, upload, destroy, findUsage]\n" +
  "    api::poster.poster: [find, findOne, findDrafts, create]\n";
const poster = `kind: collectionType
info: {singularName: poster, pluralName: posters, displayName: Poster}
options: {draftAndPublish: true}
attributes: {title: {type: string}, picture: {type: media}}
`;
let desk;
let jwt;
before(async () => {
  desk = await start({ more, files: { "content-types/poster.yaml": poster } });
  const login = { identifier: "ann", password };
  jwt = (await api("auth/local", { method: "POST", body: JSON.stringify(login), headers: { "Content-Type": "application/json" } })).jwt;
});
after(() => desk?.stop());

async function api(path, request = {}) {
  const headers = { ...(jwt ? { Authorization: `Bearer ${jwt}` } : {}), ...request.headers };
  const answer = await fetch(`${desk.base}/api/${path}`, { ...request, headers });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${text}`);
  return JSON.parse(text);
}

const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const image = (name) => ({ name, mimeType: "image/png", buffer: dot });
const note = (name, text = name) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

// seed stores files without the desk.
async function seed(files, info) {
  const form = new FormData();
  for (const { name, mimeType, buffer } of files) form.append("files", new Blob([buffer], { type: mimeType }), name);
  if (info) form.append("fileInfo", JSON.stringify(info));
  return api("upload", { method: "POST", body: form });
}

const namesWith = async (begin) =>
  (await api(`upload/files?filters[name][$startsWith]=${begin}&sort=name`)).map((file) => file.name);
const choose = (page, files) => page.locator("header input[type=file]").setInputFiles(files);
const tile = (page, name) => page.getByRole("link", { name, exact: true });
const details = (page) => page.getByRole("dialog");

test("files are found by their names and texts, by their kind, and in an order", async () => {
  await seed([image("find-cat.png")], { alternativeText: "A tabby" });
  await seed([note("find-dog.txt")]);
  const page = await open(desk, "media");
  await page.getByLabel("Search files").fill("find-");
  await page.getByText("2 files", { exact: true }).waitFor();
  await page.getByLabel("Kind").selectOption("Images");
  await tile(page, "find-dog.txt").waitFor({ state: "detached" });
  await page.getByLabel("Kind").selectOption("All kinds");
  await page.getByLabel("Order").selectOption("By name");
  await tile(page, "find-dog.txt").waitFor();
  await page.locator(".tiles > li:first-child", { hasText: "find-cat.png" }).waitFor();
  await page.getByLabel("Search files").fill("tabby");
  await tile(page, "find-dog.txt").waitFor({ state: "detached" });
  await page.reload();
  await tile(page, "find-cat.png").waitFor();
  assert.equal(await page.getByLabel("Search files").inputValue(), "tabby");
});

test("of several files, one whose answer was lost stays in the list, and is stored once when it is sent again", async () => {
  const page = await open(desk, "media");
  await page.route("**/api/upload", async (route) => {
    if (!route.request().postDataBuffer().includes("lost-two.txt")) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await choose(page, [note("lost-one.txt"), note("lost-two.txt"), note("lost-three.txt")]);
  await page.getByText("The server does not answer.").waitFor();
  await tile(page, "lost-three.txt").waitFor();
  await page.unroute("**/api/upload");
  await page.getByRole("button", { name: "Try lost-two.txt again" }).click();
  await page.getByRole("button", { name: "Try lost-two.txt again" }).waitFor({ state: "detached" });
  await tile(page, "lost-two.txt").waitFor();
  assert.deepEqual(await namesWith("lost-"), ["lost-one.txt", "lost-three.txt", "lost-two.txt"]);
});

test("uploads go on by themselves when the line is back, also in another view", async () => {
  const page = await open(desk, "media");
  await page.getByRole("heading", { name: "Media" }).waitFor();
  await page.context().setOffline(true);
  await choose(page, [note("line-one.txt"), note("line-two.txt")]);
  await page.getByRole("button", { name: "Try 2 files again" }).waitFor();
  await page.getByRole("link", { name: "Lectern" }).click();
  await page.getByRole("heading", { name: "Welcome, ann" }).waitFor();
  const sent = new Promise((resolve) => {
    let left = 2;
    page.on("response", (answer) => answer.url().endsWith("/api/upload") && --left === 0 && resolve());
  });
  await page.context().setOffline(false);
  await sent;
  await page.getByRole("link", { name: "Media" }).click();
  await tile(page, "line-two.txt").waitFor();
  assert.equal(await page.locator(".uploads").count(), 0);
  assert.deepEqual(await namesWith("line-"), ["line-one.txt", "line-two.txt"]);
});

test("the browser asks before it closes a page with files that are not stored", async () => {
  const page = await open(desk, "media");
  await page.getByRole("heading", { name: "Media" }).waitFor();
  await page.context().setOffline(true);
  await choose(page, [note("close.txt")]);
  await page.getByRole("button", { name: "Try close.txt again" }).waitFor();
  const asked = page.waitForEvent("dialog");
  await page.close({ runBeforeUnload: true });
  const dialog = await asked;
  assert.equal(dialog.type(), "beforeunload");
  await dialog.accept();
});

test("dropped files are uploaded, and one that is refused says why", async () => {
  const page = await open(desk, "media");
  await page.getByRole("heading", { name: "Media" }).waitFor();
  let answer;
  const seen = new Promise((resolve) => (answer = resolve));
  await page.route("**/api/upload", async (route) => {
    if (route.request().postDataBuffer().includes("drop-bad")) {
      return route.fulfill({ status: 413, json: { error: { status: 413, message: "drop-bad.txt exceeds size limit" } } });
    }
    await seen;
    await route.continue();
  });
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    for (const name of ["drop-good.txt", "drop-bad.txt"]) transfer.items.add(new File([name], name, { type: "text/plain" }));
    return transfer;
  });
  await page.locator(".media").dispatchEvent("drop", { dataTransfer: data });
  await page.getByRole("progressbar", { name: "Uploading drop-good.txt" }).waitFor();
  answer();
  await tile(page, "drop-good.txt").waitFor();
  const bad = page.getByRole("listitem").filter({ hasText: "drop-bad.txt exceeds size limit" });
  await bad.getByRole("button", { name: "Drop drop-bad.txt" }).click();
  await bad.waitFor({ state: "detached" });
  assert.deepEqual(await namesWith("drop-"), ["drop-good.txt"]);
});

test("what is said of a file is saved, and not dropped unseen", async () => {
  const [{ id }] = await seed([image("said.png")]);
  const page = await open(desk, `media?file=${id}`);
  await details(page).getByLabel("Caption").fill("In May");
  await details(page).getByLabel("Alternative text").fill("A garden");
  await page.keyboard.press("Escape");
  await page.getByText("Drop what was changed here?").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await details(page).getByRole("button", { name: "Save" }).click();
  await details(page).getByText("Saved", { exact: true }).waitFor();
  const file = await api(`upload/files/${id}`);
  assert.deepEqual([file.name, file.alternativeText, file.caption], ["said.png", "A garden", "In May"]);
  await details(page).getByRole("button", { name: "Close" }).click();
  await details(page).waitFor({ state: "detached" });
});

test("the content of a file is replaced in place", async () => {
  const [{ id, url }] = await seed([note("placed.txt", "before")]);
  const page = await open(desk, `media?file=${id}`);
  await details(page).locator("input[type=file]").setInputFiles([note("other.txt", "after")]);
  await details(page).getByText("The content was replaced.").waitFor();
  assert.equal(await (await fetch(desk.base + url)).text(), "after");
  await details(page).locator("input[type=file]").setInputFiles([image("other.png")]);
  await details(page).getByRole("button", { name: "Try other.png again" }).waitFor();
  assert.equal(await (await fetch(desk.base + url)).text(), "after");
});

test("alternative texts are written one after the other by the keyboard, those that are missing first", async () => {
  for (const name of ["row-a.png", "row-b.png"]) await seed([image(name)]);
  await seed([image("row-c.png")], { alternativeText: "There already" });
  const page = await open(desk, "media?search=row-");
  await page.getByRole("button", { name: "Alternative texts" }).press("Enter");
  const inputs = page.locator(".texts input");
  await inputs.nth(2).waitFor();
  assert.equal(await inputs.nth(2).getAttribute("aria-label"), "Alternative text of row-c.png");
  await page.getByText("2 images have no alternative text").waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("data-index") === "0");
  await page.keyboard.type("The second");
  await page.keyboard.press("Enter");
  await page.keyboard.type("The first");
  await page.keyboard.press("Enter");
  await page.getByText("All images have an alternative text.").waitFor();
  const texts = (await api("upload/files?filters[name][$startsWith]=row-&sort=name")).map((file) => file.alternativeText);
  assert.deepEqual(texts, ["The first", "The second", "There already"]);
});

test("an alternative text that was not saved stays, and is saved by the next try", async () => {
  await seed([image("stay.png")]);
  const page = await open(desk, "media?search=stay&texts=true");
  const input = page.getByLabel("Alternative text of stay.png");
  await input.fill("Kept");
  await page.route("**/api/upload?id=*", (route) => route.abort());
  await input.press("Enter");
  await page.getByText("Not saved: The server does not answer.").waitFor();
  await page.unroute("**/api/upload?id=*");
  await input.press("Enter");
  await page.getByText("Saved", { exact: true }).waitFor();
  assert.equal((await api("upload/files?filters[name]=stay.png"))[0].alternativeText, "Kept");
});

test("before a file is deleted, one sees what uses it; unused ones are listed", async () => {
  const [used] = await seed([image("use-used.png")]);
  await seed([image("use-free.png")]);
  await api("posters?status=draft", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ data: { title: "Spring", picture: used.id } }),
  });
  const page = await open(desk, "media?search=use-");
  await tile(page, "use-used.png").click();
  await details(page).getByRole("link", { name: "Spring" }).waitFor();
  await details(page).getByRole("button", { name: "Delete" }).click();
  const sure = page.getByRole("alertdialog");
  await sure.getByText("Delete use-used.png? It is used, and will be missing there.").waitFor();
  await sure.getByRole("link", { name: "Spring" }).waitFor();
  await sure.getByRole("button", { name: "Cancel" }).click();
  await details(page).getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Only unused").check();
  await tile(page, "use-used.png").waitFor({ state: "detached" });
  await tile(page, "use-free.png").click();
  await details(page).getByText("No document uses this file.").waitFor();
  await details(page).getByRole("button", { name: "Delete" }).click();
  await sure.getByText("Delete use-free.png? No document uses it.").waitFor();
  // The first answer is lost.
  await page.route("**/api/upload/files/*", async (route) => {
    if (route.request().method() !== "DELETE") return route.continue();
    await route.fetch();
    await route.abort();
  });
  await sure.getByRole("button", { name: "Delete" }).click();
  await details(page).getByText("The server does not answer.").waitFor();
  await page.unroute("**/api/upload/files/*");
  await details(page).getByRole("button", { name: "Delete" }).click();
  await sure.getByRole("button", { name: "Delete" }).click();
  await details(page).waitFor({ state: "detached" });
  await page.getByText("No file matches.").waitFor();
  assert.deepEqual(await namesWith("use-"), ["use-used.png"]);
});

test("a thousand files are scrolled through, and only what is in view is loaded", async () => {
  for (let i = 0; i < 10; i++) {
    await seed(Array.from({ length: 100 }, (_, k) => note(`many-${String(i * 100 + k).padStart(4, "0")}.txt`)));
  }
  const page = await open(desk, "media?search=many-&sort=name");
  await tile(page, "many-0000.txt").waitFor();
  await page.locator(".scroller").evaluate((e) => e.scrollTo(0, e.scrollHeight));
  await tile(page, "many-0999.txt").waitFor();
  assert.ok((await page.locator(".tile").count()) < 150);
  assert.equal(await page.locator(".tiles > li").last().getAttribute("aria-setsize"), "1000");
});

test("the views of files are accessible", async () => {
  const [{ id }] = await seed([image("axe-a.png")], { alternativeText: "A dot" });
  await seed([image("axe-b.png"), note("axe-a-file-with-a-very-long-name-that-does-not-fit.txt")]);
  const page = await open(desk, "media?search=axe-");
  await tile(page, "axe-b.png").waitFor();
  await checkAccessible(page, "media");
  await page.getByRole("button", { name: "Alternative texts" }).click();
  await page.getByLabel("Alternative text of axe-a.png").waitFor();
  await checkAccessible(page, "media-texts");
  const other = await open(desk, `media?file=${id}`);
  await details(other).getByLabel("Caption").waitFor();
  await details(other).getByText("No document uses this file.").waitFor();
  await checkAccessible(other, "media-details");
});
