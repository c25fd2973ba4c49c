// A server with the example project and two editors, and browsers at its desk.
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { LECTERN: lectern, CHROMIUM: executablePath } = process.env;
const password = "correct horse";

const rules = `roles:
  editors:
    lectern::desk: [use]
    api::article.article: [find, findOne, findDrafts, create, update, delete, publish, unpublish]
    api::author.author: [find, findOne, create, update]
`;

// start serves the project. stop ends all that was started.
export async function start() {
  const dir = mkdtempSync(join(tmpdir(), "desk-"));
  const project = join(dir, "blog");
  execFileSync(lectern, ["init", project], { stdio: "ignore" });
  const permissions = join(project, "config/permissions.yaml");
  writeFileSync(permissions, readFileSync(permissions, "utf8").replace("roles:\n", rules));
  appendFileSync(join(project, "config/plugins.yaml"), "\nusers-permissions: {config: {ratelimit: {enabled: false}}}\n");
  for (const name of ["ann", "ben"]) {
    execFileSync(lectern, ["user", "create", project, name, "--email", `${name}@example.org`, "--role", "editors"], {
      input: `${password}\n`,
      stdio: ["pipe", "ignore", "ignore"],
    });
  }
  const server = spawn(lectern, ["serve", project, "--addr", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  const base = await new Promise((resolve, reject) => {
    let log = "";
    server.on("exit", () => reject(new Error(log)));
    server.stderr.on("data", (data) => {
      log += data;
      const found = /msg=serving base=(\S+)/.exec(log);
      if (found) resolve(found[1]);
    });
  });
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  return {
    base,
    browser,
    async stop() {
      await browser.close();
      const ended = new Promise((resolve) => server.on("exit", resolve));
      server.kill("SIGTERM");
      await ended;
      rmSync(dir, { recursive: true });
    },
  };
}

// open returns a page of a browser of its own, at a path of the desk and logged in.
export async function open({ base, browser }, path, user = "ann") {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${base}/desk/${path}`);
  await login(page, user);
  return page;
}

export async function login(page, user) {
  await page.getByLabel("Name or email address").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}
