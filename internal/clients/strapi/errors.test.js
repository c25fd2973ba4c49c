import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  HTTPAuthorizationError, HTTPBadRequestError, HTTPError, HTTPForbiddenError, HTTPNotFoundError, strapi,
} from '@strapi/client';
import { ask, base, holder, user, visitor } from './client.js';

const articles = holder('full').collection('articles');

/** Returns the errors that a promise is rejected with: the client's, and the one in the response of the server. */
const refused = async (promise, Class) => {
  const error = await promise.then(() => assert.fail('it was not refused'), (e) => e);
  assert.equal(error.constructor, Class, String(error));
  assert.equal(error instanceof HTTPError, true);
  const { data, error: { status, name, message, details } } = await error.response.json();
  assert.deepEqual([data, status], [null, error.response.status]);
  return { status, name, message, details };
};

test('400: a value', async () => {
  assert.deepEqual(await refused(articles.create({ title: 'x'.repeat(81), rating: 9 }), HTTPBadRequestError), {
    status: 400,
    name: 'ValidationError',
    message: '2 errors occurred',
    details: {
      errors: [
        { path: ['title'], message: 'title must be at most 80 characters', name: 'ValidationError', value: 'x'.repeat(81) },
        { path: ['rating'], message: 'rating must be less than or equal to 5', name: 'ValidationError', value: 9 },
      ],
    },
  });
});

const badRequests = [
  ['a missing value', () => articles.create({}), 'title must be a `string` type, but the final value was: `null`.'],
  ['an unknown attribute', () => articles.create({ title: 'x', nope: 1 }), 'Invalid key nope'],
  ['a private filter', () => articles.find({ filters: { notes: 'x' } }), 'Invalid key notes'],
  ['an unknown operator', () => articles.find({ filters: { title: { $like: 'x' } } }), 'Invalid key $like at title'],
  ['an unknown relation', () => articles.find({ populate: 'nope' }), 'Invalid key nope'],
  ['a relation to nothing', () => articles.create({ title: 'x', categories: [999] }),
    '1 relation(s) of type api::category.category associated with this entity do not exist'],
];
for (const [name, ask, message] of badRequests) {
  test(`400: ${name}`, async () => {
    const error = await refused(ask(), HTTPBadRequestError);
    assert.deepEqual([error.name, error.message], ['ValidationError', message]);
  });
}

test('400: a value that another has', async () => {
  const categories = holder('full').collection('categories');
  await categories.create({ name: 'Taken' });
  const error = await refused(categories.create({ name: 'Taken' }), HTTPBadRequestError);
  assert.deepEqual([error.message, error.details.errors[0].path], ['This attribute must be unique', ['name']]);
});

test('401: a token that is none', async () => {
  const stranger = strapi({ baseURL: `${base}/api`, auth: 'unknown' });
  const want = { status: 401, name: 'UnauthorizedError', message: 'Missing or invalid credentials', details: {} };
  assert.deepEqual(await refused(stranger.collection('articles').find(), HTTPAuthorizationError), want);
});

test('403: what was not granted', async () => {
  const want = { status: 403, name: 'ForbiddenError', message: 'Forbidden', details: {} };
  assert.deepEqual(await refused(visitor().collection('articles').create({ title: 'x' }), HTTPForbiddenError), want);
  assert.deepEqual(await refused(visitor().collection('categories').find(), HTTPForbiddenError), want);
});

test('404: documents, types and routes that are not there', async () => {
  const want = { status: 404, name: 'NotFoundError', message: 'Not Found', details: {} };
  const id = 'a'.repeat(24);
  assert.deepEqual(await refused(articles.findOne(id), HTTPNotFoundError), want);
  assert.deepEqual(await refused(articles.update(id, { rating: 1 }), HTTPNotFoundError), want);
  assert.deepEqual(await refused(holder('full').collection('nothings').find(), HTTPNotFoundError), want);
  assert.deepEqual(await refused(holder('full').fetch('/nothing/at/all'), HTTPNotFoundError), want);
});

const logIn = () => ask(visitor(), '/auth/local', 'POST', { identifier: 'nobody', password: 'no password' });

test('400: logging in', async () => {
  assert.deepEqual(await refused(logIn(), HTTPBadRequestError),
    { status: 400, name: 'ValidationError', message: 'Invalid identifier or password', details: {} });
});

test('who cannot log in asks as the public', async () => {
  const nobody = user('nobody', 'no password');
  assert.deepEqual((await nobody.collection('articles').find()).data, []);
  await refused(nobody.collection('categories').find(), HTTPForbiddenError);
});

test('429: logging in too often', async () => {
  await Promise.allSettled([logIn(), logIn(), logIn(), logIn(), logIn()]);
  const { status, name } = await refused(logIn(), HTTPError);
  assert.deepEqual([status, name], [429, 'RateLimitError']);
});
