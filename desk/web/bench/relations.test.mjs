import assert from "node:assert/strict";
import { test } from "node:test";
import { api, open, save } from "./bench.mjs";

const page = "api::page.page";
const names = (links) => links.map((link) => link.name);
const group = (p, name) => p.getByRole("group", { name, exact: true });

async function tags(...all) {
  const out = [];
  for (const name of all) out.push((await api("POST", "tags", { name })).documentId);
  return out;
}

test("a relation to one is found, linked, replaced and removed", async () => {
  await api("POST", "people", { name: "Ada Marsh" });
  await api("POST", "people", { name: "Tomás Rey" });
  await open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const owner = group(p, "Owner");
    await owner.getByRole("combobox").fill("ada");
    await p.getByRole("option", { name: "Ada Marsh" }).click();
    await owner.getByRole("link", { name: "Ada Marsh" }).waitFor();
    assert.equal((await save(p)).owner.name, "Ada Marsh");
    // By the keyboard alone.
    await owner.getByRole("combobox").focus();
    await p.keyboard.type("tom");
    await p.getByRole("option", { name: "Tomás Rey", selected: true }).waitFor();
    await p.keyboard.press("ArrowDown");
    await p.keyboard.press("Enter");
    await owner.getByRole("link", { name: "Tomás Rey" }).waitFor();
    assert.equal((await save(p)).owner.name, "Tomás Rey");
    await owner.getByRole("button", { name: "Remove Tomás Rey" }).click();
    assert.equal((await save(p)).owner, null);
  });
});

test("a document is made in place and linked", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const owner = group(p, "Owner");
    await owner.getByRole("button", { name: "New: Person" }).click();
    const dialog = p.getByRole("dialog", { name: "New: Person" });
    await dialog.getByRole("button", { name: "Save and link" }).click();
    await dialog.getByText("name must be defined").waitFor();
    await dialog.getByLabel("Name").fill("Eva Lind");
    await dialog.getByRole("button", { name: "Save and link" }).click();
    await owner.getByRole("link", { name: "Eva Lind" }).waitFor();
    assert.equal((await save(p)).owner.name, "Eva Lind");
  }));

test("links to many are ordered and removed by what changes, not as a whole list", async () => {
  const ids = await tags("t1", "t2", "t3", "t4");
  const { documentId } = await api("POST", "pages?status=draft", { title: "x", tags: ids });
  await open(page, documentId, async (p) => {
    const field = group(p, "Tags");
    await field.getByText("4 linked").waitFor();
    await field.getByRole("button", { name: "Move t3 up" }).click();
    await field.getByRole("button", { name: "Remove t1" }).click();
    const saved = await save(p);
    assert.deepEqual(names(saved.tags), ["t3", "t2", "t4"]);
    assert.deepEqual(await p.evaluate(() => window.sent), {
      tags: { connect: [{ documentId: ids[2], position: { start: true } }], disconnect: [{ documentId: ids[0] }] },
    });
    await field.getByText("3 linked").waitFor();
    const handle = (name) => field.getByRole("button", { name: `Move ${name}`, exact: true });
    await handle("t4").focus();
    await p.keyboard.press("Space");
    await p.getByText(/is lifted, at 3 of 3/).waitFor({ state: "attached" });
    await p.keyboard.press("ArrowUp");
    await p.getByText(/is at 2 of 3/).waitFor({ state: "attached" });
    await p.keyboard.press("Space");
    await p.getByText(/was put at 2 of 3/).waitFor({ state: "attached" });
    assert.deepEqual(names((await save(p)).tags), ["t3", "t4", "t2"]);
  });
});

