// Roles: those of config/permissions.yaml with their rules, and those that are made and changed at the desk.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

let desk;
let root; // the key of a token that may do everything
before(async () => {
  desk = await start({
    more: `    lectern::role: [find]
    plugin::users-permissions.role: [find, createRole, updateRole, deleteRole]
  guards:
    api::author.author: {find: {where: {name: Ada Marsh}, fields: [name]}, findOne: true}
    api::article.article: {create: {set: {title: Draft}, check: {title: {$notNull: true}}}}
  ruled:
    lectern::desk: [use]
    lectern::role: [find]
    plugin::users-permissions.role: [createRole]
    api::author.author: {find: {where: {name: Ada Marsh}}}
  lookers:
    lectern::desk: [use]
    lectern::role: [find]
`,
    users: { ann: "editors", ben: "editors", lou: "lookers", rae: "ruled" },
  });
  root = /\S{100,}/.exec(desk.run("token create", undefined, "root", "--type", "full-access"))[0];
});
after(() => desk?.stop());

const send = async (method, path, body) => {
  const answer = await fetch(`${desk.base}/api/${path}`, {
    method, body: body && JSON.stringify(body), headers: { Authorization: `Bearer ${root}`, "Content-Type": "application/json" },
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.json();
};
const tree = (...permissions) => {
  const all = {};
  for (const permission of permissions) {
    const [, owner, controller, action] = /^(.*?)(?:\.([^.]*))?\.([^.]*)$/.exec(permission);
    ((all[owner] ??= { controllers: {} }).controllers[controller ?? ""] ??= {})[action] = { enabled: true };
  }
  return all;
};
const make = (name, ...permissions) => send("POST", "users-permissions/roles", { name, permissions: tree(...permissions) });
const role = async (name) => (await send("GET", "_roles")).data.find((one) => one.name === name);
const said = (page, text) => page.getByRole("status").filter({ hasText: text }).first().waitFor();
const sure = (page, verb) => page.getByRole("alertdialog").getByRole("button", { name: verb, exact: true }).click();
const group = (page, title) => page.getByRole("group", { name: title, exact: true });
const unfold = (page, uid) => page.locator("summary").filter({ hasText: uid }).click();

async function openRole(name, user) {
  const page = await open(desk, "people/roles", user);
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name, exact: true }).waitFor();
  return page;
}

test("a role of the file is shown with its rules, and not edited", async () => {
  const page = await openRole("Guards");
  await page.getByText("written in config/permissions.yaml").waitFor();
  await page.getByText('{"name":"Ada Marsh"}').waitFor();
  for (const text of ["Only where", "Only the fields", "Always sets", "Afterwards must hold"]) await page.getByText(text).waitFor();
  assert.equal(await page.getByRole("checkbox").count(), 0);
  assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);
});

test("a role is made, changed and deleted", async () => {
  const page = await open(desk, "people/roles");
  await page.getByRole("link", { name: "Make role" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Readers");
  await unfold(page, "api::article.article");
  await group(page, "Article").getByRole("checkbox", { name: "findOne", exact: true }).check();
  await page.getByRole("button", { name: "Make role" }).click();
  await page.getByRole("link", { name: "Readers", exact: true }).click();
  assert.deepEqual((await role("Readers")).permissions, ["api::article.article.findOne"]);
  await page.getByLabel("Search permissions").fill("author");
  await group(page, "Author").getByRole("checkbox", { name: "find", exact: true }).check();
  await page.getByLabel("Description").fill("Who read");
  await page.getByRole("button", { name: "Save" }).click();
  await said(page, "Done.");
  const saved = await role("Readers");
  assert.deepEqual([saved.permissions, saved.description], [["api::article.article.findOne", "api::author.author.find"], "Who read"]);
  await page.getByRole("button", { name: "Delete" }).click();
  await sure(page, "Delete");
  await page.getByRole("heading", { name: "Roles" }).waitFor();
  await page.getByRole("link", { name: "Readers", exact: true }).waitFor({ state: "detached" });
  assert.equal(await role("Readers"), undefined);
});

test("all that is said of a type is switched by the keyboard alone", async () => {
  await make("Typists", "api::author.author.find");
  const page = await openRole("Typists");
  await page.getByLabel("Search permissions").focus();
  const focused = (selector) => page.evaluate((selector) => document.activeElement?.matches(selector), selector);
  while (!(await focused("[aria-label='All of Author']"))) {
    await page.keyboard.press("Tab");
    assert.ok(!(await focused("body")), "Tab leads to the switch");
  }
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "None of Author" }).waitFor();
  await page.getByLabel("Name", { exact: true }).focus();
  await page.keyboard.press("Enter");
  await said(page, "Done.");
  assert.deepEqual((await role("Typists")).permissions, ["create", "find", "findOne", "update"].map((action) => `api::author.author.${action}`));
});

