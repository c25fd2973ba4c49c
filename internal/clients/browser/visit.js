// Opens pages in a headless Chromium that can reach only the server. A request to any other host fails the test, and so does a message in the
// console or a violation of the content security policy.
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync',
      '--no-first-run', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
});
after(() => browser?.close());

/** Opens a page, calls look with it, and fails on any problem. */
export const visit = async (base, path, look) => {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 } });
  const wrong = []; // problems that fail the test
  const asked = []; // requests to the server
  try {
    context.setDefaultTimeout(30000);
    await context.exposeFunction('breach', (what) => wrong.push(`policy: ${what}`));
    await context.addInitScript(() => document.addEventListener('securitypolicyviolation',
      (e) => window.breach(`${e.violatedDirective} ${e.blockedURI}`)));
    const page = await context.newPage();
    page.on('console', (m) => wrong.push(`console: ${m.text()}`));
    page.on('pageerror', (e) => wrong.push(`error: ${e}`));
    page.on('requestfailed', (r) => wrong.push(`failed: ${r.url()}`));
    await context.route('**/*', (route) => {
      const request = route.request();
      const url = new URL(request.url());
      if (url.protocol === 'data:') return route.continue();
      if (url.origin !== base) {
        wrong.push(`asked for ${url}`);
        return route.abort();
      }
      asked.push(`${request.method()} ${url.pathname}`);
      return route.continue();
    });
    const answer = await page.goto(base + path);
    const failed = await look(page, answer, asked).then(() => undefined, (error) => error);
    if (wrong.length > 0) throw new Error(wrong.join('\n'), { cause: failed });
    if (failed) throw failed;
  } finally {
    await context.close();
  }
};

/** Waits until an element of a locator shows a text. */
export const shows = (locator, text) => locator.filter({ hasText: text }).first().waitFor();