test("10,000 links are read by pages, and changed without being read", async (t) => {
  const ids = [];
  for (let i = 0; i < 10000; i += 1000) {
    const operations = Array.from({ length: 1000 }, (_, j) => {
      const name = `many ${String(i + j).padStart(5, "0")}`;
      return { op: "create", type: "tags", data: { name }, fields: ["name"] };
    });
    ids.push(...(await api("POST", "_batch", { operations })).map((result) => result.data.documentId));
  }
  const { documentId } = await api("POST", "pages?status=draft", { title: "x", tags: ids });
  await open(page, documentId, async (p) => {
    let bytes = 0;
    p.on("response", async (answer) => {
      if (/\/(api|graphql)/.test(answer.url())) bytes += (await answer.body().catch(() => "")).length;
    });
    await p.reload();
    const field = group(p, "Tags");
    await field.getByText("10,000 linked").waitFor();
    await field.getByRole("link", { name: "many 00024" }).waitFor();
    assert.equal(await field.getByRole("link").count(), 25);
    await field.getByRole("button", { name: "Show more (25 of 10,000)" }).click();
    await field.getByRole("link", { name: "many 00049" }).waitFor();
    t.diagnostic(`${bytes} bytes read`);
    assert.ok(bytes < 100000, `${bytes} bytes`);
    await field.getByRole("button", { name: "Remove many 00001" }).click();
    await field.getByRole("button", { name: "Move many 00040 up" }).click();
    await field.getByRole("combobox").fill("many 09999");
    await p.getByRole("option", { name: "many 09999" }).click();
    await field.getByText("10,000 linked").waitFor();
    await save(p, "pages", "populate[owner]=true");
    assert.equal(await p.evaluate(() => JSON.stringify(window.sent).length < 400), true);
  });
  const { tags: after } = await api("GET", `pages/${documentId}?status=draft&populate[tags][fields]=name`);
  assert.equal(after.length, 9999);
  assert.deepEqual(names(after.slice(37, 41)), ["many 00038", "many 00040", "many 00039", "many 00041"]);
  assert.equal(after.at(-1).name, "many 09999");
});

test("polymorphic links lead to documents of any type", async () => {
  await tags("any tag");
  await api("POST", "people", { name: "Any Person" });
  await open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const about = group(p, "About");
    await about.getByRole("combobox", { name: "Link to About: Tag" }).fill("any");
    await p.getByRole("option", { name: "any tag" }).click();
    await about.getByRole("combobox", { name: "Link to About: Person" }).fill("any");
    await p.getByRole("option", { name: "Any Person" }).click();
    await about.getByRole("button", { name: "Move Any Person up" }).click();
    const saved = await save(p, "pages", "populate=about");
    assert.deepEqual(
      saved.about.map((link) => [link.__type, link.name]),
      [
        ["api::person.person", "Any Person"],
        ["api::tag.tag", "any tag"],
      ],
    );
    await about.getByRole("link", { name: "any tag" }).waitFor();
  });
});

test("relations in components are linked", async () => {
  await tags("inner");
  const { documentId } = await api("POST", "pages?status=draft", {
    title: "x",
    sections: [{ __component: "part.quote", line: "a" }],
  });
  await open(page, documentId, async (p) => {
    const item = p.getByRole("group", { name: "1. Quote" });
    await item.getByRole("group", { name: "Tags" }).getByRole("combobox").fill("inner");
    await p.getByRole("option", { name: "inner" }).click();
    const saved = await save(p, "pages", "populate[sections][populate]=*");
    assert.deepEqual(names(saved.sections[0].tags), ["inner"]);
  });
});

test("a relation leads to users, who have no drafts and no pages", async () => {
  const { base, token } = await import("./bench.mjs");
  const made = await fetch(`${base}/api/users`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ username: "ann", email: "ann@example.org", password: "secret1", role: 1 }),
  });
  assert.ok(made.ok, await made.text());
  await open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const editor = group(p, "Editor");
    await editor.getByRole("combobox").fill("ann");
    await p.getByRole("option", { name: "ann" }).click();
    await save(p, "pages", "populate=editor");
    await editor.getByRole("link", { name: "ann" }).waitFor();
  });
});
