// Measures the desk, or the panel of the reference, with the same content: what is loaded, and how long people wait.
//   LECTERN=…/lectern node bench/panels.mjs               the desk
//   node bench/panels.mjs BASE TOKEN EMAIL PASSWORD        a server of Strapi, with its panel, the project of the bench
//                                                          and a full-access token
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { listed, median, watch } from "./login.mjs";
import { p95, typing } from "./typing.mjs";

const [base, token, email, secret] = process.argv.slice(2);
const runs = 5;
const logins = Number(process.env.LOGINS ?? runs); // Strapi refuses more than five of one person in five minutes
const uid = (name) => `api::${name}.${name}`;
const reference = {
  list: (name) => `/admin/content-manager/collection-types/${uid(name)}`,
  document: (id) => `/admin/content-manager/collection-types/${uid("page")}/${id}`,
  row: "tbody tr td a, tbody tr td span",
  components: "ol li button[aria-expanded], ul li button[aria-expanded], h3 button[aria-expanded]",
  title: "input[name=title]",
  text: ".CodeMirror",
  async login(page) {
    await page.locator("input[name=email]").fill(email);
    await page.locator("input[name=password]").fill(secret);
    await page.locator("button[type=submit]").click();
  },
};

// theDesk serves the project of the bench with the desk.
async function theDesk() {
  const { login, start } = await import("../browser/desk.mjs");
  const all = (name, more = "") => `    api::${name}.${name}: [find, findOne, create, update, delete${more}]\n`;
  let key;
  const make = (project) => {
    const lectern = (...args) => execFileSync(process.env.LECTERN, args, { stdio: ["ignore", "pipe", "ignore"] }).toString().trim();
    lectern("init", "--empty", project);
    for (const part of ["content-types", "components"]) cpSync(join(import.meta.dirname, "project", part), join(project, part), { recursive: true });
    mkdirSync(join(project, "config"), { recursive: true });
    writeFileSync(join(project, "config/permissions.yaml"), `roles:\n  editors:\n    lectern::desk: [use]\n${all("page", ", findDrafts, publish")}${all("tag")}${all("person")}`);
    key = lectern("token", "create", project, "bench", "--type", "full-access").split("\n").at(-1);
  };
  const desk = await start({ make, users: { ann: "editors" } });
  return {
    base: desk.base, token: key, stop: () => desk.stop(),
    list: (name) => `/desk/content/${name}`,
    document: (id) => `/desk/content/page/${id}`,
    row: ".rows .tr a",
    components: ".item",
    title: "input[maxlength='60'], input",
    text: ".cm-content",
    login: (page) => login(page, "ann"),
  };
}

const panel = base ? { ...reference, base, token, stop: () => {} } : await theDesk();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function make(path, data) {
  const answer = await fetch(`${panel.base}/api/${path}`, {
    method: "POST", body: JSON.stringify({ data }), headers: { Authorization: `Bearer ${panel.token}`, "Content-Type": "application/json" },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return JSON.parse(text).data.documentId;
}

// fresh returns a page of a browser that has nothing yet. bytes returns what it has loaded, as it is by gzip.
async function fresh(path) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, locale: "en-GB" });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const bodies = [];
  page.on("response", (response) => {
    if (/script|stylesheet|document/.test(response.request().resourceType())) bodies.push(response.body().catch(() => Buffer.alloc(0)));
  });
  await watch(page, panel.row);
  await page.goto(panel.base + path);
  await page.locator("input[type=password]").waitFor();
  await page.waitForLoadState("networkidle");
  const bytes = async () => (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body).length, 0);
  return { page, bytes };
}

async function heap(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  await client.send("Performance.enable");
  const { metrics } = await client.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "JSHeapUsedSize").value;
}

// shown opens a document, and returns the milliseconds from the beginning of the page until as many elements are there.
async function shown(page, id, selector, count) {
  await page.addInitScript(([wanted, most]) => {
    const look = () => {
      if (document.querySelectorAll(wanted).length < most) return;
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(() => (window.shown = performance.now())));
    };
    const seen = new MutationObserver(look);
    seen.observe(document, { subtree: true, childList: true });
  }, [selector, count]);
  await page.goto(panel.base + panel.document(id));
  await page.waitForFunction(() => window.shown);
  return page.evaluate(() => window.shown);
}

const found = {};
try {
  for (let i = 1; i <= 60; i++) await make("tags", { name: `Tag ${i} ${Date.now()}` });
  const quotes = Array.from({ length: 50 }, (_, i) => ({ __component: "part.quote", line: `Line ${i}` }));
  const zone = await make("pages?status=draft", { title: "Zone", slug: `zone-${Date.now()}`, sections: quotes });
  const words = Array.from({ length: 100 }, (_, i) => `word${i}`).join(" ");
  const text = await make("pages?status=draft", { title: "Text", slug: `text-${Date.now()}`, body: `${words}\n\n`.repeat(100) });

  const times = [];
  let page;
  for (let i = 0; i < logins; i++) {
    await page?.context().close();
    const { page: made, bytes } = await fresh(panel.list("tag"));
    page = made;
    if (i === 0) found["first load, kB by gzip"] = Math.round((await bytes()) / 1000);
    await panel.login(page);
    times.push((await listed(page)).took);
    if (i === 0) found["up to the list, kB by gzip"] = Math.round((await bytes()) / 1000);
  }
  found["list after the login, ms"] = `${Math.round(median(times))} (${times.map(Math.round).join(", ")})`;

  const opened = [];
  for (let i = 0; i < runs; i++) {
    const next = await page.context().newPage();
    opened.push(await shown(next, zone, panel.components, 50));
    if (i === runs - 1) {
      await next.waitForTimeout(2000); // what comes later has come
      found["typing beside 50 components, p95 ms"] = p95(await typing(next, next.locator(panel.title).first(), "the quick brown fox jumps over the lazy dog")).toFixed(1);
      found["memory of that form, MB"] = Math.round((await heap(next)) / 1e6);
    }
    await next.close();
  }
  found["form with 50 components, from its address, ms"] = `${Math.round(median(opened))} (${opened.map(Math.round).join(", ")})`;

  const next = await page.context().newPage();
  await shown(next, text, panel.text, 1);
  await next.waitForTimeout(2000);
  found["typing in 10,000 words, p95 ms"] = p95(await typing(next, next.locator(panel.text).first(), "the quick brown fox jumps over the lazy dog")).toFixed(1);
  found["memory of that form, MB "] = Math.round((await heap(next)) / 1e6);
} finally {
  console.log(JSON.stringify(found, null, 1));
  await browser.close();
  await panel.stop();
}
