import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fetchJSON, holder, user, visitor } from './client.js';

const full = holder('full');
const password = 'correct horse';

/** Registers a user without credentials. */
const register = (username) =>
  fetchJSON(visitor(), '/auth/local/register', 'POST', { username, email: `${username}@example.org`, password });

describe('a person', () => {
  test('registers, logs in and writes', async () => {
    const registered = await register('ada');
    assert.equal(registered.jwt.split('.').length, 3);
    assert.deepEqual([registered.user.username, registered.user.email, registered.user.confirmed, registered.user.blocked],
      ['ada', 'ada@example.org', true, false]);
    assert.equal('password' in registered.user, false);

    const ada = user('ada', password);
    assert.equal((await fetchJSON(ada, '/users/me')).username, 'ada');
    const { data } = await ada.collection('comments').create({ text: 'Well said' });
    assert.equal(data.text, 'Well said');
    await assert.rejects(ada.collection('comments').delete(data.documentId), { name: 'HTTPForbiddenError' });

    const byMail = user('ADA@example.org', password);
    assert.equal((await fetchJSON(byMail, '/users/me')).id, registered.user.id);
  });

  test('is logged in anew after a 401', async () => {
    const { user: { id } } = await register('ben');
    const ben = user('ben', password);
    assert.equal((await fetchJSON(ben, '/users/me')).username, 'ben');
    await full.collection('users').update(id, { blocked: true });
    await assert.rejects(fetchJSON(ben, '/users/me'), { name: 'HTTPAuthorizationError' });
    await full.collection('users').update(id, { blocked: false });
    assert.equal((await fetchJSON(ben, '/users/me')).username, 'ben');
  });
});

test('users by token', async () => {
  const users = full.collection('users');
  const { roles } = await full.collection('roles', { plugin: { name: 'users-permissions' } }).find();
  const { id: role } = roles.find(({ type }) => type === 'authenticated');

  const made = await users.create({ username: 'cleo', email: 'cleo@example.org', password, role });
  assert.deepEqual([made.username, made.role.type, 'password' in made], ['cleo', 'authenticated', false]);
  const changed = await users.update(made.id, { username: 'cleopatra' });
  assert.equal(changed.username, 'cleopatra');
  const found = await users.find({ filters: { username: { $startsWith: 'cleo' } }, fields: ['username'], populate: 'role' });
  assert.deepEqual(found.map(({ id, username, role: { type } }) => [id, username, type]), [[made.id, 'cleopatra', 'authenticated']]);
  assert.equal((await users.findOne(made.id, { populate: 'role' })).role.type, 'authenticated');
  const { data } = await full.collection('comments').create({ text: 'Seen', author: made.id }, { populate: 'author' });
  assert.deepEqual([data.author.username, 'password' in data.author], ['cleopatra', false]);
  assert.equal(await users.delete(made.id), undefined);
  assert.deepEqual(await users.find({ filters: { username: 'cleopatra' } }), []);
});

describe('API tokens', () => {
  test('read-only', async () => {
    const readonly = holder('readonly');
    assert.deepEqual((await readonly.collection('categories').find()).data, []);
    await assert.rejects(readonly.collection('categories').create({ name: 'x' }), { name: 'HTTPForbiddenError' });
  });

  test('custom', async () => {
    const articles = holder('editor').collection('articles');
    const { data } = await articles.create({ title: 'Edited' });
    assert.equal((await articles.update(data.documentId, { title: 'Edited again' })).data.title, 'Edited again');
    await assert.rejects(articles.delete(data.documentId), { name: 'HTTPForbiddenError' });
    await assert.rejects(holder('editor').collection('categories').find(), { name: 'HTTPForbiddenError' });
  });
});
