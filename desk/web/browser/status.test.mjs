// What the server does can be seen, by those who may.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start({ more: "    lectern::server: [status]\n" });
});
after(() => desk?.stop());

const row = (page, name) => page.getByRole("row", { name });

test("the routes, the memory and the disk of the server are shown", async () => {
  await fetch(`${desk.base}/api/articles`);
  await fetch(`${desk.base}/api/nothing`);
  const page = await open(desk, "");
  await page.getByRole("link", { name: "Server" }).click();
  await page.getByRole("heading", { name: "Server", level: 1 }).waitFor();
  await row(page, /GET \/api\/articles\b/).waitFor();
  await row(page, /GET none/).waitFor();
  await page.getByText("none since the start").waitFor();
  assert.equal(await page.locator(".plot canvas").count(), 5);
  await page.getByText(/Memory: [\d.]+ MB/).waitFor();
});

test("the numbers of the plots can be read as a table", async () => {
  const page = await open(desk, "server");
  await page.getByText("The last day by hours").click();
  const table = page.getByRole("region", { name: "The last day by hours" });
  await table.getByRole("columnheader", { name: "Writes" }).waitFor();
  assert.ok((await table.getByRole("row").count()) >= 2);
});

test("a lost server is told, and what was seen stays", async () => {
  const page = await open(desk, "server");
  await row(page, /GET \/api\/articles\b/).waitFor();
  await page.route(/_status/, (route) => route.abort());
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
  await page.getByRole("alert").waitFor();
  await row(page, /GET \/api\/articles\b/).waitFor();
  await page.unroute(/_status/);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
});

test("nothing is wrong with the view for those who do not see or point", async () => {
  const page = await open(desk, "server");
  await row(page, /GET \/api\/articles\b/).waitFor();
  await page.getByText("The last day by hours").click();
  await checkAccessible(page, "status");
});
