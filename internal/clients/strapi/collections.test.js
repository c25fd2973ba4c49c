import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { holder, visitor } from './client.js';

const full = holder('full');
const articles = full.collection('articles');
const categories = full.collection('categories');

const titles = (answer) => answer.data.map((article) => article.title);

describe('reading', () => {
  const ids = {};

  before(async () => {
    for (const [name, rank] of [['Garden', 2], ['Kitchen', 1]]) {
      ids[name] = (await categories.create({ name, rank })).data.documentId;
    }
    const rows = [
      { title: 'Apples', rating: 5, day: '2024-09-01', format: 'recipe', categories: [ids.Kitchen, ids.Garden] },
      { title: 'Bread', rating: 3, day: '2024-01-15', format: 'recipe', categories: [ids.Kitchen] },
      { title: 'Compost & worms', rating: 4, day: '2023-05-02', format: 'essay', categories: [ids.Garden] },
      { title: 'Dill', rating: 3, featured: true, categories: [] },
    ];
    for (const row of rows) {
      ids[row.title] = (await articles.create(row)).data.documentId;
    }
  });

  test('find: the page and its pagination', async () => {
    const answer = await articles.find();
    assert.deepEqual(titles(answer), ['Apples', 'Bread', 'Compost & worms', 'Dill']);
    assert.deepEqual(answer.meta, { pagination: { page: 1, pageSize: 25, pageCount: 1, total: 4 } });
    const { id, createdAt, updatedAt, publishedAt, ...apples } = answer.data[0];
    assert.equal(typeof id, 'number');
    for (const time of [createdAt, updatedAt, publishedAt]) {
      assert.equal(new Date(time).toISOString(), time);
    }
    assert.deepEqual(apples, {
      documentId: ids.Apples,
      title: 'Apples',
      slug: null,
      body: null,
      rating: 5,
      featured: false,
      day: '2024-09-01',
      format: 'recipe',
      extra: null,
      locale: 'en',
    });
  });

  const questions = [
    ['one value', { filters: { title: 'Bread' } }, ['Bread']],
    ['a value with &', { filters: { title: { $eq: 'Compost & worms' } } }, ['Compost & worms']],
    ['$in', { filters: { title: { $in: ['Apples', 'Dill'] } } }, ['Apples', 'Dill']],
    ['$gte and $lt', { filters: { rating: { $gte: 3, $lt: 5 } } }, ['Bread', 'Compost & worms', 'Dill']],
    ['$containsi', { filters: { title: { $containsi: 'B' } } }, ['Bread']],
    ['a boolean', { filters: { featured: true } }, ['Dill']],
    ['null', { filters: { day: { $null: true } } }, ['Dill']],
    ['a Date', { filters: { createdAt: { $lt: new Date(0) } } }, []],
    ['a date', { filters: { day: { $gt: '2024-01-01' } } }, ['Apples', 'Bread']],
    ['$or', { filters: { $or: [{ rating: 5 }, { format: 'essay' }] } }, ['Apples', 'Compost & worms']],
    ['$and and $not', { filters: { $and: [{ rating: 3 }, { title: { $not: { $eq: 'Dill' } } }] } }, ['Bread']],
    ['through a relation', { filters: { categories: { name: 'Garden' } } }, ['Apples', 'Compost & worms']],
    ['_q', { _q: 'worm' }, ['Compost & worms']],
    ['sort', { sort: 'title:desc' }, ['Dill', 'Compost & worms', 'Bread', 'Apples']],
    ['sort by two', { sort: ['rating:asc', 'title:desc'] }, ['Dill', 'Bread', 'Compost & worms', 'Apples']],
  ];
  for (const [name, query, want] of questions) {
    test(`find: ${name}`, async () => {
      assert.deepEqual(titles(await articles.find(query)), want);
    });
  }

  test('find: fields', async () => {
    const { data } = await articles.find({ fields: ['title', 'rating'], filters: { title: 'Bread' } });
    assert.deepEqual(data.map(({ id, ...rest }) => rest), [{ documentId: ids.Bread, title: 'Bread', rating: 3 }]);
  });

  test('find: pages', async () => {
    const second = await articles.find({ pagination: { page: 2, pageSize: 3 } });
    assert.deepEqual(titles(second), ['Dill']);
    assert.deepEqual(second.meta.pagination, { page: 2, pageSize: 3, pageCount: 2, total: 4 });
    const uncounted = await articles.find({ pagination: { start: 1, limit: 2, withCount: false } });
    assert.deepEqual(titles(uncounted), ['Bread', 'Compost & worms']);
    assert.deepEqual(uncounted.meta.pagination, { start: 1, limit: 2 });
  });

  test('find: populate', async () => {
    const byName = await articles.find({ populate: 'categories', filters: { title: 'Apples' } });
    assert.deepEqual(byName.data[0].categories.map((c) => c.name), ['Kitchen', 'Garden']);
    const nested = await categories.find({
      fields: ['name'],
      filters: { name: 'Kitchen' },
      populate: { articles: { fields: ['title'], sort: 'title:desc', populate: { categories: { fields: ['name'] } } } },
    });
    assert.deepEqual(nested.data[0].articles.map((a) => [a.title, a.categories.map((c) => c.name)]), [
      ['Bread', ['Kitchen']],
      ['Apples', ['Kitchen', 'Garden']],
    ]);
    const all = await articles.find({ populate: '*', filters: { title: 'Dill' } });
    const { categories: none, cover, gallery, seo, sections, localizations } = all.data[0];
    assert.deepEqual({ none, cover, gallery, seo, sections, localizations },
      { none: [], cover: null, gallery: [], seo: null, sections: [], localizations: [] });
  });

  test('find: where there are more parameters than one', async () => {
    const answer = await articles.find({
      filters: { categories: { rank: { $lte: 2 } }, rating: { $gt: 3 } },
      sort: ['rating:asc'],
      fields: ['title'],
      populate: ['categories'],
      pagination: { pageSize: 1 },
    });
    assert.deepEqual(titles(answer), ['Compost & worms']);
    assert.deepEqual(answer.data[0].categories.map((c) => c.name), ['Garden']);
    assert.equal(answer.meta.pagination.total, 2);
  });

  test('find: empty lists', async () => {
    assert.equal((await articles.find({ sort: [] })).data.length, 4);
    assert.deepEqual((await articles.find({ filters: { title: { $in: [] } } })).data, []);
    assert.deepEqual(Object.keys((await articles.find({ fields: [] })).data[0]), ['id', 'documentId']);
  });

  test('findOne', async () => {
    const { data, meta } = await articles.findOne(ids.Bread, { fields: ['title'], populate: { categories: { fields: ['name'] } } });
    assert.deepEqual(meta, {});
    assert.deepEqual([data.documentId, data.title, data.categories.map((c) => c.name)], [ids.Bread, 'Bread', ['Kitchen']]);
  });

  test('the public sees what it was granted', async () => {
    const { data } = await visitor().collection('articles').find({ filters: { title: 'Bread' }, populate: '*' });
    assert.equal(data[0].title, 'Bread');
    assert.equal('categories' in data[0], false);
  });

  test('a collection by its path', async () => {
    const { data } = await full.collection('anything', { path: '/categories' }).find({ sort: 'rank' });
    assert.deepEqual(data.map((c) => c.name), ['Kitchen', 'Garden']);
  });
});

