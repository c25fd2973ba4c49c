// What a document was, what of it is published, and what it is in other languages, beside its form.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

const localized = "pluginOptions: {i18n: {localized: true}}";

let desk;
let token;
before(async () => {
  desk = await start({
    more: `    api::page.page: [find, findOne, findDrafts, create, update, delete, publish, unpublish, discardDraft, history, restore]
    api::home.home: [find, update, delete, history, restore]
    api::topic.topic: [find, findOne, create, update, delete, history, restore]
    plugin::users-permissions.user: [find]
`,
    files: {
      "content-types/page.yaml": `kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
options: {draftAndPublish: true}
${localized}
attributes:
  title: {type: string, required: true, ${localized}}
  body: {type: richtext, ${localized}}
  story: {type: blocks, ${localized}}
  rank: {type: integer, default: 3}
  topics: {type: relation, relation: manyToMany, target: api::topic.topic}
  parts: {type: dynamiczone, components: [page.quote, page.note], ${localized}}
`,
      "content-types/topic.yaml": `kind: collectionType
info: {singularName: topic, pluralName: topics, displayName: Topic}
attributes:
  name: {type: string}
`,
      "content-types/home.yaml": `kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
attributes:
  heading: {type: string}
`,
      "components/page/quote.yaml": "info: {displayName: Quote}\nattributes:\n  text: {type: text}\n",
      "components/page/note.yaml": "info: {displayName: Note}\nattributes:\n  label: {type: string}\n",
    },
  });
  const answer = await fetch(`${desk.base}/api/auth/local`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ identifier: "ben", password: "correct horse" }),
  });
  token = (await answer.json()).jwt;
});
after(() => desk?.stop());

