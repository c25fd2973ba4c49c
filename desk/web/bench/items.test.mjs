import assert from "node:assert/strict";
import { test } from "node:test";
import { api, open, save } from "./bench.mjs";
import { p95, typing } from "./typing.mjs";

const page = "api::page.page";
const quote = (line) => ({ __component: "part.quote", line });
const lines = (saved) => saved.sections.map((section) => section.line);
const zone = (p) => p.getByRole("group", { name: "Sections", exact: true });
const sections = "populate[sections][populate]=*";

async function withQuotes(...all) {
  const { documentId } = await api("POST", "pages?status=draft", { title: "x", sections: all.map(quote) });
  return documentId;
}

test("a single component is added, filled and removed", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    await p.getByRole("button", { name: "Add Address" }).click();
    await p.getByLabel("City").fill("Arden");
    assert.equal((await save(p)).address.city, "Arden");
    await p.getByRole("button", { name: "Remove Address" }).click();
    await p.getByRole("group", { name: "Address" }).getByRole("button", { name: "Undo" }).click();
    assert.equal(await p.getByLabel("City").inputValue(), "Arden");
    await p.getByRole("button", { name: "Remove Address" }).click();
    assert.equal((await save(p)).address, null);
  }));

test("repeatable components are added up to the most, and duplicated", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const hours = p.getByRole("group", { name: "Hours", exact: true });
    for (const day of ["mon", "tue", "wed"]) {
      await hours.getByRole("button", { name: "Add Hours" }).click();
      await hours.getByLabel("Day").last().selectOption(day);
    }
    await hours.getByRole("button", { name: "Duplicate 1. Hours" }).click();
    assert.equal(await hours.getByRole("button", { name: "Add Hours" }).count(), 0);
    const saved = await save(p);
    assert.deepEqual(
      saved.hours.map((h) => h.day),
      ["mon", "mon", "tue", "wed"],
    );
  }));

test("items of a zone are moved by buttons, by the mouse and by keys", async () => {
  const id = await withQuotes("a", "b", "c", "d");
  await open(page, id, async (p) => {
    await p.getByRole("button", { name: "Collapse all" }).click();
    await p.getByRole("button", { name: "Move 1. Quote down" }).click();
    assert.deepEqual(lines(await save(p, "pages", sections)), ["b", "a", "c", "d"]);

    const handle = (n) => p.getByRole("button", { name: `Move ${n}. Quote`, exact: true });
    await handle(2).scrollIntoViewIfNeeded();
    const [from, to] = [await handle(4).boundingBox(), await handle(1).boundingBox()];
    await p.mouse.move(from.x + 5, from.y + 5);
    await p.mouse.down();
    await p.mouse.move(from.x + 5, from.y - 20, { steps: 4 });
    await p.locator(".item[data-dragging]").waitFor();
    await p.mouse.move(to.x + 5, to.y + 2, { steps: 8 });
    // The first item makes room.
    await p.waitForFunction(() => /[1-9]/.test(document.querySelector(".item").style.transform));
    await p.mouse.up();
    await p.getByText(/was put at 1 of 4/).waitFor({ state: "attached" });
    assert.deepEqual(lines(await save(p, "pages", sections)), ["d", "b", "a", "c"]);

    await handle(1).focus();
    await p.keyboard.press("Space");
    await p.getByText(/is lifted, at 1 of 4/).waitFor({ state: "attached" });
    await p.keyboard.press("ArrowDown");
    await p.getByText(/is at 2 of 4/).waitFor({ state: "attached" });
    await p.keyboard.press("Space");
    await p.getByText(/was put at 2 of 4/).waitFor({ state: "attached" });
    assert.deepEqual(lines(await save(p, "pages", sections)), ["b", "d", "a", "c"]);
  });
});

test("an item is added, duplicated, deleted, and brought back", async () => {
  const id = await withQuotes("a", "b");
  await open(page, id, async (p) => {
    const before = (await api("GET", `pages/${id}?status=draft&${sections}`)).sections.map((s) => s.id);
    await p.getByRole("button", { name: "Add to Sections" }).click();
    await p.getByRole("menuitem", { name: "Quote" }).click();
    await zone(p).getByLabel("Line").last().fill("new");
    await p.getByRole("button", { name: "Duplicate 1. Quote" }).click();
    await zone(p).getByLabel("Line").nth(1).fill("copy");
    await p.getByRole("button", { name: "Delete 3. Quote" }).click();
    await p.getByText("was deleted").waitFor();
    await zone(p).getByRole("button", { name: "Undo" }).click();
    const saved = await save(p, "pages", sections);
    assert.deepEqual(lines(saved), ["a", "copy", "b", "new"]);
    assert.deepEqual([saved.sections[0].id, saved.sections[2].id], before, "items keep their ids");
    await p.getByRole("button", { name: "Delete 2. Quote" }).click();
    assert.deepEqual(lines(await save(p, "pages", sections)), ["a", "b", "new"]);
  });
});

test("an error in a collapsed item opens it", async () => {
  const id = await withQuotes("a", "b");
  await open(page, id, async (p) => {
    await zone(p).getByLabel("Line").first().fill("x".repeat(300));
    await p.getByRole("button", { name: "Collapse all" }).click();
    await p.getByRole("button", { name: "Save", exact: true }).click();
    await zone(p).getByText("must be at most 255 characters").waitFor();
    assert.equal(await zone(p).getByLabel("Line").count(), 1);
  });
});

// countRenders counts the components that React renders from now on.
function countRenders() {
  window.rendered = 0;
  const count = (fiber) => {
    for (; fiber; fiber = fiber.sibling) {
      const isComponent = [0, 11, 14, 15].includes(fiber.tag);
      if (isComponent && fiber.flags & 1) window.rendered++;
      if (!fiber.alternate || fiber.child !== fiber.alternate.child) count(fiber.child);
    }
  };
  window.committed = (root) => count(root.current.child);
}

test("50 components in a zone: opening, and typing in one of them", async (t) => {
  const id = await withQuotes(...Array.from({ length: 50 }, (_, i) => `quote ${i}`));
  await open(page, id, async (p) => {
    await zone(p).getByText("50 items").waitFor();
    const opened = await p.evaluate(() => performance.measure("form", "read", "shown").duration);
    t.diagnostic(`opened in ${opened.toFixed(0)} ms`);
    await zone(p)
      .getByRole("button", { name: /Quote quote 24/ })
      .click();
    const collapsed = await typing(p, zone(p).getByLabel("Line"), "the quick brown fox jumps over the lazy dog");
    t.diagnostic(`typing, one item open: p95 ${p95(collapsed).toFixed(1)} ms of work for a key`);
    await p.getByRole("button", { name: "Open all" }).click();
    await zone(p).getByLabel("Line").nth(49).waitFor();
    const all = await typing(p, zone(p).getByLabel("Line").nth(24), "the quick brown fox jumps over the lazy dog");
    t.diagnostic(`typing, all items open: p95 ${p95(all).toFixed(1)} ms of work for a key`);
    await p.evaluate(countRenders);
    await p.keyboard.type("x");
    const rendered = await p.evaluate(() => window.rendered);
    t.diagnostic(`a key renders ${rendered} components`);
    assert.ok(rendered > 0 && rendered < 40, `a key renders ${rendered} components`);
  });
});
