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

test('a populate without options shows the attribute', async () => {
  for (const [populate, query] of [
    [{ author: {} }, 'populate[author]=true'],
    [{ author: { fields: undefined, sort: [] } }, 'populate[author]=true'],
    [{ author: { fields: [], populate: { avatar: {} } } }, 'populate[author][populate][avatar]=true'],
    [{ sections: { on: { 'shared.quote': {}, 'shared.picture': { populate: { file: {} } } } } },
      'populate[sections][on][shared.quote]=true&populate[sections][on][shared.picture][populate][file]=true'],
    [{ author: undefined }, ''],
    [{}, ''],
  ]) assert.equal(decodeURIComponent(encodeParams({ populate })), query && '?' + query);
  const { data } = await articles.create({ title: 'Shown', seo: { metaTitle: 'x' } }, { populate: { seo: {}, cover: { fields: undefined } } });
  assert.deepEqual([data.seo.metaTitle, data.cover], ['x', null]);
  await articles.delete(data.documentId);
});

test('on shows what it names, and everything if it names nothing', async () => {
  const { data } = await articles.create({ title: 'Zone', sections: [{ __component: 'shared.quote', text: 'x' }, { __component: 'shared.picture' }] });
  for (const [on, shown] of [
    [{}, ['shared.quote', 'shared.picture']],
    [{ 'shared.quote': undefined }, ['shared.quote', 'shared.picture']],
    [{ 'shared.quote': {} }, ['shared.quote']],
    [{ 'shared.quote': false }, []],
  ]) {
    const { sections } = (await articles.findOne(data.documentId, { populate: { sections: { on } } })).data;
    assert.deepEqual(sections.map(({ __component }) => __component), shown, JSON.stringify(on));
  }
  await articles.delete(data.documentId);
});

test('schedules are listed and cancelled', async () => {
  const { data } = await articles.create({ title: 'Later' }, { status: 'draft' });
  await articles.publish(data.documentId, { publishAt: '2999-01-01T09:00:00Z' });
  const filters = { document: data.documentId };
  const { data: planned, meta } = await full.schedules.find({ filters });
  assert.equal(meta.pagination.total, 1);
  const [{ id, documentId, createdAt, updatedAt, publishedAt, ...rest }] = planned;
  assert.deepEqual(rest, {
    action: 'publish', at: '2999-01-01T09:00:00.000Z', contentType: 'api::article.article', document: data.documentId,
    documentLocale: 'en', state: 'pending', error: null, principalKind: 'token', principalName: 'full',
  });
  assert.ok(id && documentId && createdAt && updatedAt && publishedAt);
  assert.deepEqual((await full.schedules.find({ filters, fields: ['action'], sort: 'at' })).data, [{ id, documentId, action: 'publish' }]);
  await refused(visitor.schedules.find(), 403, 'ForbiddenError');
  assert.equal(await full.schedules.cancel(documentId), undefined);
  await refused(full.schedules.cancel(documentId), 404, 'NotFoundError');
  assert.deepEqual((await full.schedules.find({ filters })).data, []);
  await articles.delete(data.documentId);
});

