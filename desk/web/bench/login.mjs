// Measures how long a list takes to be there once somebody logs in, in a page that knows when that is.

// watch has a page note when its form to log in is sent, and when an element of the list is first there.
export async function watch(page, row) {
  await page.addInitScript((selector) => {
    let sent = null;
    addEventListener("submit", () => (sent ??= performance.now()), { capture: true });
    const look = () => {
      if (sent === null || !document.querySelector(selector)) return;
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(() => (window.listed = { sent, took: performance.now() - sent })));
    };
    const seen = new MutationObserver(look);
    seen.observe(document, { subtree: true, childList: true });
  }, row);
}

// listed returns the milliseconds from the form to the painted list, and the requests between.
export async function listed(page) {
  await page.waitForFunction(() => window.listed);
  return page.evaluate(() => ({
    took: window.listed.took,
    requests: performance.getEntriesByType("resource").filter((r) => r.startTime >= window.listed.sent).map((r) => ({
      path: new URL(r.name).pathname,
      from: Math.round(r.startTime - window.listed.sent),
      first: Math.round(r.responseStart - window.listed.sent),
      to: Math.round(r.responseEnd - window.listed.sent),
    })),
  }));
}

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
