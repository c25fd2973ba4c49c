// What the tests of forms share: a server with the project of the bench, and pages with a form in Chromium.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const here = import.meta.dirname;
const lectern = process.env.LECTERN;
let dir, program, browser, front;
export let base, token;

before(async () => {
  dir = mkdtempSync(join(tmpdir(), "bench-"));
  const run = (...args) =>
    execFileSync(lectern, args, { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  run("init", "--empty", dir + "/p");
  cpSync(join(here, "project"), dir + "/p", { recursive: true });
  token = run("token", "create", dir + "/p", "bench", "--type", "full-access")
    .split("\n")
    .at(-1);
  const port = await freePort();
  program = spawn(lectern, ["serve", dir + "/p", "--addr", `127.0.0.1:${port}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  await ready(`http://127.0.0.1:${port}/api/_health`, program);
  front = await serve(join(here, "dist"), `http://127.0.0.1:${port}`);
  base = front.base;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});

after(async () => {
  await browser?.close();
  front?.close();
  program?.kill();
  rmSync(dir, { recursive: true, force: true });
});

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function ready(url, child) {
  for (;;) {
    if (child.exitCode !== null) throw new Error("the server ended");
    const answer = await fetch(url).catch(() => null);
    if (answer) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// api calls a route of the API, and returns the body of its answer.
export async function api(method, path, data) {
  const answer = await fetch(`${base}/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(data ? { body: JSON.stringify(path === "_batch" ? data : { data }) } : {}),
  });
  const text = await answer.text();
  const body = text ? JSON.parse(text) : null;
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
  return body.data;
}

// open opens the form of a document, calls look with the page, and fails on messages of the console and breaches of the
// policy.
export async function open(type, id, look, { more = "", expected = /status of 400/, locale = "en-GB" } = {}) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, locale });
  const wrong = [];
  try {
    context.setDefaultTimeout(15000);
    const page = await context.newPage();
    // React tells tools for developers of each commit.
    await page.addInitScript(() => {
      const hook = { isDisabled: false, supportsFiber: true, inject: () => 1, onCommitFiberUnmount() {} };
      hook.onCommitFiberRoot = (_, root) => window.committed?.(root);
      window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = hook;
    });
    page.on(
      "console",
      (m) => ["error", "warning"].includes(m.type()) && !expected.test(m.text()) && wrong.push(m.text()),
    );
    page.on("pageerror", (e) => wrong.push(String(e.stack)));
    await page.goto(`${base}/bench/#${new URLSearchParams({ token, type, ...(id ? { id } : {}) })}${more}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const failed = await look(page).then(
      () => undefined,
      (error) => error,
    );
    if (wrong.length > 0) throw new Error(wrong.join("\n"), { cause: failed });
    if (failed) throw failed;
  } finally {
    await context.close();
  }
}

// save saves the form, and returns the draft that the server then has.
export async function save(page, type = "pages", query = "populate=*") {
  const saves = Number(await page.locator("output").getAttribute("data-saves"));
  const next = page.locator(`output[data-saves="${saves + 1}"]`);
  // dnd-kit swallows clicks for a moment after something was dropped, so the first one may do nothing.
  while ((await next.count()) === 0) await page.getByRole("button", { name: "Save", exact: true }).click();
  await next.filter({ hasText: /saved|refused/ }).waitFor();
  if ((await page.locator("output").textContent()) !== "saved") {
    throw new Error(`refused: ${await page.locator(".field-error, h1 + p").allTextContents()}`);
  }
  return api("GET", `${type}/${await page.locator("output").getAttribute("data-id")}?status=draft&${query}`);
}
