// Nothing that was typed is lost, nothing is made twice, and nothing is overwritten unseen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { login, open, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start();
});
after(() => desk?.stop());

const creates = /\/api\/authors(\?|$)/;
const name = (page) => page.getByLabel("Name").first();
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();
const saved = (page) => page.getByText("Saved", { exact: true }).waitFor();
const hasAddress = (page) => page.waitForURL(/author\/(?!new)/);

async function authors(begin) {
  const answer = await fetch(`${desk.base}/api/authors?filters[name][$startsWith]=${begin}`);
  return (await answer.json()).data.map((author) => author.name);
}

async function newAuthor(text) {
  const page = await open(desk, "content/author");
  await page.getByText("New Author").click();
  await name(page).fill(text);
  return page;
}

test("a document whose answer was lost is made once, and what was typed since is there after a reload", async () => {
  const page = await newAuthor("Lost");
  await page.route(creates, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await route.fetch();
    await route.abort();
  });
  await save(page);
  await page.getByText("Not saved:").waitFor();
  await name(page).fill("Lost and found");
  await page.reload();
  await name(page).waitFor();
  assert.equal(await name(page).inputValue(), "Lost and found");
  await page.unroute(creates);
  await save(page);
  await hasAddress(page);
  await page.getByText("You had typed this").waitFor();
  await save(page);
  await saved(page);
  assert.deepEqual(await authors("Lost"), ["Lost and found"]);
});

test("what is typed while a new document is saved stays", async () => {
  const page = await newAuthor("Slow");
  let goOn;
  const gate = new Promise((resolve) => {
    goOn = resolve;
  });
  await page.route(creates, async (route) => {
    if (route.request().method() === "POST") await gate;
    await route.continue();
  });
  await save(page);
  await name(page).fill("Slow and on");
  goOn();
  await hasAddress(page);
  await page.getByText("You had typed this").waitFor();
  assert.equal(await name(page).inputValue(), "Slow and on");
  assert.deepEqual(await authors("Slow"), ["Slow"]);
});

test("what two people changed is settled by the second, also after a reload", async () => {
  const first = await open(desk, "content/article");
  await first.locator(".rows a").first().click();
  const title = (page) => page.getByLabel("Title").first();
  await title(first).waitFor();
  const second = await open(desk, new URL(first.url()).pathname.replace("/desk/", ""), "ben");
  await title(second).waitFor();
  await second.route(/_changes/, (route) => route.abort()); // so that it does not hear of the first at once
  await second.reload();
  await title(second).waitFor();
  await second.route(/\/_changes/, (route) => route.abort()); // it learns nothing before it saves
  await second.reload();
  await title(second).waitFor();
  await title(first).fill("By the first");
  await save(first);
  await saved(first);
  await title(second).fill("By the second");
  await second.getByLabel("Summary").first().fill("By the second alone");
  await second.reload();
  await second.getByRole("button", { name: "Take all of mine" }).click();
  await second.getByRole("button", { name: "Go on with this" }).click();
  await save(second);
  await saved(second);
  await first.reload();
  await title(first).waitFor();
  assert.equal(await title(first).inputValue(), "By the second");
  assert.equal(await first.getByLabel("Summary").first().inputValue(), "By the second alone");
});

test("whoever logs out does so in all tabs, and the next user sees nothing of what the former one typed", async () => {
  const page = await newAuthor("Unsaved");
  await page.getByRole("link", { name: "Lectern" }).click();
  await page.getByRole("link", { name: "Unsaved" }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${desk.base}/desk`);
  await other.getByRole("button", { name: "Log out" }).click();
  await page.getByText("Your session has ended").waitFor();
  await login(page, "ben");
  await page.getByRole("heading", { name: "Welcome, ben" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Unsaved" }).count(), 0);
});
