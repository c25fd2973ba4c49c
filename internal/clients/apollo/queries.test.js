import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { gql } from '@apollo/client';
import { apollo } from './client.js';

const ids = {};

before(async () => {
  const client = apollo({ token: 'full' });
  const make = async (type, data) => {
    const mutation = gql`mutation Make($data: ${type}Input!) { made: create${type}(data: $data) { documentId } }`;
    return (await client.mutate({ mutation, variables: { data } })).data.made.documentId;
  };
  for (const name of ['Garden', 'Kitchen']) ids[name] = await make('Category', { name });
  const articles = [
    { title: 'Apples', rating: 5, day: '2024-09-01', format: 'recipe', categories: [ids.Kitchen, ids.Garden], extra: { a: [1] } },
    { title: 'Bread', rating: 3, format: 'recipe', categories: [ids.Kitchen], seo: { metaTitle: 'How to bake' } },
    { title: 'Compost', rating: 4, format: 'essay', categories: [ids.Garden], sections: [
      { __typename: 'ComponentSharedQuote', text: 'All is compost', source: 'A worm' },
      { __typename: 'ComponentSharedPicture', caption: 'A heap' },
    ] },
  ];
  for (const article of articles) ids[article.title] = await make('Article', article);
  await client.mutate({
    mutation: gql`mutation Translate($id: ID!) {
      updateArticle(documentId: $id, locale: "fr", data: { title: "Pommes" }) { locale }
      updateHomepage(data: { title: "Welcome" }) { documentId }
    }`,
    variables: { id: ids.Apples },
  });
});

test('a list by variables', async () => {
  const { data } = await apollo().query({
    query: gql`
      query Rated($atLeast: Int, $sort: [String], $page: PaginationArg = {}) {
        articles(filters: { rating: { gte: $atLeast } }, sort: $sort, pagination: $page) { documentId title rating day format extra }
      }`,
    variables: { atLeast: 4, sort: ['rating:desc'], page: { limit: 1 } },
  });
  assert.deepEqual(data.articles, [{
    __typename: 'Article', documentId: ids.Apples, title: 'Apples', rating: 5, day: '2024-09-01', format: 'recipe', extra: { a: [1] },
  }]);
});

test('variables that are null or left out', async () => {
  const query = gql`query Titles($filters: ArticleFiltersInput, $locale: I18NLocaleCode) {
    articles(filters: $filters, locale: $locale, sort: "title") { title }
  }`;
  for (const variables of [undefined, {}, { filters: null, locale: null }, { filters: undefined }]) {
    const { data } = await apollo().query({ query, variables });
    assert.deepEqual(data.articles.map((a) => a.title), ['Apples', 'Bread', 'Compost']);
  }
});

test('a connection, with relations and fragments', async () => {
  const { data } = await apollo({ token: 'full' }).query({
    query: gql`
      query Page($name: String!) {
        found: articles_connection(filters: { categories: { name: { eq: $name } } }, pagination: { page: 1, pageSize: 1 }) {
          nodes { ...Linked }
          pageInfo { page pageSize pageCount total }
        }
      }
      fragment Linked on Article { title categories(sort: "name") { ...Named } }
      fragment Named on Category { name articles_connection(sort: "title:desc") { nodes { title } } }`,
    variables: { name: 'Kitchen' },
  });
  const { nodes: [article], pageInfo: { __typename, ...counts } } = data.found;
  assert.deepEqual(counts, { page: 1, pageSize: 1, pageCount: 2, total: 2 });
  assert.equal(article.title, 'Apples');
  assert.deepEqual(article.categories.map((c) => [c.name, c.articles_connection.nodes.map((n) => n.title)]),
    [['Garden', ['Compost', 'Apples']], ['Kitchen', ['Bread', 'Apples']]]);
});

test('components and the members of a dynamic zone', async () => {
  const { data } = await apollo().query({
    query: gql`
      query Parts($bread: ID!, $compost: ID!) {
        bread: article(documentId: $bread) { title seo { id metaTitle } }
        compost: article(documentId: $compost) {
          title
          sections {
            ... on ComponentSharedQuote { id text source }
            ... on ComponentSharedPicture { id caption file { url } }
          }
        }
      }`,
    variables: { bread: ids.Bread, compost: ids.Compost },
  });
  assert.equal(data.bread.seo.metaTitle, 'How to bake');
  assert.deepEqual(data.compost.sections.map(({ id, ...rest }) => rest), [
    { __typename: 'ComponentSharedQuote', text: 'All is compost', source: 'A worm' },
    { __typename: 'ComponentSharedPicture', caption: 'A heap', file: null },
  ]);
});

test('possible types by introspection', async () => {
  const { data } = await apollo().query({ query: gql`{ __schema { types { kind name possibleTypes { name } } } }` });
  const zone = data.__schema.types.find(({ name }) => name === 'ArticleSectionsDynamicZone');
  assert.deepEqual([zone.kind, zone.possibleTypes.map(({ name }) => name).sort()],
    ['UNION', ['ComponentSharedPicture', 'ComponentSharedQuote', 'Error']]);
});

test('a locale, the other ones, a single type, nothing', async () => {
  const { data } = await apollo({ token: 'full' }).query({
    query: gql`query Several($id: ID!) {
      article(documentId: $id, locale: "fr") { title locale localizations { title locale } }
      homepage { title }
      nothing: article(documentId: "nothing") { title }
    }`,
    variables: { id: ids.Apples },
  });
  assert.deepEqual([data.article.title, data.article.locale, data.article.localizations.map((l) => l.title)], ['Pommes', 'fr', ['Apples']]);
  assert.deepEqual([data.homepage.title, data.nothing], ['Welcome', null]);
});

test('what one query has read, another finds in the cache', async () => {
  const client = apollo();
  await client.query({ query: gql`{ articles(filters: { title: { eq: "Bread" } }) { documentId title rating } }` });
  const id = client.cache.identify({ __typename: 'Article', documentId: ids.Bread });
  assert.equal(client.readFragment({ id, fragment: gql`fragment Rating on Article { rating }` }).rating, 3);
});

test('more of a list', async () => {
  const query = gql`query Some($start: Int!) { articles(sort: "title", pagination: { start: $start, limit: 2 }) { documentId title } }`;
  const client = apollo();
  await client.query({ query, variables: { start: 0 } });
  const watched = client.watchQuery({ query, variables: { start: 0 } });
  const read = watched.subscribe({});
  await watched.fetchMore({
    variables: { start: 2 },
    updateQuery: (before, { fetchMoreResult: { articles } }) => ({ articles: [...before.articles, ...articles] }),
  });
  const { articles } = client.readQuery({ query, variables: { start: 0 } });
  assert.deepEqual(articles.map((a) => a.title), ['Apples', 'Bread', 'Compost']);
  read.unsubscribe();
});
