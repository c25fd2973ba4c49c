// Who changed what, of all types.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start({ more: "    lectern::audit: [find]\n" });
});
after(() => desk?.stop());

test("the audit names who changed which document, by type and person, and can be used by everybody", async () => {
  const page = await open(desk, "content/author");
  await page.getByText("New Author").click();
  await page.getByRole("heading", { name: "New: Author" }).waitFor();
  await page.getByLabel("Name").first().fill("Audited");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL(/author\/(?!new)/);
  const document = new URL(page.url()).pathname.split("/").at(-1);
  await page.getByRole("link", { name: "Who changed what" }).click();
  const entries = page.locator(".audit ol > li");
  await entries.first().waitFor();
  assert.match(await entries.first().textContent(), /user ann/);
  await checkAccessible(page, "audit");
  await page.getByLabel("Type").selectOption({ label: "Author" });
  await page.waitForURL(/type=api/);
  await page.getByRole("button", { name: document }).first().click();
  await page.getByRole("button", { name: "All documents" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".audit ol > li").length === 1);
  await page.getByLabel("By").fill("user:ben");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing was changed.").waitFor();
});

test("whoever may not audit is shown nothing of it", async () => {
  const other = await start();
  try {
    const page = await open(other, "");
    await page.getByRole("heading", { name: "Welcome, ann" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Who changed what" }).count(), 0);
  } finally {
    await other.stop();
  }
});