describe('writing', () => {
  test('create, update and delete', async () => {
    const { data: made } = await articles.create({ title: 'Fennel', body: '# Fennel', rating: 2, extra: { a: [1, { b: null }] } });
    assert.equal(made.title, 'Fennel');
    assert.deepEqual(made.extra, { a: [1, { b: null }] });

    const { data: changed } = await articles.update(made.documentId, { rating: 4, body: null }, { fields: ['title', 'rating', 'body'] });
    assert.deepEqual([changed.documentId, changed.title, changed.rating, changed.body], [made.documentId, 'Fennel', 4, null]);

    assert.equal(await articles.delete(made.documentId), undefined);
    assert.deepEqual((await articles.find({ filters: { documentId: made.documentId } })).data, []);
  });

  test('relations', async () => {
    const [one, two, three] = await Promise.all(['One', 'Two', 'Three'].map(async (name) => (await categories.create({ name })).data.documentId));
    const names = ({ data }) => data.categories.map((c) => c.name);
    const populate = { categories: { fields: ['name'] } };

    const made = await articles.create({ title: 'Related', categories: [one, two] }, { populate });
    assert.deepEqual(names(made), ['One', 'Two']);
    const id = made.data.documentId;
    const connected = await articles.update(id, { categories: { connect: [{ documentId: three, position: { before: two } }] } }, { populate });
    assert.deepEqual(names(connected), ['One', 'Three', 'Two']);
    const disconnected = await articles.update(id, { categories: { disconnect: [one] } }, { populate });
    assert.deepEqual(names(disconnected), ['Three', 'Two']);
    assert.deepEqual(names(await articles.update(id, { categories: { set: [] } }, { populate })), []);
  });

  test('components and dynamic zones', async () => {
    const { data: made } = await articles.create({
      title: 'Composed',
      seo: { metaTitle: 'Composed', metaDescription: 'of parts' },
      sections: [
        { __component: 'shared.quote', text: 'To be', source: 'Hamlet' },
        { __component: 'shared.picture', caption: 'A skull' },
      ],
    }, { populate: ['seo', 'sections'] });
    const withoutIds = (part) => part && Object.fromEntries(Object.entries(part).filter(([key]) => key !== 'id'));
    assert.deepEqual(withoutIds(made.seo), { metaTitle: 'Composed', metaDescription: 'of parts' });
    assert.deepEqual(made.sections.map(withoutIds), [
      { __component: 'shared.quote', text: 'To be', source: 'Hamlet' },
      { __component: 'shared.picture', caption: 'A skull' },
    ]);
    const { data: changed } = await articles.update(made.documentId, {
      seo: null,
      sections: [{ __component: 'shared.picture', caption: 'A skull' }],
    }, { populate: '*' });
    assert.equal(changed.seo, null);
    assert.deepEqual(changed.sections.map((s) => s.caption), ['A skull']);
    const found = await articles.find({ filters: { seo: { metaTitle: 'Composed' } } });
    assert.deepEqual(found.data, []);
  });

  test('texts of any script', async () => {
    const title = '“Ünïcode” – 日本語 – 👩‍🍳 + 100 % & more';
    const { data } = await articles.create({ title });
    assert.equal(data.title, title);
    assert.equal((await articles.find({ filters: { title } })).data[0].documentId, data.documentId);
  });

  test('many at once', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => categories.create({ name: `At once ${i}` })));
    assert.equal(new Set(made.map(({ data }) => data.id)).size, 20);
    const { meta } = await categories.find({ filters: { name: { $startsWith: 'At once' } }, pagination: { pageSize: 5 } });
    assert.deepEqual(meta.pagination, { page: 1, pageSize: 5, pageCount: 4, total: 20 });
  });
});
