// Previews beside the form, and publishing and unpublishing at a time.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { checkAccessible, open, password, start } from "./desk.mjs";

let desk, site;

// The website shows the draft of a note to whoever has a token for it.
before(async () => {
  site = createServer(async (request, response) => {
    const url = new URL(request.url, "http://site");
    const answer = await fetch(`${desk.base}/api/notes?filters[slug][$eq]=${url.pathname.slice(1)}&locale=en`, {
      headers: { Authorization: `Bearer ${url.searchParams.get("token")}` },
    });
    const note = answer.ok ? (await answer.json()).data[0] : undefined;
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><html lang="en"><title>Site</title><h1>${note?.title ?? "nothing"}</h1>`);
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  desk = await start({
    files: {
      "content-types/note.yaml": `kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
preview: {url: "http://127.0.0.1:${site.address().port}/{slug}?token={token}"}
attributes:
  title: {type: string, required: true, pluginOptions: {i18n: {localized: true}}}
  slug: {type: uid, targetField: title, pluginOptions: {i18n: {localized: true}}}
`,
    },
    more: "    api::note.note: [find, findOne, findDrafts, create, update, delete, publish, unpublish, preview]\n",
  });
});
after(async () => {
  await desk?.stop();
  site.close();
});

const title = (page) => page.getByLabel("Title").first();
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();

async function newNote(name) {
  const page = await open(desk, "content/note/new?form=first");
  await title(page).fill(name);
  await page.getByLabel("Slug").first().fill(name.toLowerCase());
  await save(page);
  await page.waitForURL(/note\/(?!new)/);
  await page.getByText("Saved", { exact: true }).waitFor();
  return page;
}

test("the preview shows the draft, and follows it with each save", async () => {
  const page = await newNote("First");
  await page.getByRole("link", { name: "Preview" }).click();
  const shown = (text) => page.frameLocator("iframe").getByRole("heading", { name: text, exact: true }).waitFor();
  await shown("First");
  await title(page).fill("Second");
  await page.getByLabel("Slug").first().fill("second"); // another address
  await save(page);
  await shown("Second");
  await checkAccessible(page, "preview");
});

test("a document is planned to be published and taken off, and the plan is cancelled", async () => {
  const page = await newNote("Planned");
  await page.getByRole("button", { name: "Later …" }).click();
  await page.getByLabel("Publish at", { exact: true }).fill("2099-05-01T09:00");
  await page.getByLabel("Unpublish at").fill("2099-04-01T09:00");
  await page.getByRole("button", { name: "Plan this" }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor(); // it would be taken off before
  await checkAccessible(page, "later");
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await page.getByLabel("Unpublish at").fill("2099-06-01T09:00");
  await page.getByRole("button", { name: "Plan this" }).click();
  await page.getByText("Will be taken off Jun 1, 2099").waitFor();
  await checkAccessible(page, "planned");
  await page.reload();
  const planned = page.locator(".notice").filter({ hasText: "Will be published May 1, 2099" });
  await planned.getByRole("button", { name: "Cancel this" }).click();
  await planned.waitFor({ state: "detached" });
  assert.equal(await page.getByText("Will be taken off").count(), 1);
});

test("a document that could not be published at its time says why", async () => {
  const page = await newNote("Late");
  await title(page).fill("");
  await save(page);
  await page.getByText("Saved", { exact: true }).waitFor();
  const post = async (path, body, headers) => {
    const answer = await fetch(`${desk.base}/api/${path}`, {
      method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body),
    });
    return answer.json();
  };
  const { jwt } = await post("auth/local", { identifier: "ann", password });
  await post(`notes/${page.url().split("/").at(-1).split("?")[0]}/actions/publish?locale=en`,
    { data: { publishAt: new Date().toISOString() } }, { Authorization: `Bearer ${jwt}` });
  await page.reload();
  await page.getByText(/^Could not be published/).waitFor();
});
