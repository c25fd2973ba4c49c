// Webhooks and schedules: seen, tested, sent again and cancelled.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { checkAccessible, open, password, start } from "./desk.mjs";

let desk;
let receiver;
let status = 204;
const got = [];
before(async () => {
  receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    got.push(JSON.parse(Buffer.concat(chunks).toString()).type);
    response.writeHead(status).end(status === 204 ? undefined : `cannot POST ${request.url}`);
  });
  await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  desk = await start({
    more: `    lectern::webhook: [find, replay]
  readers:
    lectern::desk: [use]
    api::author.author: [find, findOne]
`,
    files: {
      "config/webhooks.yaml": `webhooks:
  - {name: search, url: "http://127.0.0.1:${receiver.address().port}/deploy/hidden-key", events: [entry.create, entry.publish], allowPrivate: [127.0.0.1]}
  - {name: unused, url: "https://example.org/", enabled: false}
`,
    },
  });
});
after(async () => {
  await desk?.stop();
  receiver?.close();
});

// token returns an access token of ann, for what the API is asked beside the desk.
let token;
async function api(method, path, data) {
  if (!token) {
    const login = await fetch(`${desk.base}/api/auth/local`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ identifier: "ann", password }),
    });
    token = (await login.json()).jwt;
  }
  const answer = await fetch(`${desk.base}/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: data === undefined ? undefined : JSON.stringify({ data }),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? null : (await answer.json()).data;
}

let n = 0;
const newAuthor = () => api("POST", "authors", { name: `Hooked ${++n}` });
const attempts = (page) => page.getByRole("region", { name: "Last attempts" }).getByRole("listitem");
const badge = (page, text) => attempts(page).first().getByText(text, { exact: true });

test("webhooks are listed without what opens their receivers, and a test is answered", async () => {
  const page = await open(desk, "");
  await page.getByRole("link", { name: "Webhooks" }).click();
  await page.getByText("Switched off").waitFor();
  await page.getByText("Works", { exact: true }).waitFor();
  assert.ok(!(await page.content()).includes("hidden-key"));
  await page.getByRole("link", { name: "search" }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The test was answered 204").waitFor();
  assert.ok(got.includes("webhooks.test"));
  status = 500;
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The test failed: answered 500").waitFor();
  await attempts(page).filter({ hasText: "webhooks.test" }).nth(1).waitFor();
  status = 204;
  assert.ok(!(await page.content()).includes("hidden-key"));
});

test("each attempt is shown, and an event that failed is sent again at once", async () => {
  const page = await open(desk, "webhooks/search");
  await newAuthor();
  await badge(page, "Delivered").waitFor();
  status = 422;
  const failing = await newAuthor();
  await badge(page, "Failed, is tried again").waitFor();
  await attempts(page).first().getByText("answered 422").waitFor();
  await page.getByRole("region", { name: "Tried again" }).waitFor();
  status = 204;
  await attempts(page).first().getByRole("button", { name: "Send again" }).click();
  await page.getByText("The event is sent again.").waitFor();
  await badge(page, "Delivered").waitFor();
  await page.getByRole("region", { name: "Tried again" }).waitFor({ state: "detached" });
  await attempts(page).first().getByRole("link").click();
  await page.waitForURL(new RegExp(`content/author/${failing.documentId}`));
});

test("what was sent since a time is sent again after a question", async () => {
  await newAuthor();
  const page = await open(desk, "webhooks/search");
  await badge(page, "Delivered").waitFor();
  const sent = got.length;
  await page.getByLabel("Since").fill("2020-01-01T00:00");
  await page.getByRole("button", { name: "Send all since then again" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  assert.equal(got.length, sent);
  await page.getByRole("button", { name: "Send all since then again" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Send all since then again" }).click();
  await page.getByText("changes are read again").waitFor();
});

test("whoever may not see webhooks has no link to them", async () => {
  desk.run("user create", `${password}\n`, "cleo", "--email", "cleo@example.org", "--role", "readers");
  const page = await open(desk, "webhooks", "cleo");
  await page.getByText("There is nothing at this address.").waitFor();
  assert.equal(await page.getByRole("link", { name: "Webhooks" }).count(), 0);
});

test("schedules are listed by time with the names of their documents, and cancelled after a question", async () => {
  const [article, other] = await api("GET", "articles?fields[0]=title&sort=title&status=draft");
  await api("POST", `articles/${article.documentId}/actions/unpublish`, { unpublishAt: "2031-01-01T09:00:00Z" });
  await api("POST", `articles/${other.documentId}/actions/publish`, { publishAt: "2030-01-01T09:00:00Z" });
  const page = await open(desk, "");
  await page.getByRole("link", { name: "Scheduled" }).click();
  const rows = page.locator(".events > li");
  await rows.first().getByText(other.title).waitFor();
  await rows.nth(1).getByText(article.title).waitFor();
  await page.getByLabel("Show").selectOption("failed");
  await page.getByText("Nothing is scheduled.").waitFor();
  await page.getByLabel("Show").selectOption("pending");
  await rows.nth(1).getByRole("button", { name: `Cancel this: Take off the site ${article.title}` }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel this" }).click();
  await page.getByText("Cancelled.").waitFor();
  await rows.nth(1).waitFor({ state: "detached" });
  assert.deepEqual((await api("GET", "_schedules")).map((one) => one.document), [other.documentId]);
  await checkAccessible(page, "schedules");
});

test("the views of webhooks are accessible", async () => {
  const page = await open(desk, "webhooks");
  await page.getByText("Works", { exact: true }).waitFor();
  await checkAccessible(page, "webhooks");
  status = 422;
  await newAuthor();
  await page.getByRole("link", { name: "search" }).click();
  await badge(page, "Failed, is tried again").waitFor();
  await checkAccessible(page, "webhook");
});
