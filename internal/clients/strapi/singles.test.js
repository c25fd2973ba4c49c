import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holder, visitor } from './client.js';

const full = holder('full');
const homepage = full.single('homepage');

test('a single type from its making to its end', async () => {
  await assert.rejects(homepage.find(), { name: 'HTTPNotFoundError' });

  const { data: made, meta } = await homepage.update({ title: 'Welcome', seo: { metaTitle: 'Home' } }, { populate: 'seo' });
  assert.deepEqual([made.title, made.locale, made.seo.metaTitle, meta], ['Welcome', 'en', 'Home', {}]);
  const { data: changed } = await homepage.update({ title: 'Welcome back' });
  assert.equal(changed.documentId, made.documentId);
  const { data: found } = await homepage.find({ fields: ['title'], populate: { seo: { fields: ['metaTitle'] } } });
  assert.deepEqual([found.documentId, found.title, found.seo.metaTitle], [made.documentId, 'Welcome back', 'Home']);
  assert.equal('createdAt' in found, false);

  assert.equal(await homepage.delete(), undefined);
  await assert.rejects(homepage.find(), { name: 'HTTPNotFoundError' });
});

test('its languages, drafts and relations', async () => {
  const { data: article } = await full.collection('articles').create({ title: 'Featured' });
  await homepage.update({ title: 'Welcome', featured: [article.documentId] });
  await homepage.update({ title: 'Bienvenue' }, { locale: 'fr' });
  await homepage.update({ title: 'Welcome, soon' }, { status: 'draft' });

  const title = async (query) => (await homepage.find(query)).data.title;
  assert.equal(await title(), 'Welcome');
  assert.equal(await title({ locale: 'fr' }), 'Bienvenue');
  assert.equal(await title({ status: 'draft' }), 'Welcome, soon');

  const { data } = await homepage.find({ populate: { featured: { fields: ['title'] }, localizations: { fields: ['title'] } } });
  assert.deepEqual(data.featured.map((a) => a.title), ['Featured']);
  assert.deepEqual(data.localizations.map((l) => l.title), ['Bienvenue']);

  await homepage.delete({ locale: 'fr' });
  await assert.rejects(homepage.find({ locale: 'fr' }), { name: 'HTTPNotFoundError' });
  assert.equal(await title(), 'Welcome');
});

test('what the public may not read', async () => {
  await assert.rejects(visitor().single('homepage').find(), { name: 'HTTPForbiddenError' });
});