test('documents are published and unpublished later', async () => {
  const sent = [];
  const watched = new Client({ url: base, token: tokens.full, fetch: (url, init) => (sent.push([url.slice(base.length), init.body]), fetch(url, init)) });
  const [publishAt, unpublishAt] = [new Date('2999-01-01T09:00:00Z'), '2999-02-01T10:00:00+01:00'];
  const made = await articles.create({ title: 'Timed' }, { status: 'draft' });
  const home = watched.single('homepage');
  await home.update({ title: 'Home' }, { status: 'draft' });
  const later = [['publish', '2999-01-01T09:00:00.000Z'], ['unpublish', '2999-02-01T09:00:00.000Z']];
  const planned = ({ meta }) => meta.schedules.map(({ action, at }) => [action, at]).sort();
  for (const [name, id] of [['articles', [made.data.documentId]], ['homepage', []]]) {
    const actions = id.length ? watched.collection(name) : home;
    const path = ['/api', name, ...id, 'actions'].join('/');
    sent.length = 0;

    const first = await actions.publish(...id, { publishAt, unpublishAt, fields: ['publishedAt'] });
    assert.deepEqual([first.data.publishedAt, planned(first)], [null, later]);
    const all = await full.schedules.find({ filters: { document: first.data.documentId }, sort: 'id' });
    assert.deepEqual(first.meta.schedules.sort((a, b) => a.id - b.id), all.data);
    for (const { documentId } of all.data) await full.schedules.cancel(documentId);
    const second = await actions.publish(...id, { unpublishAt });
    assert.deepEqual([typeof second.data.publishedAt, planned(second)], ['string', [later[1]]]);
    const third = await actions.unpublish(...id, { unpublishAt: publishAt, locale: 'en' });
    assert.deepEqual([third.data.publishedAt, planned(third)], [null, [['unpublish', later[0][1]]]]);
    assert.deepEqual((await actions.publish(...id)).meta, {});
    assert.deepEqual(sent, [
      [`${path}/publish?fields[0]=publishedAt`, JSON.stringify({ data: { publishAt, unpublishAt } })],
      [`${path}/publish`, JSON.stringify({ data: { unpublishAt } })],
      [`${path}/unpublish?locale=en`, JSON.stringify({ data: { unpublishAt: publishAt } })],
      [`${path}/publish`, undefined],
    ]);

    // What is no time never publishes at once.
    await actions.unpublish(...id);
    await assert.rejects(async () => actions.publish(...id, { publishAt: new Date('soon') }), RangeError);
    await assert.rejects(async () => actions.publish(...id, { publishAt: null }), TypeError);
    for (const wrong of ['', '2999-01-01', '2000-01-01T09:00:00Z']) await refused(actions.publish(...id, { publishAt: wrong }), 400, 'ValidationError');
    await refused(actions.unpublish(...id, { publishAt }), 400, 'ValidationError');
    assert.equal((await actions[id.length ? 'findOne' : 'find'](...id, { status: 'draft', fields: ['publishedAt'] })).data.publishedAt, null);
    await refused(actions[id.length ? 'findOne' : 'find'](...id), 404, 'NotFoundError');
    await actions.delete(...id);
  }
});

