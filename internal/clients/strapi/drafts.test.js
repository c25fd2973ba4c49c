import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchJSON, holder, visitor } from './client.js';

const full = holder('full');
const articles = full.collection('articles');

/** Returns the titles of the draft and of the published version of a document; null for a version that does not exist. */
const shown = async (id, client = full) => {
  const titles = await Promise.all(['draft', 'published'].map((status) =>
    client.collection('articles').findOne(id, { status }).then(({ data }) => data.title, () => null)));
  return { draft: titles[0], published: titles[1] };
};

test('a draft is published later', async () => {
  const { data: made } = await articles.create({ title: 'First draft' }, { status: 'draft' });
  assert.equal(made.publishedAt, null);
  assert.deepEqual(await shown(made.documentId), { draft: 'First draft', published: null });
  assert.deepEqual((await articles.find({ filters: { title: 'First draft' } })).data, []);
  assert.equal((await articles.find({ status: 'draft', filters: { title: 'First draft' } })).data.length, 1);

  const { data: published } = await articles.update(made.documentId, { title: 'Published' });
  assert.notEqual(published.publishedAt, null);
  assert.deepEqual(await shown(made.documentId), { draft: 'Published', published: 'Published' });

  await articles.update(made.documentId, { title: 'Second draft' }, { status: 'draft' });
  assert.deepEqual(await shown(made.documentId), { draft: 'Second draft', published: 'Published' });

  await articles.delete(made.documentId);
  assert.deepEqual(await shown(made.documentId), { draft: null, published: null });
});

test('related drafts and what is published of them', async () => {
  const categories = full.collection('categories');
  const { data: category } = await categories.create({ name: 'Related' });
  await articles.create({ title: 'Out', categories: category.documentId });
  await articles.create({ title: 'Not yet', categories: category.documentId }, { status: 'draft' });
  const titles = async (status) => {
    const { data } = await articles.find({ status, filters: { categories: { name: 'Related' } }, sort: 'title' });
    return data.map((article) => article.title);
  };
  assert.deepEqual(await titles('published'), ['Out']);
  assert.deepEqual(await titles('draft'), ['Not yet', 'Out']);
});

test('publish, discard the draft and unpublish', async () => {
  const { data } = await articles.create({ title: 'Written' }, { status: 'draft' });
  const id = data.documentId;
  const act = (action) => fetchJSON(full, `/articles/${id}/actions/${action}`, 'POST');

  assert.equal((await act('publish')).data.title, 'Written');
  assert.deepEqual(await shown(id, visitor()), { draft: 'Written', published: 'Written' });
  await articles.update(id, { title: 'Rewritten' }, { status: 'draft' });
  await act('discard-draft');
  assert.deepEqual(await shown(id), { draft: 'Written', published: 'Written' });
  await act('unpublish');
  assert.deepEqual(await shown(id), { draft: 'Written', published: null });
});
