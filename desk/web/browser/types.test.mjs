// The types as a drawing and a list, and the reference of the API, whose examples work as they stand there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { checkAccessible, open, password, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start({
    more: `    api::category.category: [find, findOne, create, update, delete]
    api::homepage.homepage: [find, update, delete, history, restore]
  masters:
    lectern::desk: [use]
    api::article.article: [find, findOne, findDrafts, create, update, delete, publish, unpublish, discardDraft, preview, history, restore]
    api::author.author: [find, findOne, create, update, delete, history, restore]
    api::category.category: [find, findOne, create, update, delete]
    api::homepage.homepage: [find, update, delete, history, restore]
  writers:
    lectern::desk: [use]
    api::article.article: {find: true, findOne: true, findDrafts: true, create: {fields: [title, slug]}}
  readers:
    lectern::desk: [use]
    api::author.author: {find: {fields: [name]}, findOne: true}
`,
  });
  for (const [name, role] of [["mia", "masters"], ["will", "writers"], ["cleo", "readers"]]) {
    desk.run("user create", `${password}\n`, name, "--email", `${name}@example.org`, "--role", role);
  }
});
after(() => desk?.stop());

async function tokenOf(identifier) {
  const login = await fetch(`${desk.base}/api/auth/local`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ identifier, password }),
  });
  return (await login.json()).jwt;
}

const heading = (page, name) => page.getByRole("heading", { name, exact: true });

test("the types are drawn with a line for each relation, and a box leads to its type", async () => {
  const page = await open(desk, "");
  await page.getByRole("link", { name: "Types and API" }).click();
  const picture = page.locator(".picture");
  await picture.locator(".title", { hasText: "Homepage" }).waitFor();
  const titles = await picture.locator(".title").allTextContents();
  assert.deepEqual(titles.sort(), ["Article", "Author", "Category", "Homepage", "SEO"]);
  assert.equal(await picture.locator(".line:not(.dashed)").count(), 3); // author, categories, featured: each once
  assert.equal(await picture.locator(".line.dashed").count(), 2); // seo of two types
  await picture.locator(".title", { hasText: "Author" }).click();
  await page.waitForURL(/types\/author/);
  await heading(page, "Author").waitFor();
});

test("a list says the same as the drawing, and stands alone on a narrow page", async () => {
  const page = await open(desk, "types");
  await page.setViewportSize({ width: 390, height: 800 });
  const article = page.getByRole("region", { name: "Article" });
  await article.getByText("with drafts").waitFor();
  assert.equal(await page.locator(".picture").isVisible(), false);
  await article.getByRole("listitem").filter({ hasText: "categories" }).getByText("n:m").waitFor();
  await article.getByRole("link", { name: "Category" }).click();
  await page.waitForURL(/types\/category/);
});

// runAll runs all commands of a type's page in a shell, in their order, and returns how many there were.
async function runAll(user, type) {
  const page = await open(desk, `types/${type}`, user);
  await page.locator(".curl").first().waitFor();
  const commands = await page.locator(".curl").allTextContents();
  const TOKEN = await tokenOf(user);
  for (const command of commands) {
    const out = execFileSync("bash", ["-c", `${command} -w '\\n%{http_code}'`], { env: { ...process.env, TOKEN }, encoding: "utf8" });
    const [, body, status] = /^([^]*)\n(\d+)$/.exec(out);
    assert.match(status, /^2/, `${command}\n${out}`);
    if (command.includes("/graphql")) assert.equal(JSON.parse(body).errors, undefined, `${command}\n${out}`);
  }
  return commands.map((command) => (command.includes("/graphql") ? "graphql" : (/-X (\w+)/.exec(command)?.[1] ?? "GET")));
}

// offered returns how many operations the OpenAPI document of a user has below a path.
async function offered(user, path) {
  const answer = await fetch(`${desk.base}/api/_openapi.json`, { headers: { Authorization: `Bearer ${await tokenOf(user)}` } });
  const { paths } = await answer.json();
  return Object.entries(paths).filter(([at]) => at === path || at.startsWith(`${path}/`)).reduce((n, [, methods]) => n + Object.keys(methods).length, 0);
}

for (const [type, path] of [["article", "articles"], ["author", "authors"], ["category", "categories"], ["homepage", "homepage"]]) {
  test(`every operation of the type ${type} has an example, which is answered with success`, async () => {
    const ran = await runAll("mia", type);
    const want = await offered("mia", `/api/${path}`);
    assert.ok(want >= 3);
    assert.equal(ran.length, want + 2, ran.join(" ")); // and a query and a mutation
    assert.equal(ran.filter((method) => method === "graphql").length, 2);
  });
}

test("whoever may write drafts with two fields gets examples of that, which work as well", async () => {
  assert.deepEqual(await runAll("will", "article"), ["GET", "GET", "POST", "graphql", "graphql"]);
});

test("nobody sees types, attributes and requests that are not for them", async () => {
  const page = await open(desk, "types", "cleo");
  await page.locator(".picture .title").first().waitFor();
  assert.deepEqual(await page.locator(".picture .title").allTextContents(), ["Author"]);
  assert.deepEqual(await page.locator(".attributes code").allTextContents(), ["name"]);
  assert.deepEqual(await runAll("cleo", "author"), ["GET", "GET", "graphql"]);
});

test("a command is copied, and parameters, bodies and answers are shown", async () => {
  const page = await open(desk, "types/author");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const create = page.locator(".operation").filter({ hasText: "Create a document of Author" });
  await create.getByRole("button", { name: "Copy" }).click();
  await create.getByRole("button", { name: "Copied" }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl -sg -X POST .*"\$TOKEN"|Bearer \$TOKEN/);
  await create.getByText("Body", { exact: true }).click();
  await create.getByText('"name": "').first().waitFor();
  await create.getByText("Answer 201").click();
  await create.getByText('"documentId": ').waitFor();
  await create.getByText("Parameters").click();
  await create.getByText("populate", { exact: true }).waitFor();
});

test("the views of types are accessible", async () => {
  const page = await open(desk, "types");
  await heading(page, "Types and API").waitFor();
  await checkAccessible(page, "types");
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("region", { name: "Article" }).getByRole("link", { name: "Article" }).first().click();
  await page.locator(".curl").first().waitFor();
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => one.setAttribute("open", "")));
  await checkAccessible(page, "type");
});