// api sends a request as ben, and returns the data of its answer.
async function api(method, path, data) {
  const answer = await fetch(`${desk.base}/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(data ? { "Content-Type": "application/json" } : {}) },
    body: data && JSON.stringify({ data }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text).data : null;
}

const draft = async (data, query = "") => (await api("POST", `pages?status=draft${query}`, data)).documentId;
const title = (page) => page.locator("[data-path=title] input");
const look = (page) => page.getByRole("complementary", { name: "Beside the form" });
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();
const saved = (page) => page.getByText("Saved", { exact: true }).waitFor();
const lookBack = (page) => page.getByRole("link", { name: "Look back and compare" }).click();
const write = (page, text) => look(page).getByRole("listitem").getByRole("button", { name: text });

test("the history says who wrote what, with the differences by field, within texts, by entry and by name", async () => {
  const [bread, soup] = [await api("POST", "topics", { name: "Bread" }), await api("POST", "topics", { name: "Soup" })];
  const quote = (text) => ({ __component: "page.quote", text });
  const id = await draft({ title: "A garden", body: "Beans grow on the windowsill.", topics: [bread.documentId], parts: [quote("one"), quote("two")] });
  await api("PUT", `pages/${id}?status=draft`, {
    title: "A garden", body: "Peas grow on the windowsill.", rank: 7, topics: [soup.documentId], parts: [quote("two"), { __component: "page.note", label: "new" }],
  });
  const page = await open(desk, `content/page/${id}`);
  await title(page).waitFor();
  await lookBack(page);
  await write(page, "Changed").click();
  const text = async (name) => (await look(page).getByRole("region", { name, exact: true }).innerText()).replace(/\s+/g, " ");
  await look(page).getByRole("region", { name: "Body" }).waitFor();
  assert.match(await write(page, "Changed").innerText(), /ben, /);
  const body = look(page).getByRole("region", { name: "Body" });
  assert.deepEqual([await body.getByRole("deletion").innerText(), await body.getByRole("insertion").innerText()], ["Beans", "Peas"]);
  assert.match(await text("Rank"), /3 7/);
  assert.match(await text("Topics"), /Soup/);
  assert.match(await look(page).getByRole("region", { name: "Topics" }).getByRole("deletion").innerText(), /Bread/);
  assert.match(await text("Parts"), /Quote removed Text one.*1 that is the same.*Note new Label new/);
  assert.equal(await look(page).getByRole("region", { name: "Title" }).count(), 0);
});

test("a version is restored as a whole, and not over what is typed without asking", async () => {
  const id = await draft({ title: "First", rank: 1 });
  await api("PUT", `pages/${id}?status=draft`, { title: "Second", rank: 2 });
  const page = await open(desk, `content/page/${id}?look=history`);
  await title(page).fill("Typed");
  await write(page, "Created").click();
  await look(page).getByRole("button", { name: "Restore this version" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await title(page).inputValue(), "Typed");
  await look(page).getByRole("button", { name: "Restore this version" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Restore this version" }).click();
  await write(page, "ann").waitFor();
  await page.waitForFunction(() => document.querySelector("[data-path=title] input").value === "First");
  await saved(page);
  const now = await api("GET", `pages/${id}?status=draft`);
  assert.deepEqual([now.title, now.rank], ["First", 1]);
});

test("a version is not restored over what somebody else saved meanwhile", async () => {
  const id = await draft({ title: "First" });
  await api("PUT", `pages/${id}?status=draft`, { title: "Second" });
  const page = await open(desk, `content/page/${id}?look=history`);
  await write(page, "Created").waitFor();
  await page.route(/\/_changes/, (route) => route.abort()); // it learns nothing before it restores
  await page.reload();
  await write(page, "Created").click();
  await look(page).getByRole("button", { name: "Restore this version" }).waitFor();
  await api("PUT", `pages/${id}?status=draft`, { title: "Third" });
  await look(page).getByRole("button", { name: "Restore this version" }).click();
  await page.waitForFunction(() => document.querySelector("[data-path=title] input").value === "Third");
  assert.equal((await api("GET", `pages/${id}?status=draft`)).title, "Third");
});

test("one field gets its earlier value, and nothing is written until it is saved", async () => {
  const quote = (text) => ({ __component: "page.quote", text });
  const id = await draft({ title: "Kept", body: "Old text", parts: [quote("old")] });
  await api("PUT", `pages/${id}?status=draft`, { title: "New", body: "New text", parts: [quote("new")] });
  const page = await open(desk, `content/page/${id}?look=history`);
  await write(page, "Changed").click();
  await look(page).getByRole("button", { name: "Take the earlier value: Parts" }).click();
  await look(page).getByRole("button", { name: "Take the earlier value: Title" }).click();
  await page.waitForFunction(() => document.querySelector("[data-path=title] input").value === "Kept");
  await page.getByText("Not saved yet").waitFor();
  assert.equal((await api("GET", `pages/${id}?status=draft`)).title, "New");
  await save(page);
  await saved(page);
  const now = await api("GET", `pages/${id}?status=draft&populate=parts`);
  assert.deepEqual([now.title, now.body, now.parts.map((part) => part.text)], ["Kept", "New text", ["old"]]);
});

test("texts and blocks take their earlier value in their editors", async () => {
  const story = (text) => [{ type: "paragraph", children: [{ type: "text", text }] }];
  const id = await draft({ title: "Editors", body: "Old **text**", story: story("Old story") });
  await api("PUT", `pages/${id}?status=draft`, { body: "New text", story: story("New story") });
  const page = await open(desk, `content/page/${id}?look=history`);
  await write(page, "Changed").click();
  const ofStory = look(page).getByRole("region", { name: "Story" });
  await ofStory.waitFor();
  assert.deepEqual([await ofStory.getByRole("deletion").innerText(), await ofStory.getByRole("insertion").innerText()], ["Old", "New"]);
  const editor = page.locator("[data-path=story] [contenteditable]");
  await editor.getByText("New story").waitFor();
  await look(page).getByRole("button", { name: "Take the earlier value: Story" }).click();
  await look(page).getByRole("button", { name: "Take the earlier value: Body" }).click();
  await editor.getByText("Old story").waitFor();
  await page.locator("[data-path=body] [contenteditable]").getByText("Old **text**").waitFor();
  await save(page);
  await saved(page);
  const now = await api("GET", `pages/${id}?status=draft`);
  assert.deepEqual([now.body, now.story[0].children[0].text], ["Old **text**", "Old story"]);
});

test("the document of a single type comes back after it was deleted", async () => {
  await api("PUT", "home", { heading: "Welcome" });
  await api("DELETE", "home");
  const page = await open(desk, "content/home");
  await lookBack(page);
  await write(page, "Created").click();
  await look(page).getByRole("button", { name: "Restore this version" }).click();
  await saved(page);
  assert.equal((await api("GET", "home")).heading, "Welcome");
});

test("an earlier write is compared with what the form holds now", async () => {
  const id = await draft({ title: "First", rank: 1 });
  for (const rank of [2, 3]) await api("PUT", `pages/${id}?status=draft`, { rank });
  const page = await open(desk, `content/page/${id}?look=history`);
  await title(page).fill("Typed");
  await write(page, "Created").click();
  await look(page).getByLabel("Compare").selectOption({ label: "What is different now" });
  const ofTitle = look(page).getByRole("region", { name: "Title" });
  await ofTitle.waitFor();
  assert.deepEqual([await ofTitle.getByRole("deletion").innerText(), await ofTitle.getByRole("insertion").innerText()], ["First", "Typed"]);
  assert.match(await look(page).getByRole("region", { name: "Rank" }).innerText(), /1\s+3/);
});

test("a history longer than a page is read by pages", async () => {
  const id = await draft({ title: "Long", rank: 0 });
  for (let rank = 1; rank <= 24; rank++) await api("PUT", `pages/${id}?status=draft`, { rank });
  const page = await open(desk, `content/page/${id}?look=history`);
  await write(page, "Changed").nth(19).click();
  assert.match(await look(page).getByRole("region", { name: "Rank" }).innerText(), /4\s+5/, "the write before it is on the next page");
  await write(page, "Created").waitFor();
  assert.equal(await write(page, "Changed").count(), 24);
});

test("the published version is beside the form, which takes a value of it and goes back to it", async () => {
  const id = (await api("POST", "pages", { title: "On the site", body: "As it is." })).documentId;
  await api("PUT", `pages/${id}?status=draft`, { title: "Not yet on it", body: "As it will be." });
  const page = await open(desk, `content/page/${id}?look=published`);
  const region = (name) => look(page).getByRole("region", { name });
  await region("Title").waitFor();
  await title(page).fill("Typed on it");
  assert.match(await region("Title").innerText(), /Typed/);
  await look(page).getByRole("button", { name: "Take the published value: Title" }).click();
  await region("Title").waitFor({ state: "detached" });
  assert.equal(await title(page).inputValue(), "On the site");
  await region("Body").waitFor();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Discard changes" }).click();
  await look(page).getByText("The form holds what is published.").waitFor();
  assert.equal((await api("GET", `pages/${id}?status=draft`)).title, "On the site");
});

test("a language is made from another, with the values that all share, and both are beside each other", async () => {
  const id = await draft({ title: "Bread", body: "Flour", rank: 9, parts: [{ __component: "page.note", label: "salt" }] });
  const page = await open(desk, `content/page/${id}?locale=de`);
  await page.getByText("There is no version in this language yet").waitFor();
  assert.equal(await page.getByLabel("Rank").inputValue(), "9");
  await lookBack(page);
  await look(page).getByLabel("Beside the form").selectOption({ label: "In the language en" });
  await look(page).getByRole("button", { name: "Fill the form from en" }).click();
  assert.equal(await title(page).inputValue(), "Bread");
  await title(page).fill("Brot");
  await save(page);
  await saved(page);
  const german = await api("GET", `pages/${id}?status=draft&locale=de&populate=parts`);
  assert.deepEqual([german.title, german.body, german.rank, german.parts[0].label], ["Brot", "Flour", 9, "salt"]);
  const english = await api("GET", `pages/${id}?status=draft&populate=parts`);
  assert.deepEqual([english.title, english.rank, english.parts[0].label], ["Bread", 9, "salt"]);
  assert.match(await look(page).getByRole("region", { name: "Rank" }).innerText(), /the same in all languages/);
  await look(page).getByRole("button", { name: "Take over: Title" }).click();
  assert.equal(await title(page).inputValue(), "Bread");
});

test("deleted documents are listed with what they were, and brought back in all languages", async () => {
  const id = (await api("POST", "pages", { title: "Gone bread", body: "Rye" })).documentId;
  await api("PUT", `pages/${id}?status=draft&locale=de`, { title: "Brot" });
  const topic = await api("POST", "topics", { name: "Gone topic" });
  await api("DELETE", `pages/${id}?locale=*`);
  await api("DELETE", `topics/${topic.documentId}`);
  const page = await open(desk, "deleted/page");
  const entry = page.getByRole("button", { name: /^(Gone bread|Brot)/ });
  await entry.click();
  await page.getByRole("region", { name: "Title", exact: true }).waitFor();
  await checkAccessible(page, "deleted");
  await page.getByRole("button", { name: /^Bring back/ }).click();
  await page.getByText("It is back as a draft.").waitFor();
  assert.equal(await entry.count(), 0);
  assert.equal((await api("GET", `pages/${id}?status=draft`)).body, "Rye");
  assert.equal((await api("GET", `pages/${id}?status=draft&locale=de`)).title, "Brot");
  await page.getByLabel("Type").selectOption({ label: "Topic" });
  await page.getByRole("button", { name: /^Gone topic/ }).click();
  await page.getByRole("button", { name: "Bring back Gone topic" }).click();
  await page.getByText("It is back.").waitFor();
  await page.getByRole("link", { name: "Open it" }).click();
  await page.locator("[data-path=name] input").waitFor();
  assert.equal(await page.locator("[data-path=name] input").inputValue(), "Gone topic");
});

test("what was deleted or taken off the site at once is brought back as it was", async () => {
  const made = [];
  for (const [query, name] of [["status=published", "Undo site"], ["status=published", "Undo changed"], ["status=draft", "Undo draft"]]) {
    made.push((await api("POST", `pages?${query}`, { title: name })).documentId);
  }
  await api("PUT", `pages/${made[1]}?status=draft`, { title: "Undo changed since" });
  const states = async () => {
    const of = async (status) => (await api("GET", `pages?status=${status}&filters[documentId][$in]=${made.join("&filters[documentId][$in]=")}&sort=title`)).map((page) => page.title);
    return [await of("draft"), await of("published")];
  };
  const before = await states();
  assert.deepEqual(before, [["Undo changed since", "Undo draft", "Undo site"], ["Undo changed", "Undo site"]]);
  const page = await open(desk, "content/page?search=Undo");
  const selectAll = async () => {
    await page.getByRole("link", { name: "Undo draft" }).waitFor();
    await page.getByLabel("Select all that are loaded").check();
  };
  const undone = async () => {
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("Undone.").waitFor();
    assert.deepEqual(await states(), before);
  };
  await selectAll();
  await page.locator(".tr", { hasText: "Undo draft" }).getByRole("checkbox").uncheck();
  await page.getByRole("button", { name: "Unpublish" }).click();
  await page.getByText("2 taken off the site.").waitFor();
  assert.deepEqual((await states())[1], []);
  await undone();
  await selectAll();
  await page.getByRole("group", { name: "3 selected" }).getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("3 deleted.").waitFor();
  assert.deepEqual(await states(), [[], []]);
  await undone();
});

test("of hundreds of links, one that was exchanged for another is shown by its name", async () => {
  const operations = Array.from({ length: 301 }, (_, i) => ({ op: "create", type: "topics", data: { name: `Linked ${i}` } }));
  const answer = await fetch(`${desk.base}/api/_batch`, {
    method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: JSON.stringify({ operations }),
  });
  const topics = (await answer.json()).data.map(({ data }) => data.documentId);
  const id = (await api("POST", "pages", { title: "Linked", topics: topics.slice(0, 300) })).documentId;
  await api("PUT", `pages/${id}?status=draft`, { topics: { disconnect: [topics[7]], connect: [topics[300]] } });
  const page = await open(desk, `content/page/${id}?look=published`);
  const found = look(page).getByRole("region", { name: "Topics" });
  await found.getByText("Linked 300").waitFor();
  await found.getByText("Linked 7", { exact: true }).waitFor();
  assert.equal(await look(page).getByText("only the number").count(), 0);
});

test("what is beside the form is accessible", async () => {
  const quote = (text) => ({ __component: "page.quote", text });
  const id = (await api("POST", "pages", { title: "Axe", body: "A sharp axe.", parts: [quote("one"), quote("two")] })).documentId;
  await api("PUT", `pages/${id}?status=draft`, { title: "An axe", body: "A very sharp axe.", rank: 5, parts: [quote("two"), quote("three")] });
  await api("PUT", `pages/${id}?status=draft&locale=de`, { title: "Eine Axt" });
  const page = await open(desk, `content/page/${id}?look=history`);
  await write(page, "Changed").first().click();
  await look(page).getByRole("region", { name: "Body" }).waitFor();
  await checkAccessible(page, "history");
  for (const [choice, name] of [["Published version", "published"], ["In the language de", "language"]]) {
    await look(page).getByLabel("Beside the form").selectOption({ label: choice });
    await look(page).getByRole("region", { name: "Title", exact: true }).waitFor();
    await checkAccessible(page, name);
  }
});
