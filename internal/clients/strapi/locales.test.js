import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holder } from './client.js';

const full = holder('full');
const articles = full.collection('articles');

test('the locales', async () => {
  const locales = await full.collection('locales', { plugin: { name: 'i18n' } }).find();
  assert.deepEqual(locales.map(({ code, isDefault }) => [code, isDefault]), [['en', true], ['fr', false]]);
});

test('an article in two languages', async () => {
  const { data: english } = await articles.create({ title: 'Cheese', rating: 4 });
  const id = english.documentId;
  const { data: french } = await articles.update(id, { title: 'Fromage' }, { locale: 'fr' });
  assert.deepEqual([french.documentId, french.locale, french.title, french.rating], [id, 'fr', 'Fromage', 4]);

  const titleIn = async (locale) => (await articles.findOne(id, { locale })).data.title;
  assert.equal(await titleIn('en'), 'Cheese');
  assert.equal(await titleIn(undefined), 'Cheese');
  assert.equal(await titleIn('fr'), 'Fromage');

  const { data } = await articles.find({ locale: 'fr', filters: { title: 'Fromage' }, populate: { localizations: { fields: ['title', 'locale'] } } });
  assert.deepEqual(data[0].localizations.map(({ locale, title }) => [locale, title]), [['en', 'Cheese']]);
  assert.deepEqual((await articles.find({ filters: { title: 'Fromage' } })).data, []);
  const every = await articles.find({ locale: '*', filters: { documentId: id }, sort: 'locale' });
  assert.deepEqual(every.data.map(({ title }) => title), ['Cheese', 'Fromage']);

  await articles.update(id, { rating: 5 });
  assert.equal((await articles.findOne(id, { locale: 'fr' })).data.rating, 5);

  await articles.delete(id, { locale: 'fr' });
  await assert.rejects(titleIn('fr'), { name: 'HTTPNotFoundError' });
  assert.equal(await titleIn('en'), 'Cheese');
});

test('an article in French only', async () => {
  const { data } = await articles.create({ title: 'Baguette' }, { locale: 'fr', status: 'draft' });
  assert.equal(data.locale, 'fr');
  const found = await articles.find({ locale: 'fr', status: 'draft', filters: { title: { $eqi: 'BAGUETTE' } } });
  assert.equal(found.data[0].documentId, data.documentId);
  await assert.rejects(articles.findOne(data.documentId, { status: 'draft' }), { name: 'HTTPNotFoundError' });
});
