// Users, their sessions, and API tokens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start({
    more: `    plugin::users-permissions.user: [find, findOne, create, update, destroy]
    plugin::users-permissions.role: [find]
    lectern::session: [find, revoke]
    lectern::api-token: [find, create, rotate, revoke]
`,
  });
});
after(() => desk?.stop());

const bearer = (key) => ({ headers: { Authorization: `Bearer ${key}` } });
const statusOf = async (key, path = "authors") => (await fetch(`${desk.base}/api/${path}`, bearer(key))).status;
const said = (page, text) => page.getByRole("status").filter({ hasText: text }).first().waitFor();
const sure = (page, verb) => page.getByRole("alertdialog").getByRole("button", { name: verb, exact: true }).click();

test("a user is made, found, changed, blocked and deleted", async () => {
  const page = await open(desk, "people");
  await page.getByRole("button", { name: "Add user" }).click();
  const form = page.locator("form");
  await form.getByLabel("Name").fill("carl");
  await form.getByLabel("Email address").fill("carl@example.org");
  await form.getByLabel("Password").fill("correct horse");
  await form.getByLabel("Role").selectOption("editors");
  await form.getByRole("button", { name: "Add user" }).click();
  await page.getByRole("link", { name: "carl", exact: true }).waitFor();
  await page.getByLabel("Search users").fill("car");
  await page.getByRole("link", { name: "ben", exact: true }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "carl", exact: true }).click();
  await page.getByLabel("Email address").fill("carl@example.com");
  await page.getByRole("button", { name: "Save" }).click();
  await said(page, "Done.");
  await page.getByRole("button", { name: "Block", exact: true }).click();
  await sure(page, "Block");
  await page.getByText("Blocked").waitFor();
  await page.getByRole("button", { name: "Unblock" }).click();
  await page.getByRole("button", { name: "Block", exact: true }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await sure(page, "Delete");
  await page.getByRole("link", { name: "ann", exact: true }).waitFor();
  await page.getByRole("link", { name: "carl", exact: true }).waitFor({ state: "detached" });
});

test("the sessions of a user are seen and ended", async () => {
  const ben = await open(desk, "", "ben");
  await ben.getByRole("button", { name: "Log out" }).waitFor();
  const page = await open(desk, "people");
  await page.getByRole("link", { name: "ben", exact: true }).click();
  const sessions = page.getByRole("region", { name: "Logged in at" });
  await sessions.getByRole("button", { name: "End session" }).click();
  await sessions.getByText("Nowhere.").waitFor();
  await ben.reload();
  await ben.getByRole("button", { name: "Log in" }).waitFor();
});

test("nobody locks themselves out unseen", async () => {
  const page = await open(desk, "people");
  await page.getByRole("link", { name: "ann", exact: true }).click();
  for (const verb of ["Block", "Delete"]) {
    await page.getByRole("button", { name: verb, exact: true }).click();
    await page.getByRole("alertdialog").getByText("your own account").waitFor();
    await sure(page, "Cancel");
  }
  await page.getByLabel("Role").selectOption("authenticated");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alertdialog").getByText("your own account").waitFor();
  await sure(page, "Cancel");
});

test("a token is made, its key shown once, rotated and revoked; it may do no more than its maker", async () => {
  const page = await open(desk, "people/tokens");
  const make = async (name, permissions) => {
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel(/^Permissions/).fill(permissions);
    await page.locator("form").getByRole("button", { name: "Make token" }).click();
  };
  await page.getByRole("button", { name: "Make token" }).click();
  await make("news", "api::author.author.delete");
  await said(page, "nobody can grant more");
  await make("news", "api::author.author.find");
  const key = page.getByRole("region", { name: "Key of news" });
  const first = await key.locator("code").textContent();
  assert.equal(await statusOf(first), 200);
  await page.reload();
  await page.getByText("news", { exact: true }).waitFor();
  assert.ok(!(await page.content()).includes(first));
  await page.getByRole("button", { name: "New key for news" }).click();
  await sure(page, "New key");
  const second = await key.locator("code").textContent();
  assert.notEqual(first, second);
  await page.getByRole("button", { name: "Revoke news" }).click();
  await sure(page, "Revoke");
  await page.getByText("news", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await statusOf(second), 401);
});

test("the views are accessible", async () => {
  const page = await open(desk, "people");
  await page.getByRole("link", { name: "ben", exact: true }).waitFor();
  await checkAccessible(page, "people");
  await page.getByRole("link", { name: "ben", exact: true }).click();
  await page.getByRole("heading", { name: "Logged in at" }).waitFor();
  await checkAccessible(page, "person");
  await page.getByRole("link", { name: "All users" }).click();
  await page.getByRole("link", { name: "API tokens" }).click();
  await page.getByRole("button", { name: "Make token" }).click();
  await page.getByLabel("Name", { exact: true }).waitFor();
  await checkAccessible(page, "tokens");
});
