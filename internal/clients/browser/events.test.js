// The change feed in the EventSource of Chromium, which connects again by itself, with the header Last-Event-ID, when the server is
// restarted. CONTROL is an address that restarts the server at a POST.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const { base, tokens } = JSON.parse(process.env.LECTERN);

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-background-networking', '--no-first-run'] });
});
after(() => browser?.close());

/** Creates a published article and returns its documentId. */
const create = async (title) => {
  const response = await fetch(`${base}/api/articles`, {
    method: 'POST', headers: { authorization: `Bearer ${tokens.full}`, 'content-type': 'application/json' }, body: JSON.stringify({ data: { title } }),
  });
  assert.equal(response.status, 201);
  return (await response.json()).data.documentId;
};

test('EventSource goes on after a restart of the server', async () => {
  const page = await browser.newPage();
  const sent = []; // the header Last-Event-ID of each request to the feed
  const told = []; // the documents of the events
  let tell;
  const until = async (count) => { while (told.length < count) await new Promise((resolve) => { tell = resolve; }); };
  await page.exposeFunction('told', (data) => { told.push(JSON.parse(data).documentId); tell?.(); });
  page.on('request', async (request) => {
    if (request.url().includes('/api/_changes')) sent.push((await request.allHeaders())['last-event-id']);
  });
  const before = await create('before');
  await page.goto(`${base}/api/articles`);
  await page.evaluate(() => {
    window.source = new EventSource('/api/_changes?feed=eventsource');
    window.source.onmessage = (event) => window.told(event.data);
  });
  await until(1);
  const live = await create('live');
  await until(2);
  const missed = [];
  const restart = await fetch(process.env.CONTROL, { method: 'POST' });
  assert.equal(restart.status, 200);
  for (const title of ['one', 'two', 'three']) missed.push(await create(title));
  await until(5);
  const last = await create('last');
  await until(6);
  assert.deepEqual(told, [before, live, ...missed, last]);
  assert.equal(sent[0], undefined);
  assert.ok(sent.length > 1 && sent.slice(1).every((id) => id), `Last-Event-ID: ${sent}`);
});
