// Tests of the page at the GraphQL endpoint, in a headless Chromium that can reach only the server. A request to any other host
// fails the test, and so does a message in the console or a violation of the content security policy.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shows, visit } from './visit.js';

const { development, production, elsewhere } = JSON.parse(process.env.LECTERN);

/** Return the editor of the operation, and the open editor of variables or headers. */
const operation = (page) => page.locator('.graphiql-query-editor .CodeMirror');
const tool = (page) => page.locator('.graphiql-editor-tool .graphiql-editor:not(.hidden) .CodeMirror');
const result = (page) => page.locator('.result-window .CodeMirror-code');

/** Replaces the text of an editor by typing. The editor adds closing brackets; typing one overwrites it. */
const type = async (editor, text) => {
  const { keyboard } = editor.page();
  await editor.click();
  await keyboard.press('Control+A');
  await keyboard.type(text);
  await keyboard.press('Escape'); // close the completion menu
};

const tab = (page, name) => page.getByRole('button', { name, exact: true }).click();

const run = (page) => page.getByRole('button', { name: /^Execute query/ }).click();

/** Creates a document with full access. */
const create = async ({ base, tokens }, plural, data) => {
  const answer = await fetch(`${base}/api/${plural}?status=published`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.full}`, 'content-type': 'application/json' },
    body: JSON.stringify({ data }),
  });
  assert.equal(answer.status, 201, await answer.text());
};

describe('where it is an IDE', () => {
  test('operations are typed and run, with variables and headers, and the docs are read', async () => {
    await create(development, 'articles', { title: 'Ink and paper' });
    await create(development, 'articles', { title: 'Another one' });
    await create(development, 'categories', { name: 'Workshop' });
    await visit(development.base, '/graphql', async (page, answer, asked) => {
      const policy = answer.headers()['content-security-policy'];
      assert.match(policy, /^default-src 'none'; script-src 'nonce-/);
      assert.doesNotMatch(policy, /unsafe/);

      await type(operation(page), 'query Find($title: String) { articles(filters: { title: { eq: $title } }) { documentId title } }');
      await type(tool(page), '{ "title": "Ink and paper" }');
      await run(page);
      await shows(result(page), '"title": "Ink and paper"');
      assert.doesNotMatch(await result(page).innerText(), /Another one|errors/);

      await type(operation(page), '{ categories { name } }');
      await run(page);
      await shows(result(page), 'Forbidden access');
      await tab(page, 'Headers');
      await type(tool(page), `{ "Authorization": "Bearer ${development.tokens.readonly}" }`);
      await run(page);
      await shows(result(page), '"name": "Workshop"');

      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      const docs = page.locator('.graphiql-doc-explorer');
      await docs.getByText('Query', { exact: true }).click();
      await shows(docs, 'articles_connection');
      await docs.getByText('Article', { exact: true }).first().click();
      await shows(docs, 'localizations_connection');

      await page.getByRole('button', { name: 'Open settings dialog' }).click();
      await page.getByRole('dialog').waitFor();

      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
      assert.match(kept, /categories/, 'operations are kept');
      assert.equal(kept.includes(development.tokens.readonly), false, 'who asked is not');

      assert.deepEqual(new Set(asked.filter((a) => !a.includes('/assets/'))), new Set(['GET /graphql', 'POST /graphql']));
      assert.equal(asked.filter((a) => a.startsWith('GET /graphql/assets/')).length, 2);
    });
  });

  test('the history keeps operations without their headers', async () => {
    const token = development.tokens.full;
    await visit(development.base, '/graphql', async (page) => {
      await page.evaluate((headers) => localStorage.setItem('graphiql:favorites',
        JSON.stringify({ favorites: [{ query: '{ kept: __typename }', headers, favorite: true }] })), `{"Authorization": "Bearer ${token}"}`);
      await page.waitForLoadState('networkidle'); // no request is broken off
      await page.reload(); // a page of an earlier version may have left headers
      await type(operation(page), '{ first: __typename }');
      await tab(page, 'Headers');
      await type(tool(page), `{ "Authorization": "Bearer ${token}" }`);
      await run(page);
      await shows(result(page), '"first": "Query"');

      await page.waitForFunction(() => localStorage.getItem('graphiql:queries')?.includes('first'));
      const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
      assert.match(kept, /kept: __typename/, 'favorites are kept');
      assert.equal(kept.includes(token), false, 'who asked is not');
    });
  });

  test('the address fills it, and what it says is run by hand', async () => {
    await create(development, 'articles', { title: 'By address' });
    const query = 'query All { articles { title } }\nquery One($title: String) { articles(filters: { title: { eq: $title } }) { title } }';
    const at = new URLSearchParams({ query, variables: '{"title":"By address"}', operationName: 'One' });
    await visit(development.base, `/graphql?${at}`, async (page, _, asked) => {
      await shows(operation(page), 'query One($title: String)');
      await shows(tool(page), '"title": "By address"');
      assert.ok(asked.filter((a) => a.startsWith('POST')).length <= 1, 'nothing but the schema is asked for');
      await run(page); // runs the named operation at once, without a menu
      await shows(result(page), '"title": "By address"');
      assert.doesNotMatch(await result(page).innerText(), /Ink and paper|errors/);

      await type(operation(page), '{ __typename }');
      await run(page);
      await shows(result(page), '"__typename": "Query"');
    });
    await visit(development.base, '/graphql?query=%7B&variables=nonsense&operationName=None', async (page) => {
      await shows(tool(page), 'nonsense');
      await type(operation(page), '{ __typename }');
    });
  });

  for (const width of [1024, 1400]) {
    test(`no line of the welcome is cut off at a width of ${width}`, async () => {
      await visit(development.base, '/graphql', async (page) => {
        await page.setViewportSize({ width, height: 900 });
        await shows(operation(page), '__typename');
        const [whole, shown] = await operation(page).evaluate((e) => [
          Math.max(...[...e.querySelectorAll('.CodeMirror-line > span')].map((line) => line.getBoundingClientRect().right)),
          e.getBoundingClientRect().left + e.clientWidth,
        ]);
        assert.ok(whole <= shown, `a line ends at ${whole}, the editor at ${shown}`);
      });
    });
  }

  test('fields are completed and mistakes marked', async () => {
    await visit(development.base, '/graphql', async (page) => {
      await type(operation(page), '{ articles { titel } }');
      await page.locator('.CodeMirror-lint-mark-error').first().waitFor();
      await type(operation(page), '{ articles { tit');
      await page.keyboard.press('Control+Space');
      await shows(page.locator('.CodeMirror-hints'), 'title');
    });
  });

  for (const path of ['/content/query', '/content/query/']) {
    test(`at ${path}, without introspection`, async () => {
      await visit(elsewhere.base, path, async (page, _, asked) => {
        await shows(page.locator('.graphiql-footer'), 'Introspection is off');
        assert.deepEqual(asked.filter((a) => a.startsWith('POST')), [], 'the schema is not asked for');
        await type(operation(page), '{ __typename articles { title } }');
        await run(page);
        await shows(result(page), '"__typename": "Query"');
      });
    });
  }

  test('its licences are there', async () => {
    const page = await (await fetch(`${development.base}/graphql`, { headers: { accept: 'text/html' } })).text();
    const [, path] = page.match(/rel="license" href="([^"]+)"/);
    const licences = await (await fetch(new URL(path, `${development.base}/graphql`))).text();
    for (const name of ['graphiql', 'react', 'react-dom', 'graphql', 'codemirror']) {
      assert.match(licences, new RegExp(`^${name} [0-9.]+ \\(MIT\\)$`, 'm'));
    }
  });
});

test('where it is none, the page loads nothing, and nothing is there', async () => {
  await visit(production.base, '/graphql', async (page, answer, asked) => {
    await shows(page.locator('pre'), '__typename');
    assert.match(answer.headers()['content-security-policy'], /^default-src 'none'; style-src 'unsafe-inline'/);
    assert.deepEqual(asked, ['GET /graphql']);
  });
  const page = await (await fetch(`${development.base}/graphql`, { headers: { accept: 'text/html' } })).text();
  for (const [, path] of page.matchAll(/(?:src|href)="(graphql\/[^"]+)"/g)) {
    assert.equal((await fetch(`${development.base}/${path}`)).status, 200, path);
    assert.equal((await fetch(`${production.base}/${path}`)).status, 404, path);
  }
});
