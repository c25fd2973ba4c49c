// The client that `lectern types` writes for ../project, run by Node.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { png } from '../strapi/png.js';

const { base, tokens } = JSON.parse(process.env.LECTERN);
const { ApiError, Client, encodeParams } = await import(process.env.CLIENT);

const visitor = new Client({ url: base });
const full = visitor.withToken(tokens.full);
const articles = full.collection('articles');

/** Expects a rejection by an ApiError. */
const refused = (promise, status, name) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof ApiError && error instanceof Error);
    assert.deepEqual([error.status, error.name, error.is(name)], [status, name, true], error.message);
    assert.ok(error.requestId);
    return true;
  });

test('parameters are nested names', () => {
  const day = new Date('2026-11-22T10:00:00Z');
  assert.equal(
    decodeURIComponent(
      encodeParams({
        filters: { $or: [{ title: { $in: ['a&b', 'ü='] } }, { views: { $gt: 3, $lt: undefined } }], body: null, createdAt: { $gt: day } },
        populate: { author: true }, fields: ['title'], sort: [], status: undefined,
      }),
    ),
    '?filters[$or][0][title][$in][0]=a&b&filters[$or][0][title][$in][1]=ü=&filters[$or][1][views][$gt]=3&filters[body]' +
      '&filters[createdAt][$gt]=2026-11-22T10:00:00.000Z&populate[author]=true&fields[0]=title',
  );
  assert.equal(encodeParams({ a: 'b&c=d' }), '?a=b%26c%3Dd');
  assert.equal(encodeParams({}), '');
  assert.equal(encodeParams(undefined), '');
});

describe('a collection type', () => {
  test('create, find, change, publish, delete', async () => {
    const made = await articles.create({ title: 'One', rating: 4, seo: { metaTitle: 'x' } }, { status: 'draft', populate: 'seo' });
    const id = made.data.documentId;
    assert.deepEqual([made.data.title, made.data.publishedAt, made.data.seo.metaTitle], ['One', null, 'x']);
    await refused(articles.findOne(id), 404, 'NotFoundError');

    const published = await articles.publish(id, { fields: ['title'] });
    assert.deepEqual(Object.keys(published.data), ['id', 'documentId', 'title']);
    const changed = await articles.update(id, { rating: null, extra: { a: [1, 'ü'] } }, { status: 'draft', fields: ['rating', 'extra'] });
    assert.deepEqual([changed.data.rating, changed.data.extra], [null, { a: [1, 'ü'] }]);
    assert.equal((await articles.findOne(id)).data.rating, 4);
    assert.equal((await articles.discardDraft(id)).data.rating, 4);
    assert.equal((await articles.unpublish(id)).data.publishedAt, null);
    await refused(articles.findOne(id), 404, 'NotFoundError');

    assert.equal(await articles.delete(id), undefined);
    await refused(articles.findOne(id, { status: 'draft' }), 404, 'NotFoundError');
    await refused(articles.findOne('a/../b?c#d', { status: 'draft' }), 404, 'NotFoundError');
    await assert.rejects(async () => articles.delete(''), TypeError);
  });

  test('lists, counts, pages, sorts, populates', async () => {
    const categories = full.collection('categories');
    const ids = [];
    for (const rank of [3, 1, 2]) ids.push((await categories.create({ name: `c${rank}`, rank })).data.documentId);
    await articles.create({ title: 'Listed & "quoted"', categories: { connect: ids }, sections: [{ __component: 'shared.quote', text: 'q' }] });
    await articles.create({ title: 'Other', categories: [ids[0]] });

    const page = await categories.find({ sort: ['rank:desc'], pagination: { page: 2, pageSize: 2 }, fields: ['rank'] });
    assert.deepEqual([page.data.map(({ rank }) => rank), page.meta.pagination], [[1], { page: 2, pageSize: 2, pageCount: 2, total: 3 }]);
    const rest = await categories.find({ sort: { rank: 'asc' }, pagination: { start: 1, limit: 5, withCount: false } });
    assert.deepEqual([rest.data.map(({ rank }) => rank), rest.meta.pagination], [[2, 3], { start: 1, limit: 5 }]);

    const [found] = (await articles.find({
      filters: { $and: [{ title: { $contains: '&' } }, { categories: { rank: { $in: [1, 2] } } }] },
      populate: { categories: { fields: ['name'], sort: 'rank:desc', filters: { rank: { $gt: 1 } } }, sections: { on: { 'shared.quote': true } } },
    })).data;
    assert.deepEqual(found.categories.map(({ name }) => name), ['c3', 'c2']);
    assert.equal(found.sections[0].__component, 'shared.quote');
    assert.deepEqual((await articles.findFirst({ populate: { categories: { count: true } }, filters: { title: 'Other' } })).categories, { count: 1 });
    assert.equal(await articles.findFirst({ filters: { title: 'nobody' } }), null);
    assert.equal(await articles.count(), 2);
    assert.equal(await articles.count({ filters: { categories: { name: 'c1' } } }), 1);
    assert.equal((await categories.findOne(ids[0], { populate: ['articles.seo'] })).data.articles.length, 2);
    assert.equal((await categories.find({ filters: { createdAt: { $gt: new Date(Date.now() + 60_000) } } })).data.length, 0);
    assert.deepEqual((await categories.find({ filters: { rank: null } })).data, []);
  });

  test('localizations', async () => {
    const { data } = await articles.create({ title: 'English' });
    await articles.update(data.documentId, { title: 'Français' }, { locale: 'fr' });
    assert.equal((await articles.findOne(data.documentId, { locale: 'fr' })).data.title, 'Français');
    const both = await articles.find({ locale: '*', filters: { documentId: data.documentId }, sort: 'locale', fields: ['locale'] });
    assert.deepEqual(both.data.map(({ locale }) => locale), ['en', 'fr']);
    assert.equal((await articles.find({ locale: ['en', 'fr'], filters: { documentId: data.documentId } })).data.length, 2);
    await articles.delete(data.documentId, { locale: 'fr' });
    await refused(articles.findOne(data.documentId, { locale: 'fr' }), 404, 'NotFoundError');
    await articles.delete(data.documentId, { locale: '*' });
  });
});

