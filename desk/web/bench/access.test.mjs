import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { api, open } from "./bench.mjs";

const page = "api::page.page";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// violations returns what axe finds on a page.
async function violations(p) {
  if (!(await p.evaluate(() => "axe" in window))) await p.evaluate(axe);
  const { violations: found } = await p.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  return found.flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}

async function full() {
  const tag = (await api("POST", "tags", { name: `seen ${Math.random()}` })).documentId;
  const { documentId } = await api("POST", "pages?status=draft", {
    title: "x",
    body: "# Hi",
    facts: { a: 1 },
    text: [
      { type: "heading", level: 2, children: [{ type: "text", text: "Head" }] },
      { type: "code", language: "go", children: [{ type: "text", text: "x := 1" }] },
      { type: "list", format: "ordered", children: [{ type: "list-item", children: [{ type: "text", text: "one" }] }] },
      { type: "paragraph", children: [{ type: "link", url: "/x", children: [{ type: "text", text: "there" }] }] },
    ],
    address: { city: "Arden" },
    hours: [{ day: "mon" }],
    sections: [
      { __component: "part.quote", line: "a", tags: [tag] },
      { __component: "part.pictures", title: "b" },
    ],
    tags: [tag],
    about: [{ __type: "api::tag.tag", documentId: tag }],
  });
  return documentId;
}

async function ready(p) {
  await p.getByRole("textbox", { name: "Text", exact: true }).scrollIntoViewIfNeeded();
  await p.getByRole("textbox", { name: "Facts" }).waitFor();
  await p.getByRole("textbox", { name: "Text", exact: true }).click();
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in the form, in dialogs and lists, ${colorScheme}`, async () => {
    await open(page, await full(), async (p) => {
      await p.emulateMedia({ colorScheme });
      await ready(p);
      assert.deepEqual(await violations(p), []);
      await p.keyboard.press("Control+k");
      assert.deepEqual(await violations(p), []);
      await p.keyboard.press("Escape");
      await p.getByRole("combobox", { name: "Link to Tags" }).first().focus();
      await p.getByRole("listbox").getByRole("option").first().waitFor();
      assert.deepEqual(await violations(p), []);
      await p.getByLabel("Title").first().fill("x".repeat(61));
      await p.getByRole("button", { name: "Save", exact: true }).click();
      await p.locator("output", { hasText: "refused" }).waitFor();
      assert.deepEqual(await violations(p), []);
      await p.getByRole("group", { name: "Body" }).getByRole("button", { name: "Preview" }).click();
      await p.getByRole("region", { name: "Preview" }).waitFor();
      assert.deepEqual(await violations(p), []);
      await p.getByRole("button", { name: "New: Person" }).first().click();
      await p.getByRole("dialog").waitFor();
      assert.deepEqual(await violations(p), []);
      await p.keyboard.press("Escape");
      await p.getByRole("dialog").waitFor({ state: "detached" });
      await p.getByRole("button", { name: "Choose files" }).first().click();
      await p.getByRole("dialog").waitFor();
      assert.deepEqual(await violations(p), []);
      await p.keyboard.press("Escape");
      await p.getByRole("dialog").waitFor({ state: "detached" });
      await p.getByRole("button", { name: "Add to Sections" }).click();
      await p.getByRole("menu").waitFor();
      assert.deepEqual(await violations(p), []);
    });
  });
}

test("a form that one may only read has nothing to change", async () => {
  await open(
    page,
    await full(),
    async (p) => {
      await ready(p);
      assert.equal(await p.getByRole("button", { name: /^(Add|Remove|Delete|Duplicate|Upload|New)/ }).count(), 0);
      assert.equal(
        await p.getByRole("textbox", { name: "Text", exact: true }).getAttribute("contenteditable"),
        "false",
      );
      assert.deepEqual(await violations(p), []);
    },
    { more: "&readonly=1" },
  );
});

test("the form speaks German to those who read it", () =>
  open(
    page,
    null,
    async (p) => {
      await p.getByRole("button", { name: "Aus Title machen" }).waitFor();
      await p.getByRole("group", { name: "Free" }).getByLabel("Nicht gesetzt").waitFor();
    },
    { locale: "de-DE" },
  ));
