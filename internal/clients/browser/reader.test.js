// Tests of the page that shows the OpenAPI document, under the rules of visit.js.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shows, visit } from './visit.js';

const { development, production, elsewhere } = JSON.parse(process.env.LECTERN);

test('it shows what the caller may do, and tries it out', async () => {
  await visit(development.base, '/api/_docs', async (page, answer, asked) => {
    const policy = answer.headers()['content-security-policy'];
    assert.match(policy, /^default-src 'none'; script-src 'nonce-/);
    assert.doesNotMatch(policy, /unsafe/);
    const operations = page.locator('.opblock-summary');
    await shows(operations, '/api/articles');
    assert.equal(await operations.filter({ hasText: '/api/categories' }).count(), 0, 'the public may not find categories');

    await page.getByLabel('Token').fill(development.tokens.readonly);
    await page.getByRole('button', { name: 'Show what it allows' }).click();
    const list = page.locator('#operations-Category-findCategories');
    await list.locator('.opblock-summary').click();
    await list.getByRole('button', { name: 'Try it out' }).click();
    await list.getByRole('button', { name: 'Execute' }).click();
    await shows(list.locator('.live-responses-table .response-col_status'), '200');
    await shows(list.locator('.live-responses-table'), '"pagination"');

    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.equal(kept.includes(development.tokens.readonly), false, 'the token is not kept');
    const others = asked.filter((a) => !a.includes('/assets/') && a !== 'GET /api/_docs');
    assert.deepEqual(others, ['GET /api/_openapi.json', 'GET /api/_openapi.json', 'GET /api/categories']);
  });
});

test('its licences are there', async () => {
  const page = await (await fetch(`${development.base}/api/_docs`)).text();
  const [, path] = page.match(/rel="license" href="([^"]+)"/);
  const licences = await (await fetch(new URL(path, `${development.base}/api/_docs`))).text();
  assert.match(licences, /^swagger-ui-dist [0-9.]+ \(Apache-2\.0\)$/m);
  assert.match(licences, /MIT/);
});

test('in production it is there only where the settings say so', async () => {
  assert.equal((await fetch(`${production.base}/api/_docs`)).status, 404);
  assert.equal((await fetch(`${production.base}/api/_openapi.json`)).status, 200);
  await visit(elsewhere.base, '/api/_docs/', (page) => shows(page.locator('.opblock-summary'), '/api/articles'));
});
