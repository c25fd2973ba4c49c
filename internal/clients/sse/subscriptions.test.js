// graphql-sse as an application uses it, in its distinct connections mode.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createClient } from 'graphql-sse';

const { base, tokens } = JSON.parse(process.env.LECTERN);

const clients = [];
const connect = (options = {}) => {
  const client = createClient({ url: `${base}/graphql`, retryAttempts: 0, ...options });
  clients.push(client);
  return client;
};
after(() => clients.forEach((client) => client.dispose()));

const bearing = (token) => ({ authorization: `Bearer ${tokens[token]}` });

/** Sends a request to the REST API with full access and returns the document. */
const send = async (method, path, data) => {
  const response = await fetch(`${base}/api/${path}`, {
    method, headers: { ...bearing('full'), 'content-type': 'application/json' }, body: data && JSON.stringify({ data }),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? undefined : (await response.json()).data;
};

/** Subscribes, and resolves when the server listens: it answers with its head at once. */
const subscribe = async (client, query) => {
  let connected;
  const listening = new Promise((resolve) => { connected = resolve; });
  const results = client.iterate({ query }, { connected });
  const first = results.next();
  await listening;
  let pending = first;
  const next = async () => {
    const { value, done } = await pending;
    pending = done ? pending : results.next();
    return done ? undefined : value;
  };
  return { next, stop: () => results.return() };
};

test('queries and mutations have one result', async () => {
  const client = connect({ headers: bearing('full') });
  const once = (query) => new Promise((resolve, reject) => {
    const got = [];
    client.subscribe({ query }, { next: (value) => got.push(value), error: reject, complete: () => resolve(got) });
  });
  assert.deepEqual(await once('{ __typename }'), [{ data: { __typename: 'Query' } }]);
  const [{ data }] = await once('mutation { createArticle(data: { title: "by a stream" }) { title } }');
  assert.deepEqual(data, { createArticle: { title: 'by a stream' } });
});

test('an operation that is not valid is a result with errors', async () => {
  const results = await subscribe(connect(), 'subscription { nothingChanged { seq } }');
  const { errors, data } = await results.next();
  assert.equal(data, undefined);
  assert.match(errors[0].message, /Cannot query field "nothingChanged"/);
  assert.equal(await results.next(), undefined);
});

test('a caller without permission gets an error', async () => {
  const results = await subscribe(connect(), 'subscription { categoryChanged { seq } }');
  assert.equal((await results.next()).errors[0].extensions.code, 'FORBIDDEN');
  assert.equal(await results.next(), undefined);
});

test('changes arrive as they happen', async () => {
  const results = await subscribe(connect(), 'subscription { articleChanged { change documentId document { title } } }');
  const { documentId } = await send('POST', 'articles', { title: 'one' });
  assert.deepEqual((await results.next()).data.articleChanged, { change: 'PUBLISH', documentId, document: { title: 'one' } });
  await send('PUT', `articles/${documentId}`, { title: 'two' });
  assert.deepEqual((await results.next()).data.articleChanged, { change: 'PUBLISH', documentId, document: { title: 'two' } });
  await send('DELETE', `articles/${documentId}`);
  assert.deepEqual((await results.next()).data.articleChanged, { change: 'DELETE', documentId, document: null });
  await results.stop();
});

test('a client that connects again misses nothing', async () => {
  const query = 'subscription { articleChanged { seq document { title } } }';
  let last;
  const client = connect({ headers: () => (last ? { 'Last-Event-ID': last } : {}) });
  const first = await subscribe(client, query);
  await send('POST', 'articles', { title: 'seen' });
  last = (await first.next()).data.articleChanged.seq;
  await first.stop();
  await send('POST', 'articles', { title: 'missed' });
  const second = await subscribe(client, query);
  assert.equal((await second.next()).data.articleChanged.document.title, 'missed');
  await second.stop();
});
