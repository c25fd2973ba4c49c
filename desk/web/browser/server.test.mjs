// Ways in, and what happens to what is typed when the server, the line, the session or the tab ends.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, test } from "node:test";
import { checkAccessible, login, open, password, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start();
});
after(() => desk?.stop());

const name = (page) => page.getByLabel("Name").first();
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();
const saved = (page) => page.getByText("Saved", { exact: true }).waitFor();

async function authors(begin) {
  const answer = await fetch(`${desk.base}/api/authors?filters[name][$startsWith]=${begin}`);
  return (await answer.json()).data.map((author) => author.name);
}

async function newAuthor(text, user) {
  const page = await open(desk, "content/author/new", user);
  await page.getByRole("heading", { name: "New: Author" }).waitFor();
  await name(page).fill(text);
  return page;
}

test("a link logs in once", async () => {
  const link = /http\S+/.exec(desk.run("desk link"))[0];
  const page = await (await desk.browser.newContext()).newPage();
  await page.goto(link);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  assert.ok(!page.url().includes("link="), "the code stays in the address");
  await page.reload();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  const other = await (await desk.browser.newContext()).newPage();
  await other.goto(link);
  await other.getByRole("alert").waitFor();
  await login(other, "ann");
  await other.getByRole("heading", { name: "Welcome, ann" }).waitFor();
});

test("a wrong password says so, and the next one logs in", async () => {
  const page = await (await desk.browser.newContext()).newPage();
  await page.goto(`${desk.base}/desk/content/author`);
  await page.getByLabel("Name or email address").fill("ann");
  await page.getByLabel("Password").fill("wrong horse");
  await page.keyboard.press("Enter");
  await page.getByText("Invalid identifier or password").waitFor();
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Author" }).waitFor(); // the view of the address
});

test("below a path of a proxy all works the same", async () => {
  const proxy = createServer((from, to) => {
    const path = from.url.replace(/^\/cms/, "");
    if (path === from.url) return to.writeHead(404).end();
    const on = request(`${desk.base}${path}`, { method: from.method, headers: from.headers }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    on.on("error", () => to.destroy()); // the browser or the server has gone
    from.pipe(on);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${proxy.address().port}/cms`;
  try {
    const page = await open({ ...desk, base }, "content/author/new");
    await page.getByRole("heading", { name: "New: Author" }).waitFor();
    await name(page).fill("Behind a proxy");
    await save(page);
    await page.waitForURL(/\/cms\/desk\/content\/author\/(?!new)/);
    await page.reload(); // by the cookie
    await name(page).waitFor();
    assert.equal(await name(page).inputValue(), "Behind a proxy");
    await page.getByRole("link", { name: "Article" }).first().click();
    await page.locator(".rows a").first().waitFor();
    assert.deepEqual(await authors("Behind"), ["Behind a proxy"]);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
});

test("a server that is killed during a save has the document once, with all that was typed", async () => {
  const page = await newAuthor("Killed");
  await page.route(/\/api\/authors(\?|$)/, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const answer = route.fetch().catch(() => null); // the write arrives; its answer does not
    await desk.kill();
    await answer;
    await route.abort();
  }, { times: 1 });
  await save(page);
  await page.getByText("Not saved:").waitFor();
  await name(page).fill("Killed and back");
  await desk.again();
  await save(page);
  await page.waitForURL(/author\/(?!new)/);
  const recovered = page.getByText("You had typed this"); // if the write had arrived, by what was typed since
  await page.getByText("Saved", { exact: true }).or(recovered).first().waitFor();
  if (await recovered.isVisible()) await save(page);
  await saved(page);
  assert.deepEqual(await authors("Killed"), ["Killed and back"]);
});

test("a lost line keeps what is typed, and the next save takes it", async () => {
  const page = await newAuthor("Offline");
  await save(page);
  await page.waitForURL(/author\/(?!new)/);
  await saved(page);
  await page.context().setOffline(true);
  await name(page).fill("Offline and on");
  await save(page);
  await page.getByText("Not saved:").waitFor();
  await page.context().setOffline(false);
  await save(page);
  await saved(page);
  assert.deepEqual(await authors("Offline"), ["Offline and on"]);
});

test("a tab that is closed without a word has what was typed when it is opened again", async () => {
  const page = await newAuthor("Closed");
  await save(page);
  await page.waitForURL(/author\/(?!new)/);
  await saved(page);
  await name(page).fill("Closed and");
  await name(page).press("End");
  await name(page).pressSequentially(" open");
  const url = page.url();
  const again = await page.context().newPage();
  await page.close({ runBeforeUnload: false });
  await again.goto(url);
  await again.getByText("You had typed this").waitFor();
  assert.equal(await name(again).inputValue(), "Closed and open");
});

test("a session that ends while somebody types is begun anew over the form, which stays", async () => {
  const page = await newAuthor("Ended", "ben");
  desk.run("user set-password", `${password}\n`, "ben");
  await save(page);
  await page.getByText("Your session has ended").waitFor();
  await login(page, "ben");
  await name(page).waitFor();
  assert.equal(await name(page).inputValue(), "Ended");
  await save(page);
  await page.waitForURL(/author\/(?!new)/);
  assert.deepEqual(await authors("Ended"), ["Ended"]);
});

test("two tabs of one person at one document overwrite nothing unseen", async () => {
  const page = await newAuthor("Tabs");
  await page.route(/\/_changes/, (route) => route.abort()); // it learns nothing before it saves
  await save(page);
  await page.waitForURL(/author\/(?!new)/);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await name(other).fill("Tabs, the second");
  await save(other);
  await saved(other);
  await name(page).fill("Tabs, the first");
  await save(page);
  await page.getByRole("button", { name: "Take all of mine" }).waitFor();
  assert.deepEqual(await authors("Tabs"), ["Tabs, the second"]);
});

test("from login to a saved document by the keyboard alone", async () => {
  const page = await (await desk.browser.newContext()).newPage();
  await page.goto(`${desk.base}/desk/content/author`);
  await page.getByLabel("Name or email address").waitFor();
  await page.keyboard.type("ann");
  await page.keyboard.press("Tab");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  const create = page.getByText("New Author");
  await create.waitFor();
  await tabTo(page, create);
  await page.keyboard.press("Enter");
  await name(page).waitFor();
  await tabTo(page, name(page));
  await page.keyboard.type("By keys");
  await page.keyboard.press("Control+s");
  await page.waitForURL(/author\/(?!new)/);
  assert.deepEqual(await authors("By keys"), ["By keys"]);
});

// tabTo presses Tab until an element has the focus.
async function tabTo(page, element) {
  for (let presses = 0; presses < 60; presses++) {
    if (await element.evaluate((node) => node === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail("Tab does not reach the element");
}

test("whoever asks for German gets it", async () => {
  const page = await (await desk.browser.newContext({ locale: "de-AT" })).newPage();
  await page.goto(`${desk.base}/desk/`);
  await page.getByLabel("Passwort").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "de");
});

test("login, home, lists and forms can be used by everybody", async () => {
  const page = await (await desk.browser.newContext()).newPage();
  await page.goto(`${desk.base}/desk/`);
  await page.getByLabel("Password").waitFor();
  await checkAccessible(page, "login");
  await login(page, "ann");
  await page.getByRole("heading", { name: "Welcome, ann" }).waitFor();
  await checkAccessible(page, "home");
  await page.getByRole("link", { name: "Article" }).first().click();
  await page.locator(".rows a").first().waitFor();
  await checkAccessible(page, "list");
  await page.locator(".rows a").first().click();
  await page.getByLabel("Title").first().waitFor();
  await checkAccessible(page, "edit");
});
