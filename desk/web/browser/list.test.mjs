// Lists: what they show stands in the address, and many documents are changed at once.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { checkAccessible, login, open, password, start } from "./desk.mjs";

let desk, jwt, author;

async function api(method, path, body) {
  const answer = await fetch(`${desk.base}/api/${path}`, {
    method,
    headers: { "Content-Type": "application/json", ...(jwt ? { Authorization: `Bearer ${jwt}` } : {}) },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text ? JSON.parse(text) : null;
}

before(async () => {
  desk = await start({
    files: {
      "content-types/note.yaml": `kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, pluginOptions: {i18n: {localized: true}}}
  rank: {type: integer, max: 1000}
  mood: {type: enumeration, enum: [calm, loud]}
  author: {type: relation, relation: manyToOne, target: "api::author.author"}
`,
    },
    more: "    api::note.note: [find, findOne, findDrafts, create, update, delete, publish, unpublish]\n",
  });
  ({ jwt } = await api("POST", "auth/local", { identifier: "ann", password }));
  author = (await api("POST", "authors", { data: { name: "Zoe" } })).data.documentId;
});
after(() => desk?.stop());

// Each test has 120 notes of its own: "Note 1" to "Note 120", of which the first is by Zoe.
beforeEach(async () => {
  const old = await api("GET", "notes?status=draft&fields=rank&pagination[pageSize]=100");
  const rest = await api("GET", "notes?status=draft&fields=rank&pagination[pageSize]=100&pagination[page]=2");
  const operations = [...old.data, ...rest.data].map(({ documentId }) => ({ op: "delete", type: "notes", documentId, locale: "*" }));
  for (let rank = 1; rank <= 120; rank++) {
    operations.push({ op: "create", type: "notes", status: "draft", data: { title: `Note ${rank}`, rank, ...(rank === 1 ? { author } : {}) } });
  }
  await api("POST", "_batch", { operations });
});

const links = (page) => page.locator(".rows a");
const first = (page, text) => links(page).first().and(page.getByText(text, { exact: true })).waitFor();
const shows = (page, count) => page.getByText(`${count} documents`, { exact: true }).waitFor();
const count = async (filter) => (await api("GET", `notes?${filter}&fields=id&pagination[pageSize]=1`)).meta.pagination.total;

test("after a login, the list is asked for once", async () => {
  const page = await (await desk.browser.newContext()).newPage();
  const asked = [];
  page.on("request", (request) => request.url().includes("/api/") && asked.push(new URL(request.url()).pathname));
  await page.goto(`${desk.base}/desk/content/note`);
  await login(page, "ann");
  await links(page).first().waitFor();
  await page.getByRole("button", { name: "Filter", exact: false }).first().click();
  await page.getByRole("dialog").waitFor();
  assert.deepEqual(asked, ["/api/_access", "/api/notes"]);
  await page.getByLabel("Attribute", { exact: true }).selectOption("author");
  await checkAccessible(page, "filter");
  await page.getByRole("dialog").waitFor();
});

test("columns, order and search stand in the address", async () => {
  const page = await open(desk, "content/note");
  await page.getByRole("button", { name: "Rank" }).click();
  await first(page, "Note 1");
  await page.getByRole("button", { name: "Rank" }).click();
  await first(page, "Note 120");
  await page.getByRole("button", { name: "Columns" }).click();
  await checkAccessible(page, "list-columns");
  await page.getByText("Mood", { exact: true }).last().click();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "Mood" }).waitFor({ state: "detached" });
  await page.getByRole("searchbox").fill("note 11");
  await shows(page, 11);
  await page.reload();
  await shows(page, 11);
  await first(page, "Note 119");
  assert.equal(await page.getByRole("columnheader", { name: "Mood" }).count(), 0);
  await checkAccessible(page, "list");
});

test("a list is filtered through a relation, and without it again", async () => {
  const page = await open(desk, "content/note");
  await shows(page, 120);
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.getByLabel("Attribute", { exact: true }).selectOption("author");
  await page.getByLabel("Attribute of Author").selectOption("name");
  await page.getByLabel("Value").fill("zoe");
  await page.getByRole("dialog").getByRole("button", { name: "Add filter" }).click();
  await page.getByText("1 document", { exact: true }).waitFor();
  await first(page, "Note 1");
  await page.getByRole("button", { name: "Remove this filter" }).click();
  await shows(page, 120);
});

