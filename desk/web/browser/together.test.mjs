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

test("people who have a document open see each other before anybody saves, until they leave", async () => {
  const { ann, ben } = await both("Shared");
  const others = (page) => page.getByText("Also open here:");
  await ben.getByText("Also open here: ann.").waitFor();
  await name(ann).fill("Shared by ann");
  await ann.getByText("Also open here: ben.").waitFor();
  await checkAccessible(ann, "presence");
  await ben.emulateMedia({ colorScheme: "dark" });
  await name(ben).fill("Shared by ben");
  await ben.getByText("Also open here: ann (has not saved yet).").waitFor();

  const left = ben.waitForRequest((request) => request.url().endsWith("/_presence") && request.postData().includes('"closed":true'));
  ben.on("dialog", (dialog) => dialog.accept());
  await ben.getByRole("link", { name: "Category", exact: true }).first().click();
  await (await left).response();
  await name(ann).fill("Shared");
  await others(ann).waitFor({ state: "detached" });

  const restored = ben.waitForResponse((response) => response.url().endsWith("/_presence") && response.request().postData().includes('"unsaved":true'));
  await ben.goto(ann.url());
  await restored;
  await ben.getByText("Also open here: ann.").waitFor();
  await name(ann).fill("Shared again");
  await ann.getByText("Also open here: ben").waitFor();
  await ben.goto("about:blank");
  await name(ann).fill("Shared");
  await others(ann).waitFor({ state: "detached" });
});