test("what one may not do oneself cannot be chosen", async () => {
  await make("Strong", "api::author.author.delete", "api::author.author.find");
  const page = await openRole("Strong");
  const author = group(page, "Author");
  const remove = author.getByRole("checkbox", { name: "delete", exact: true });
  assert.ok(await author.getByRole("checkbox", { name: "history" }).isDisabled());
  const strong = await role("Strong");
  await send("PUT", `users-permissions/roles/${strong.id}`, { name: "Strong", permissions: tree("api::author.author.find") });
  await page.getByLabel("Description").fill("Weaker");
  await page.getByRole("button", { name: "Save" }).click(); // the page does not know of it yet
  await said(page, "Nothing was saved");
  await remove.waitFor();
  assert.ok(await remove.isDisabled());
});

test("what a rule limits for oneself is refused, and the form stays as it is", async () => {
  const page = await open(desk, "people/roles/new", "rae");
  await page.getByLabel("Name", { exact: true }).fill("Unlimited");
  await unfold(page, "api::author.author");
  await group(page, "Author").getByRole("checkbox", { name: "find", exact: true }).check();
  await page.getByRole("button", { name: "Make role" }).click();
  await said(page, "nobody can grant more than they may do themselves");
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Unlimited");
  assert.ok(await group(page, "Author").getByRole("checkbox", { name: "find", exact: true }).isChecked());
  assert.equal(await role("Unlimited"), undefined);
});

test("who may only look at roles changes none", async () => {
  await make("Looked at", "api::author.author.find");
  const page = await openRole("Looked at", "lou");
  await page.getByText("find", { exact: true }).waitFor();
  assert.equal(await page.getByRole("checkbox").count() + await page.getByRole("button", { name: "Save" }).count(), 0);
  await page.getByRole("link", { name: "All roles" }).click();
  await page.getByRole("link", { name: "Guards", exact: true }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Make role" }).count(), 0);
});

test("two who change a role at once lose nothing", async () => {
  await make("Shared", "api::author.author.find");
  const [ann, ben] = [await openRole("Shared", "ann"), await openRole("Shared", "ben")];
  await group(ben, "Author").getByRole("checkbox", { name: "create" }).check();
  await group(ann, "Author").getByRole("checkbox", { name: "update" }).check();
  await ben.getByRole("button", { name: "Save" }).click();
  await said(ben, "Done.");
  await ann.getByRole("button", { name: "Save" }).click();
  await said(ann, "Nothing was saved");
  const others = ann.getByRole("alert");
  await others.getByText("+ api::author.author.create").waitFor();
  assert.deepEqual((await role("Shared")).permissions, ["create", "find"].map((action) => `api::author.author.${action}`));
  assert.ok(await group(ann, "Author").getByRole("checkbox", { name: "create" }).isChecked());
  assert.ok(await group(ann, "Author").getByRole("checkbox", { name: "update" }).isChecked());
  await ann.getByRole("button", { name: "Save" }).click();
  await said(ann, "Done.");
  assert.deepEqual((await role("Shared")).permissions, ["create", "find", "update"].map((action) => `api::author.author.${action}`));
});

test("nobody takes their own permissions unseen", async () => {
  await make("Chiefs", "lectern::desk.use", "lectern::role.find", "plugin::users-permissions.role.updateRole", "api::author.author.find");
  desk.run("user create", "correct horse\n", "cleo", "--email", "cleo@example.org", "--role", "chiefs");
  const page = await openRole("Chiefs", "cleo");
  await group(page, "desk").getByRole("checkbox", { name: "use" }).uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alertdialog").getByText("your own role").waitFor();
  await sure(page, "Cancel");
  await page.getByRole("button", { name: "Discard changes" }).click();
  assert.ok(await group(page, "desk").getByRole("checkbox", { name: "use" }).isChecked());
});

test("the views are accessible", async () => {
  const page = await open(desk, "people/roles");
  await page.getByRole("link", { name: "Guards", exact: true }).waitFor();
  await checkAccessible(page, "roles");
  await page.getByRole("link", { name: "Guards", exact: true }).click();
  await page.getByText("Only where").waitFor();
  await checkAccessible(page, "role-of-file");
  await page.getByRole("link", { name: "All roles" }).click();
  await page.getByRole("link", { name: "Authenticated", exact: true }).click();
  await page.getByRole("button", { name: "Save" }).waitFor();
  await unfold(page, "api::author.author");
  await checkAccessible(page, "role");
});