test('a list within filters that says nothing is refused, not left out', async () => {
  for (const [params, name] of [
    [{ filters: { documentId: { $in: [] } } }, 'filters[documentId][$in]'],
    [{ filters: { title: { $notIn: [] } } }, 'filters[title][$notIn]'],
    [{ filters: { title: [undefined] } }, 'filters[title]'],
    [{ filters: { $or: [] } }, 'filters[$or]'],
    [{ filters: { $and: [{ $or: [{}] }] } }, 'filters[$and][0][$or]'],
    [{ populate: { author: { filters: { $not: { age: [] } } } } }, 'populate[author][filters][$not][age]'],
  ]) assert.throws(() => encodeParams(params), { name: 'TypeError', message: `${name} is an empty list` });
  await assert.rejects(articles.find({ filters: { documentId: { $in: [] } } }), TypeError);
  assert.equal(encodeParams({ filters: {}, fields: [], sort: [], populate: [] }), '');
  assert.equal(encodeParams({ populate: { filters: { fields: [] } } }), '?populate[filters]=true'); // an attribute of that name
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

describe('conditional writes', () => {
  test('of one document', async () => {
    const { data } = await articles.create({ title: 'Conditional' });
    const read = await articles.findOne(data.documentId, { fields: ['title'] });
    assert.match(read.etag, /^"/);
    assert.deepEqual(Object.keys(read), ['data', 'meta', 'etag']);
    const changed = await articles.update(data.documentId, { rating: 5 }, {}, { ifMatch: read.etag });
    assert.deepEqual([changed.data.rating, changed.etag], [5, undefined]);
    await refused(articles.update(data.documentId, { rating: 1 }, {}, { ifMatch: read.etag }), 412, 'PreconditionFailedError');
    await refused(articles.unpublish(data.documentId, {}, { ifMatch: read.etag }), 412, 'PreconditionFailedError');
    await refused(articles.delete(data.documentId, {}, { ifMatch: read.etag }), 412, 'PreconditionFailedError');
    assert.equal((await articles.findOne(data.documentId)).data.rating, 5);
    await articles.delete(data.documentId, {}, { ifMatch: (await articles.findOne(data.documentId)).etag });
    assert.equal(await articles.count({ filters: { documentId: data.documentId } }), 0);
  });

  test('of a single type', async () => {
    const homepage = full.single('homepage');
    const made = await homepage.update({ title: 'Once' }, {}, { ifNoneMatch: '*' });
    await refused(homepage.update({ title: 'Twice' }, {}, { ifNoneMatch: '*' }), 412, 'PreconditionFailedError');
    const { etag } = await homepage.find();
    await homepage.update({ title: 'Next' }, {}, { ifMatch: etag });
    await refused(homepage.discardDraft({}, { ifMatch: etag }), 412, 'PreconditionFailedError');
    assert.equal((await homepage.find()).data.documentId, made.data.documentId);
    await homepage.delete();
  });
});

test('a write that is sent twice with a key is carried out once', async () => {
  const request = { idempotencyKey: crypto.randomUUID() };
  const first = await articles.create({ title: 'With a key' }, {}, request);
  const second = await articles.create({ title: 'With a key' }, {}, request);
  assert.equal(second.data.documentId, first.data.documentId);
  assert.equal(await articles.count({ filters: { title: 'With a key' } }), 1);
  await refused(articles.create({ title: 'Another' }, {}, request), 422, 'UnprocessableEntityError');
  const batch = { idempotencyKey: crypto.randomUUID() };
  const ids = [];
  for (let i = 0; i < 2; i++) ids.push((await full.batch([articles.batch.create({ title: 'Batch with a key' })], batch)).data[0].data.documentId);
  assert.equal(ids[0], ids[1]); // although the operations were made anew
  await full.batch([articles.batch.delete(first.data.documentId), articles.batch.delete(ids[0])]);
});

describe('batches', () => {
  const categories = full.collection('categories');

  test('of operations that refer to each other', async () => {
    const category = categories.batch.create({ name: 'batched', rank: 9 });
    const article = articles.batch.create({ title: 'Batched', categories: { connect: [category.ref] } }, { status: 'draft', fields: ['title'], populate: 'categories' });
    const homepage = full.single('homepage').batch;
    const { data, meta } = await full.batch([
      category,
      article,
      articles.batch.update(article.ref, { rating: 3 }, { status: 'draft', fields: ['rating'] }),
      articles.batch.publish(article.ref, { fields: ['title', 'rating'] }),
      homepage.update({ title: 'In a batch' }, { status: 'draft', fields: ['title'] }),
      homepage.publish({ fields: ['title'] }),
    ]);
    assert.deepEqual(data.map(({ status }) => status), [201, 201, 200, 200, 200, 200]);
    assert.deepEqual(meta, {});
    const [made, drafted, changed, published, , home] = data.map((result) => result.data);
    assert.deepEqual(drafted.categories.map(({ documentId }) => documentId), [made.documentId]);
    assert.deepEqual([changed.rating, published.rating, published.title, home.title], [3, 3, 'Batched', 'In a batch']);

    const { etag } = await articles.findOne(published.documentId);
    const rest = await full.batch([
      articles.batch.discardDraft(published.documentId, { ifMatch: etag }),
      articles.batch.unpublish(published.documentId, { fields: ['publishedAt'] }),
      articles.batch.delete(published.documentId),
      categories.batch.delete(made.documentId),
      homepage.discardDraft(),
      homepage.unpublish(),
      homepage.delete(),
    ]);
    assert.deepEqual(rest.data.map(({ status, data }) => [status, data?.publishedAt]), [
      [200, rest.data[0].data.publishedAt], [200, null], [204, undefined], [204, undefined], [200, rest.data[4].data.publishedAt], [200, null], [204, undefined],
    ]);
  });

  test('of operations that are carried out later', async () => {
    const [publishAt, unpublishAt] = [new Date('2999-01-01T09:00:00Z'), '2999-02-01T10:00:00+01:00'];
    const [first, second] = ['2999-01-01T09:00:00.000Z', '2999-02-01T09:00:00.000Z'];
    const made = (await articles.create({ title: 'Timed in a batch' }, { status: 'draft' })).data;
    const home = full.single('homepage');
    await home.update({ title: 'Home' }, { status: 'draft' });
    const planned = ({ meta }) => meta.schedules.map(({ action, at }) => [action, at]).sort();
    for (const [type, id] of [[articles, [made.documentId]], [home, []]]) {
      const { batch } = type;
      const at = new Date(publishAt);
      const later = batch.publish(...id, { publishAt: at, unpublishAt, fields: ['publishedAt'] });
      at.setFullYear(2000); // the operation keeps the time with which it was made
      assert.deepEqual([later.sent.publishAt, later.sent.unpublishAt], [first, unpublishAt]);
      const { data } = await full.batch([later]);
      assert.deepEqual([data[0].status, data[0].data.publishedAt, planned(data[0])], [202, null, [['publish', first], ['unpublish', second]]]);
      const all = await full.schedules.find({ filters: { document: data[0].data.documentId }, sort: 'id' });
      assert.deepEqual(data[0].meta.schedules.sort((a, b) => a.id - b.id), all.data);
      for (const { documentId } of all.data) await full.schedules.cancel(documentId);
      const [until, ends, ended, now] = (await full.batch([
        batch.publish(...id, { unpublishAt }), batch.unpublish(...id, { unpublishAt: publishAt, locale: 'en' }), batch.unpublish(...id), batch.publish(...id),
      ])).data;
      assert.deepEqual([until.status, typeof until.data.publishedAt, planned(until)], [200, 'string', [['unpublish', second]]]);
      assert.deepEqual([ends.status, ends.data.publishedAt, planned(ends)], [202, null, [['unpublish', first]]]);
      for (const result of [ended, now]) assert.deepEqual(Object.keys(result), ['status', 'data']);

      // What is no time never publishes or unpublishes at once.
      await type.unpublish(...id);
      assert.throws(() => batch.publish(...id, { publishAt: new Date('soon') }), RangeError);
      assert.throws(() => batch.unpublish(...id, { unpublishAt: new Date('soon') }), RangeError);
      assert.throws(() => batch.publish(...id, { publishAt: null }), TypeError);
      for (const wrong of ['', '2999-01-01', '2000-01-01T09:00:00Z']) {
        await refused(full.batch([batch.publish(...id, { publishAt: wrong })]), 400, 'ValidationError');
      }
      await refused(full.batch([batch.unpublish(...id, { publishAt })]), 400, 'ValidationError');
      await refused(type[id.length ? 'findOne' : 'find'](...id), 404, 'NotFoundError');
      await type.delete(...id);
    }

    const article = articles.batch.create({ title: 'Made and planned' }, { status: 'draft' });
    const [, { data, meta }] = (await full.batch([article, articles.batch.publish(article.ref, { publishAt })])).data;
    assert.deepEqual([data.publishedAt, meta.schedules.map(({ document }) => document)], [null, [data.documentId]]);
    await articles.delete(data.documentId);
  });

  test('of operations that fail', async () => {
    const good = categories.batch.create({ name: 'good' });
    const bad = articles.batch.update('nobody', { title: 'x' });
    await assert.rejects(full.batch([good, bad]), (error) => {
      assert.deepEqual([error.name, error.status, error.details.operation], ['NotFoundError', 404, 1]);
      return true;
    });
    assert.equal(await categories.count({ filters: { name: 'good' } }), 0);
    const { data, meta } = await full.batch([good, bad], { atomic: false });
    assert.deepEqual([data[0].data.name, data[0].error, data[1].data, data[1].status, data[1].error.name, meta.failed], ['good', undefined, undefined, 404, 'NotFoundError', 1]);
    await categories.delete(data[0].data.documentId);
    const lost = articles.batch.create({ title: 'x', categories: good.ref }); // no operation of this batch
    await assert.rejects(full.batch([lost]), (error) => error.status === 400 && /a document of another batch/.test(error.message));
  });
});

test('histories', async () => {
  const { data } = await articles.create({ title: 'First' }, { status: 'draft' });
  await articles.update(data.documentId, { title: 'Second', rating: 2 }, { status: 'draft' });
  const history = await articles.history(data.documentId, { status: 'draft', locale: 'en', pagination: { pageSize: 10 } });
  assert.deepEqual(history.data.map(({ action, changed, by }) => [action, changed, by.kind]), [['update', ['title', 'rating'], 'token'], ['create', history.data[1].changed, 'token']]);
  assert.equal(history.meta.pagination.total, 2);
  const { seq } = history.data[1];
  const then = await articles.findOne(data.documentId, { asOf: seq, status: 'draft', fields: ['title'] });
  assert.deepEqual([then.data.title, then.etag], ['First', undefined]);
  await articles.delete(data.documentId);
  const back = await articles.restore(data.documentId, { seq }, { fields: ['title'] }, { idempotencyKey: crypto.randomUUID() });
  assert.deepEqual([back.data.title, back.data.documentId], ['First', data.documentId]);
  await articles.delete(data.documentId);

  const homepage = full.single('homepage');
  await homepage.update({ title: 'Old' }, { status: 'draft' });
  await homepage.update({ title: 'New' }, { status: 'draft' });
  const [, old] = (await homepage.history({ pagination: { limit: 2 } })).data;
  assert.equal((await homepage.restore({ seq: old.seq })).data.title, 'Old');
  await homepage.delete();
});

describe('streams', () => {
  const comments = full.collection('comments');
  const all = async (stream) => {
    const list = [];
    for await (const document of stream) list.push(document);
    return list;
  };

  test('have every document that matches', async () => {
    const made = [];
    for (let i = 0; i < 3; i++) made.push(comments.batch.create({ text: `streamed ${i} ${'ü'.repeat(40_000)}` }));
    for (let i = 3; i < 150; i++) made.push(comments.batch.create({ text: `streamed ${i}` }));
    const { data } = await full.batch(made);
    const wanted = { fields: ['text'], sort: 'id:desc', filters: { text: { $startsWith: 'streamed' } } };
    const found = await all(comments.stream(wanted));
    assert.equal(found.length, 150);
    assert.deepEqual(found.map(({ documentId }) => documentId), data.map((result) => result.data.documentId).reverse());
    assert.deepEqual(Object.keys(found[0]), ['id', 'documentId', 'text']);
    assert.equal(found.at(-1).text, `streamed 0 ${'ü'.repeat(40_000)}`);
    assert.equal((await all(comments.stream({ ...wanted, pagination: { start: 100, limit: 20 } }))).length, 20);
    for await (const first of comments.stream(wanted)) {
      assert.equal(first.text, 'streamed 149');
      break;
    }
    await full.batch(data.map((result) => comments.batch.delete(result.data.documentId)));
    assert.deepEqual(await all(comments.stream(wanted)), []);
  });

  test('that are refused or break off', async () => {
    await refused(all(visitor.collection('articles').stream()), 403, 'ForbiddenError');
    await refused(all(comments.stream({ filters: { nope: 1 } })), 400, 'ValidationError');
    const answers = (text) => new Client({ url: base, fetch: async () => new Response(text) }).collection('comments').stream();
    const broken = answers('{"id":1,"documentId":"a","error":"of a document"}\n{"error":{"status":503,"name":"ServiceUnavailableError","message":"too long"}}\n');
    assert.equal((await broken.next()).value.error, 'of a document');
    await assert.rejects(broken.next(), { name: 'ServiceUnavailableError', status: 503 });
    await assert.rejects(all(answers('{"id":1,"documentId":"a"}\n{"id":')), /ended within a line/);
  });
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