test("a list has a language and a version", async () => {
  const page = await open(desk, "content/note");
  await shows(page, 120);
  await page.getByLabel("Version").selectOption("published");
  await page.getByText("No documents.").waitFor();
  await page.goBack().catch(() => {});
  await page.goto(`${desk.base}/desk/content/note?locale=de`);
  await page.getByText("No documents.").waitFor();
  await page.getByLabel("Language").selectOption("en");
  await shows(page, 120);
});

test("many are published and deleted in one batch", async () => {
  const page = await open(desk, "content/note?sort=rank:asc");
  await first(page, "Note 1");
  await page.getByLabel("Select: Note 1", { exact: true }).check();
  await page.getByLabel("Select: Note 2", { exact: true }).check();
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText("2 selected").waitFor({ state: "detached" });
  assert.equal(await count("status=published"), 2);
  await page.getByLabel("Select: Note 2", { exact: true }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await shows(page, 119);
});

test("an attribute of many is set, or of none", async () => {
  const page = await open(desk, "content/note?sort=rank:asc");
  await first(page, "Note 1");
  for (const rank of [1, 2, 3]) await page.getByLabel(`Select: Note ${rank}`, { exact: true }).check();
  const set = async (value) => {
    await page.getByRole("button", { name: "Set an attribute" }).click();
    await page.getByRole("dialog").getByLabel("Attribute").selectOption("rank");
    await page.getByRole("dialog").getByLabel("Rank").fill(value);
    await page.getByRole("button", { name: "Set this" }).click();
  };
  await page.getByRole("button", { name: "Set an attribute" }).click();
  await page.getByRole("dialog").getByLabel("Attribute").waitFor();
  await checkAccessible(page, "list-set");
  await page.keyboard.press("Escape");
  await set("5000");
  await page.getByText(/^Nothing was changed/).waitFor();
  assert.equal(await count("status=draft&filters[rank][$lte]=3"), 3);
  await set("500");
  await page.getByText("3 selected").waitFor({ state: "detached" });
  assert.equal(await count("status=draft&filters[rank]=500"), 3);
});

test("a batch whose answer was lost is sent again under the same key", async () => {
  const page = await open(desk, "content/note?sort=rank:asc");
  await page.getByLabel("Select: Note 1", { exact: true }).check();
  const keys = [];
  await page.route(/\/api\/_batch/, async (route) => {
    keys.push(await route.request().headerValue("idempotency-key"));
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Nothing is known of the last attempt").waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await shows(page, 119);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test("the curl of a list asks for what it shows", async () => {
  const page = await open(desk, "content/note?search=note+11&sort=rank:desc");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await shows(page, 11);
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByText("Copied").waitFor();
  const curl = await page.evaluate(() => navigator.clipboard.readText());
  const address = /'([^']+)'/.exec(curl)[1].replace(`${desk.base}/api/`, "");
  const { data } = await api("GET", address);
  assert.equal(data[0].title, "Note 119");
  assert.match(curl, /Authorization: Bearer \$TOKEN/);
});

test("over a slow line a list answers to the last thing that was typed", async () => {
  const page = await open(desk, "content/note");
  await shows(page, 120);
  let isFirst = true;
  let goOn;
  const late = new Promise((resolve) => {
    goOn = resolve;
  });
  await page.route(/\/api\/notes\?/, async (route) => {
    const wasFirst = isFirst;
    isFirst = false;
    if (wasFirst) await late;
    await route.continue().catch(() => {}); // the page has given the request up
  });
  const asked = page.waitForRequest(/_q=note(%20| )1$|_q=note(%20|\+)1&/);
  await page.getByRole("searchbox").fill("note 1");
  await asked;
  await page.getByRole("searchbox").fill("note 120");
  await page.getByText("1 document", { exact: true }).waitFor();
  goOn();
  await first(page, "Note 120");
  assert.equal(await links(page).count(), 1);
});
