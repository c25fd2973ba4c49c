import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gql } from '@apollo/client';
import { strapi } from '@strapi/client';
import { apollo, base, errorsOf, tokens } from './client.js';

const create = gql`mutation Create($data: ArticleInput!, $status: PublicationStatus, $locale: I18NLocaleCode) {
  article: createArticle(data: $data, status: $status, locale: $locale) { documentId title rating publishedAt locale }
}`;
const update = gql`mutation Update($id: ID!, $data: ArticleInput!, $status: PublicationStatus = PUBLISHED) {
  article: updateArticle(documentId: $id, data: $data, status: $status) { documentId title rating publishedAt }
}`;
const remove = gql`mutation Remove($id: ID!) { deleteArticle(documentId: $id) { documentId } }`;
const one = gql`query One($id: ID!, $status: PublicationStatus = PUBLISHED) {
  article(documentId: $id, status: $status) { documentId title rating }
}`;

test('a query in the cache follows the mutations of its document', async () => {
  const client = apollo({ token: 'full' });
  const { data: { article: { documentId: id } } } = await client.mutate({ mutation: create, variables: { data: { title: 'Made', rating: 1 }, status: 'PUBLISHED' } });
  assert.equal((await client.query({ query: one, variables: { id } })).data.article.rating, 1);

  await client.mutate({ mutation: update, variables: { id, data: { rating: 2 } } });
  assert.equal((await client.query({ query: one, variables: { id }, fetchPolicy: 'cache-only' })).data.article.rating, 2);

  const { data } = await client.mutate({ mutation: remove, variables: { id } });
  assert.equal(data.deleteArticle.documentId, id);
  assert.equal((await client.query({ query: one, variables: { id }, fetchPolicy: 'network-only' })).data.article, null);
});

test('queries asked again after a mutation', async () => {
  const client = apollo({ token: 'full' });
  const all = gql`query All { articles(filters: { title: { startsWith: "Again" } }) { documentId title } }`;
  assert.deepEqual((await client.query({ query: all })).data.articles, []);
  const watched = client.watchQuery({ query: all });
  const read = watched.subscribe({});
  await client.mutate({
    mutation: create, variables: { data: { title: 'Again' }, status: 'PUBLISHED' }, refetchQueries: [all], awaitRefetchQueries: true,
  });
  assert.deepEqual(watched.getCurrentResult().data.articles.map((a) => a.title), ['Again']);
  read.unsubscribe();
});

test('drafts', async () => {
  const client = apollo({ token: 'full' });
  const title = async (id, status) => (await client.query({ query: one, variables: { id, status }, fetchPolicy: 'no-cache' })).data.article?.title;

  const { data: { article } } = await client.mutate({ mutation: create, variables: { data: { title: 'Draft' }, status: 'DRAFT', locale: 'en' } });
  assert.deepEqual([article.publishedAt, article.locale], [null, 'en']);
  const id = article.documentId;
  assert.deepEqual([await title(id, 'DRAFT'), await title(id)], ['Draft', undefined]);
  const { data } = await client.mutate({ mutation: update, variables: { id, data: { title: 'Published' } } });
  assert.notEqual(data.article.publishedAt, null);
  assert.deepEqual([await title(id, 'DRAFT'), await title(id)], ['Published', 'Published']);
});

test('a single type', async () => {
  const client = apollo({ token: 'full' });
  const { data } = await client.mutate({
    mutation: gql`mutation { updateHomepage(data: { title: "Home", seo: { metaTitle: "Home" } }) { title seo { metaTitle } } }`,
  });
  assert.deepEqual([data.updateHomepage.title, data.updateHomepage.seo.metaTitle], ['Home', 'Home']);
  await client.mutate({ mutation: gql`mutation { deleteHomepage { documentId } }` });
  assert.equal((await client.query({ query: gql`{ homepage { title } }` })).data.homepage, null);
});

test('the info of a file', async () => {
  const client = apollo({ token: 'full' });
  const { files } = strapi({ baseURL: `${base}/api`, auth: tokens.full });
  const [{ id }] = await files.upload(new Blob(['a text'], { type: 'text/plain' }), { fileInfo: { name: 'text.txt' } });
  const { data } = await client.mutate({
    mutation: gql`mutation Caption($id: ID!) { updateUploadFile(id: $id, info: { caption: "Words" }) { name caption } }`, variables: { id },
  });
  assert.deepEqual([data.updateUploadFile.name, data.updateUploadFile.caption], ['text.txt', 'Words']);
  await client.mutate({ mutation: gql`mutation Delete($id: ID!) { deleteUploadFile(id: $id) { name } }`, variables: { id } });
  assert.deepEqual((await client.query({ query: gql`{ uploadFiles { name } }` })).data.uploadFiles, []);
});

test('a user registers, logs in and asks', async () => {
  const visitor = apollo();
  const input = { username: 'ada', email: 'ada@example.org', password: 'correct horse' };
  await visitor.mutate({
    mutation: gql`mutation Register($input: UsersPermissionsRegisterInput!) { register(input: $input) { user { username } } }`, variables: { input },
  });
  const { data: { login } } = await visitor.mutate({
    mutation: gql`mutation LogIn($input: UsersPermissionsLoginInput!) { login(input: $input) { jwt user { username } } }`,
    variables: { input: { identifier: 'ada', password: 'correct horse' } },
  });
  assert.equal(login.user.username, 'ada');
  const ada = apollo({ headers: { authorization: `Bearer ${login.jwt}` } });
  const { data } = await ada.query({ query: gql`{ me { username email role { type } } }` });
  assert.deepEqual([data.me.username, data.me.email, data.me.role.type], ['ada', 'ada@example.org', 'authenticated']);

  const comment = gql`mutation { createComment(data: { text: "Well said" }) { text } }`;
  assert.equal((await ada.mutate({ mutation: comment })).data.createComment.text, 'Well said');
  assert.deepEqual(await errorsOf(visitor.mutate({ mutation: comment })), [['Forbidden access', 'FORBIDDEN']]);
});
