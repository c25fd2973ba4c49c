import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gql, HttpLink, ServerError } from '@apollo/client';
import { BatchHttpLink } from '@apollo/client/link/batch-http';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { RemoveTypenameFromVariablesLink } from '@apollo/client/link/remove-typename';
import { apollo, bearing, errorsOf, noted, uri } from './client.js';

const titles = gql`query Titles { articles { documentId title } }`;

/** Returns a client that records its requests. */
const observed = ({ links = [], ...options } = {}) => {
  const { log, fetch } = noted();
  const http = new HttpLink({ uri, fetch, headers: bearing('full'), ...options });
  return { log, client: apollo({ links, http }) };
};

describe('how operations are sent', () => {
  test('by POST, with who sends them', async () => {
    const { log, client } = observed();
    await client.query({ query: titles });
    assert.deepEqual([log.length, log[0].method, log[0].status], [1, 'POST', 200]);
    assert.match(log[0].headers.get('content-type'), /^application\/graphql-response\+json; charset=utf-8/);
    assert.equal(JSON.parse(log[0].body).extensions.clientLibrary.name, '@apollo/client');
  });

  test('queries by GET, mutations by POST', async () => {
    const { log, client } = observed({ useGETForQueries: true });
    const variables = { title: 'ä & ü' };
    const by = gql`query By($title: String) { articles(filters: { title: { eq: $title } }) { title } }`;
    await client.query({ query: by, variables });
    await client.mutate({ mutation: gql`mutation Make($title: String) { createArticle(data: { title: $title }) { title } }`, variables });
    const { data } = await client.query({ query: by, variables, fetchPolicy: 'no-cache' });
    assert.deepEqual(log.map(({ method, status }) => [method, status]), [['GET', 200], ['POST', 200], ['GET', 200]]);
    assert.deepEqual(data.articles.map((a) => a.title), ['ä & ü']);
  });

  for (const useGETForHashedQueries of [false, true]) {
    test(`persisted queries, hashes by ${useGETForHashedQueries ? 'GET' : 'POST'}`, async () => {
      const sha256 = (text) => createHash('sha256').update(text).digest('hex');
      const { log, client } = observed({ links: [new PersistedQueryLink({ sha256, useGETForHashedQueries })] });
      const query = gql`query ${`Persisted${useGETForHashedQueries ? 'GET' : 'POST'}`} { articles { title } }`;
      const ask = async () => (await client.query({ query, fetchPolicy: 'no-cache' })).data.articles.length;
      const count = await ask();
      assert.equal(log.length, 2, 'asked by hash, then sent whole');
      assert.equal(await ask(), count);
      assert.equal(log.length, 3, 'known from then on');
      assert.equal(log[2].body?.includes('articles') ?? log[2].url.includes('articles'), false);
    });
  }

  test('lists of operations are refused', async () => {
    const { log, fetch } = noted();
    const client = apollo({ http: new BatchHttpLink({ uri, fetch, batchMax: 2 }) });
    const asked = await Promise.allSettled([client.query({ query: titles }), client.query({ query: gql`query Two { articles { title } }` })]);
    assert.deepEqual(asked.map(({ status }) => status), ['rejected', 'rejected']);
    assert.deepEqual(log.map(({ status }) => status), [400]);
  });

  test('given up by the client', async () => {
    const { client } = observed();
    const control = new AbortController();
    const asked = client.query({ query: titles, context: { fetchOptions: { signal: control.signal } }, fetchPolicy: 'no-cache' });
    control.abort();
    await assert.rejects(asked, { name: 'AbortError' });
    assert.equal(Array.isArray((await client.query({ query: titles })).data.articles), true);
  });

  test('what was read, written back without __typename', async () => {
    const client = apollo({ token: 'full', links: [new RemoveTypenameFromVariablesLink()] });
    const mutation = gql`mutation Make($data: ArticleInput!) { createArticle(data: $data) { title seo { metaTitle } } }`;
    const seo = { __typename: 'ComponentSharedSeo', metaTitle: 'Read' };
    const { data } = await client.mutate({ mutation, variables: { data: { title: 'Written back', seo } } });
    assert.equal(data.createArticle.seo.metaTitle, 'Read');
  });
});

describe('errors', () => {
  test('400: a document that does not fit the schema', async () => {
    assert.deepEqual(await errorsOf(apollo().query({ query: gql`{ articles { titel } }` })),
      [['Cannot query field "titel" on type "Article". Did you mean "title"?', 'GRAPHQL_VALIDATION_FAILED']]);
  });

  test('400: variables', async () => {
    const query = gql`query ByRating($rating: Int!) { articles(filters: { rating: { eq: $rating } }) { title } }`;
    assert.deepEqual(await errorsOf(apollo().query({ query, variables: { rating: 'five' } })),
      [['Variable "$rating" got invalid value "five"; Int cannot represent non-integer value: "five"', 'BAD_USER_INPUT']]);
  });

  test('401', async () => {
    const error = await apollo({ headers: { authorization: 'Bearer unknown' } }).query({ query: titles }).catch((e) => e);
    assert.equal(ServerError.is(error), true);
    assert.equal(error.statusCode, 401);
    assert.equal(JSON.parse(error.bodyText).error.message, 'Missing or invalid credentials');
  });

  test('values, with their paths', async () => {
    const mutation = gql`mutation { createArticle(data: { title: "x", rating: 9 }) { title } }`;
    const { data, error } = await apollo({ token: 'full' }).mutate({ mutation, errorPolicy: 'all' });
    assert.equal(data.createArticle, null);
    const [{ message, path, extensions }] = error.errors;
    assert.deepEqual([message, path, extensions.code], ['rating must be less than or equal to 5', ['createArticle'], 'BAD_USER_INPUT']);
    assert.deepEqual(extensions.error.details.errors[0].path, ['rating']);
  });

  test('what may be seen stands beside what may not', async () => {
    await apollo({ token: 'full' }).mutate({ mutation: gql`mutation { createArticle(data: { title: "Seen" }) { title } }` });
    const query = gql`{ articles(filters: { title: { eq: "Seen" } }) { title } categories_connection { nodes { name } } }`;
    const { data, error } = await apollo().query({ query, errorPolicy: 'all' });
    assert.deepEqual([data.articles.map((a) => a.title), data.categories_connection], [['Seen'], null]);
    assert.deepEqual(error.errors.map((e) => [e.message, e.path, e.extensions.code]), [['Forbidden access', ['categories_connection'], 'FORBIDDEN']]);
    assert.deepEqual(await errorsOf(apollo().query({ query })), [['Forbidden access', 'FORBIDDEN']]);
  });
});
