// The form of a document when something comes between: sessions that end, documents that are deleted, lost lines.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { login, open, password, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start();
});
after(() => desk?.stop());

const title = (page) => page.getByLabel("Title").first();
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();
const saved = (page) => page.getByText("Saved", { exact: true }).waitFor();

// newArticle makes a draft in the desk, and returns a page with its form.
async function newArticle(name, user) {
  const page = await open(desk, "content/article/new?form=first", user);
  await title(page).fill(name);
  await page.getByLabel("Slug").first().fill(name.toLowerCase().replaceAll(" ", "-"));
  await save(page);
  await page.waitForURL(/article\/(?!new)/);
  await saved(page);
  return page;
}

const placeOf = (page) => new URL(page.url()).pathname.replace("/desk/", "");

test("while a session is over, nothing beneath the form to log in can be reached", async () => {
  const page = await newArticle("Ended");
  await page.getByRole("button", { name: "Delete" }).click(); // a question is open, which hides the rest by itself
  desk.run("user set-password", `${password}\n`, "ann"); // which ends all sessions
  await page.getByText("Your session has ended").waitFor();
  assert.ok(await page.locator("main").evaluateAll((all) => all.every((main) => main.closest("[inert]"))));
  for (let i = 0; i < 6; i++) {
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest(".login") !== null));
  }
  await login(page, "ann");
  await title(page).waitFor();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  await page.locator("#desk:not([inert])").waitFor();
  assert.equal(await title(page).inputValue(), "Ended");
});

test("what was typed into a document that somebody deleted meanwhile can be saved as a new one", async () => {
  const page = await newArticle("Doomed");
  await page.route(/_changes/, (route) => route.abort()); // so that the save is the first to find out
  await page.reload();
  await page.getByRole("button", { name: "Seo" }).first().click();
  await title(page).fill("Saved from the bin");
  const other = await open(desk, placeOf(page), "ben");
  await other.getByRole("button", { name: "Delete" }).click();
  await other.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await other.waitForURL(/content\/article$/);
  await save(page);
  await page.getByText("Somebody has deleted this document").waitFor();
  assert.equal(await title(page).inputValue(), "Saved from the bin");
  await page.reload();
  await page.getByText("Somebody has deleted this document").waitFor();
  assert.equal(await title(page).inputValue(), "Saved from the bin");
  await page.getByRole("button", { name: "Save as a new document" }).click();
  await page.waitForURL(/article\/new/);
  await save(page);
  await page.waitForURL(/article\/(?!new)/);
  await saved(page);
  assert.equal(await title(page).inputValue(), "Saved from the bin");
});

test("what is typed into a new component while it is saved is no conflict", async () => {
  const page = await newArticle("Component");
  await page.getByRole("button", { name: "Seo" }).first().click();
  const field = page.getByLabel("Meta title").first();
  await field.fill("a");
  let goOn;
  const gate = new Promise((resolve) => {
    goOn = resolve;
  });
  let isHeld = false;
  await page.route(/\/api\/articles\//, async (route) => {
    if (route.request().method() === "PUT" && !isHeld) {
      isHeld = true;
      await gate;
    }
    await route.continue();
  });
  await save(page);
  await field.press("End");
  await field.pressSequentially("b");
  goOn();
  await page.getByText("Not saved yet; kept").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).and(page.locator(":not([disabled])")).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(await field.inputValue(), "ab");
  await save(page);
  await saved(page);
  assert.equal(await field.inputValue(), "ab");
});

test("a save takes along what somebody else has changed elsewhere in the document", async () => {
  const page = await newArticle("Together");
  const other = await open(desk, placeOf(page), "ben");
  await other.getByLabel("Summary").first().fill("By ben");
  await save(other);
  await saved(other);
  await title(page).fill("Together by ann");
  await save(page);
  await saved(page);
  assert.equal(await page.getByLabel("Summary").first().inputValue(), "By ben");
  assert.equal(await title(page).inputValue(), "Together by ann");
});

test("a document that could not be loaded is asked for again", async () => {
  const page = await newArticle("Offline");
  await page.route(/\/api\/articles\//, (route) => route.abort());
  await page.reload();
  await page.getByText("The server does not answer.").waitFor();
  await page.unroute(/\/api\/articles\//);
  await page.getByRole("button", { name: "Try again" }).click();
  await title(page).waitFor();
  assert.equal(await title(page).inputValue(), "Offline");
});
