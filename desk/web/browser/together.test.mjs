// Two people in one document.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start({ more: "    api::category.category: [find, findOne, create, update, delete, history]\n    plugin::users-permissions.user: [find]\n" });
});
after(() => desk?.stop());

const name = (page) => page.getByRole("textbox", { name: /^Name(?! or)/ });
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();
const saved = (page) => page.getByText("Saved", { exact: true }).waitFor();

// both opens a new category for ann and ben, whose pages follow it.
async function both(text) {
  const ann = await open(desk, "content/category/new?form=first");
  await name(ann).fill(text);
  if (await ann.getByLabel("Slug").count()) await ann.getByLabel("Slug").first().fill(text.toLowerCase());
  const asked = ann.waitForRequest(/_changes/);
  await save(ann);
  await ann.waitForURL(/category\/(?!new)/);
  await saved(ann);
  await asked;
  const ben = await open(desk, new URL(ann.url()).pathname.replace("/desk/", ""), "ben");
  await name(ben).waitFor();
  return { ann, ben };
}

test("what another one saves shows at once in a form in which nothing was typed", async () => {
  const { ann, ben } = await both("Quiet");
  await name(ben).fill("By ben");
  await save(ben);
  await ann.getByText("ben saved this a moment ago.").waitFor();
  assert.equal(await name(ann).inputValue(), "By ben");
  await checkAccessible(ann, "together");
  assert.equal(await ben.getByText("a moment ago").count(), 0);
});

test("what another one saves is told of, and what was typed stays until both are put together", async () => {
  const { ann, ben } = await both("Busy");
  await name(ann).fill("Both by ann");
  await name(ben).fill("Both by ben");
  await save(ben);
  await ann.getByText("ben saved this a moment ago.").waitFor();
  assert.equal(await name(ann).inputValue(), "Both by ann");
  await ann.getByRole("button", { name: "Put both together" }).click();
  await ann.getByRole("button", { name: "Take all of mine" }).click();
  await ann.getByRole("button", { name: "Go on with this" }).click();
  await save(ann);
  await saved(ann);
  await ben.getByText("ann saved this a moment ago.").waitFor();
  assert.equal(await name(ben).inputValue(), "Both by ann");
});

test("a document that another one deletes says so at once", async () => {
  const { ann, ben } = await both("Gone");
  await ben.getByRole("button", { name: "Delete" }).click();
  await ben.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await ann.getByText("Somebody has deleted this document").waitFor();
  assert.equal(await name(ann).inputValue(), "Gone");
});
