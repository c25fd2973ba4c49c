// A server with the example project and two editors, and browsers at its desk.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";

const { LECTERN: lectern, CHROMIUM: executablePath } = process.env;
export const password = "correct horse";

const rules = `roles:
  editors:
    lectern::desk: [use]
    api::article.article: [find, findOne, findDrafts, create, update, delete, publish, unpublish]
    api::author.author: [find, findOne, create, update]
`;

// blog makes the project of `lectern init`, which has content, with the role of editors and more that they may do.
function blog(project, more) {
  execFileSync(lectern, ["init", project], { stdio: "ignore" });
  const permissions = join(project, "config/permissions.yaml");
  writeFileSync(permissions, readFileSync(permissions, "utf8").replace("roles:\n", rules + more));
}

const editors = { ann: "editors", ben: "editors" };

// start serves a project, by default the blog with two editors: make makes its files, files are more of them, more is
// what editors may do besides, and users have these roles. stop ends all that was started.
export async function start({ make = blog, files = {}, more = "", users = editors } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "desk-"));
  const project = join(dir, "project");
  make(project, more);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  appendFileSync(join(project, "config/plugins.yaml"), "\nusers-permissions: {config: {ratelimit: {enabled: false}}}\n");
  for (const [name, role] of Object.entries(users)) {
    execFileSync(lectern, ["user", "create", project, name, "--email", `${name}@example.org`, "--role", role], {
      input: `${password}\n`,
      stdio: ["pipe", "ignore", "ignore"],
    });
  }
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  let server = await serve(project, "127.0.0.1:0");
  const { base } = server;
  return {
    base,
    browser,
    // run runs a command of the program on the project, and returns what it printed.
    run: (command, input, ...args) => execFileSync(lectern, [...command.split(" "), project, ...args], { input, encoding: "utf8", stdio: "pipe" }),
    // kill ends the server at once, as a lost power supply would.
    kill: () => end(server, "SIGKILL"),
    // again serves the project at the address where it was.
    async again() {
      server = await serve(project, new URL(base).host);
    },
    async stop() {
      await browser.close();
      await end(server, "SIGTERM");
      rmSync(dir, { recursive: true });
    },
  };
}

async function serve(project, address) {
  const process = spawn(lectern, ["serve", project, "--addr", address], { stdio: ["ignore", "ignore", "pipe"] });
  const base = await new Promise((resolve, reject) => {
    let log = "";
    process.on("exit", () => reject(new Error(log)));
    process.stderr.on("data", (data) => {
      log += data;
      const found = /msg=serving base=(\S+)/.exec(log);
      if (found) resolve(found[1]);
    });
  });
  return { process, base };
}

async function end({ process }, signal) {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const ended = new Promise((resolve) => process.on("exit", resolve));
  process.kill(signal);
  await ended;
}

// open returns a page of a browser of its own, at a path of the desk and logged in.
export async function open({ base, browser }, path, user = "ann") {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${base}/desk/${path}`);
  await login(page, user);
  return page;
}

// login fills in the form to log in.
export async function login(page, user) {
  await page.getByLabel("Name or email address").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// checkAccessible asserts that axe finds nothing against a page, in light and dark, wide and narrow. With SCREENSHOTS, a
// directory, it leaves pictures of it there.
export async function checkAccessible(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 390]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map((node) => node.html).join("\n  ")}`);
      assert.deepEqual(found, [], `${name}, ${colorScheme}, ${width} px`);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wider <= 0, `${name} is ${wider} px wider than the window of ${width} px`);
      if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}-${colorScheme}-${width}.png`) });
    }
  }
  await page.setViewportSize({ width: 1280, height: 720 });
}