test('a single type', async () => {
  const homepage = full.single('homepage');
  await refused(homepage.find(), 404, 'NotFoundError');
  assert.equal((await homepage.update({ title: 'Home' }, { status: 'draft' })).data.title, 'Home');
  assert.equal((await homepage.publish()).data.title, 'Home');
  assert.deepEqual(Object.keys((await homepage.find({ fields: ['title'], populate: { featured: true } })).data), ['id', 'documentId', 'title', 'featured']);
  await homepage.update({ title: 'Draft' }, { status: 'draft' });
  assert.equal((await homepage.discardDraft()).data.title, 'Home');
  assert.equal((await homepage.unpublish()).data.publishedAt, null);
  await homepage.delete();
  await refused(homepage.find({ status: 'draft' }), 404, 'NotFoundError');
});

describe('errors', () => {
  test('have name, status, message and issues', async () => {
    await assert.rejects(articles.create({ title: 'x'.repeat(81), rating: 9 }), (error) => {
      assert.deepEqual([error.name, error.status], ['ValidationError', 400]);
      assert.deepEqual(error.issues.map(({ path }) => path.join('.')).sort(), ['rating', 'title']);
      assert.match(error.message, /2 errors/);
      return true;
    });
    await refused(articles.find({ filters: { nope: 1 } }), 400, 'ValidationError');
    await refused(visitor.collection('comments').find(), 403, 'ForbiddenError');
    await refused(full.withToken('wrong').collection('articles').find(), 401, 'UnauthorizedError');
    assert.deepEqual(await articles.find({ filters: { nope: 1 } }).catch((error) => error.issues), []);
  });

  test('of a proxy, that are no JSON', async () => {
    const proxy = new Client({ url: base, fetch: async () => new Response('<h1>Bad Gateway</h1>', { status: 502, statusText: 'Bad Gateway' }) });
    await assert.rejects(proxy.collection('articles').find(), { name: 'Error', status: 502, message: 'Bad Gateway' });
  });

  test('of an abort', async () => {
    await assert.rejects(articles.find({}, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  });
});

test('options of the client and of a request', async () => {
  const sent = [];
  const spy = (url, init) => {
    sent.push([String(url).slice(base.length), init.headers]);
    return fetch(url, init);
  };
  const client = new Client({ url: base + '/', token: tokens.full, headers: { 'X-One': '1' }, fetch: spy });
  await client.collection('articles').find(undefined, { headers: { 'X-Two': '2' } });
  const [path, headers] = sent[0];
  assert.equal(path, '/api/articles');
  assert.deepEqual([headers['X-One'], headers['X-Two'], headers.Authorization], ['1', '2', `Bearer ${tokens.full}`]);
  await refused(new Client({ url: base, prefix: '/nowhere' }).collection('articles').find(), 404, 'NotFoundError');
});

test('files', async () => {
  const image = new File([png(300, 200)], 'wall.png', { type: 'image/png' });
  const [wall] = await full.files.upload(image, { fileInfo: { alternativeText: 'A wall' } });
  assert.deepEqual([wall.name, wall.alternativeText, wall.width, wall.formats.thumbnail.width], ['wall.png', 'A wall', 300, 234]);
  const two = await full.files.upload([new Blob(['a'], { type: 'text/plain' }), new Blob(['b'], { type: 'text/plain' })], {
    fileInfo: [{ caption: 'first' }, { caption: 'second' }],
  });
  assert.deepEqual(two.map(({ caption }) => caption), ['first', 'second']);
  assert.equal((await full.files.update(wall.id, { caption: 'Grey' })).caption, 'Grey');
  assert.equal((await full.files.findOne(wall.id)).caption, 'Grey');
  assert.deepEqual((await full.files.find({ filters: { caption: 'Grey' }, limit: 5 })).map(({ id }) => id), [wall.id]);

  const { data } = await articles.create({ title: 'With a cover', cover: wall.id }, { populate: { cover: { fields: ['url'] } } });
  assert.deepEqual(data.cover, { id: wall.id, documentId: wall.documentId, url: wall.url });
  const [added] = await full.files.upload(image, { ref: 'api::article.article', refId: data.id, field: 'gallery' });
  assert.equal((await articles.findOne(data.documentId, { populate: 'gallery' })).data.gallery[0].documentId, added.documentId);
  assert.equal((await full.files.delete(wall.id)).id, wall.id);
  await refused(full.files.findOne(wall.id), 404, 'NotFoundError');
});

test('users', async () => {
  const registered = await visitor.auth.register({ username: 'ada', email: 'ada@example.org', password: 'correct horse' });
  assert.equal(registered.user.username, 'ada');
  const { jwt } = await visitor.auth.login({ identifier: 'ada@example.org', password: 'correct horse' });
  const ada = visitor.withToken(jwt);
  assert.equal((await ada.auth.me({ fields: ['username'] })).username, 'ada');
  assert.equal((await ada.collection('comments').create({ text: 'Well said' })).data.text, 'Well said');
  await ada.auth.changePassword({ currentPassword: 'correct horse', password: 'battery staple', passwordConfirmation: 'battery staple' });
  await refused(visitor.auth.login({ identifier: 'ada', password: 'correct horse' }), 400, 'ValidationError');
  await refused(visitor.auth.resetPassword({ code: 'x', password: 'long enough', passwordConfirmation: 'long enough' }), 400, 'ValidationError');
  await refused(visitor.auth.me(), 403, 'ForbiddenError');
});

test('changes', async () => {
  const comments = full.collection('comments');
  const { data: first } = await comments.create({ text: 'first' });
  const stop = new AbortController();
  const seen = [];
  const follow = async () => {
    for await (const page of full.changes({ types: ['comments'], timeout: 5000 }, { signal: stop.signal })) {
      for (const change of page.results) {
        seen.push([change.change, change.documentId, change.type]);
        if (change.documentId === first.documentId && change.change === 'create') await comments.update(first.documentId, { text: 'second' });
        if (change.change === 'update') await comments.delete(first.documentId);
        if (change.change === 'delete') stop.abort();
      }
    }
  };
  await assert.rejects(follow(), { name: 'AbortError' });
  const own = seen.filter(([, id]) => id === first.documentId).map(([change]) => change);
  assert.deepEqual(own, ['create', 'update', 'delete']);
  assert.equal(seen[0][2], 'api::comment.comment');
});
