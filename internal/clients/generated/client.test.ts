// The kitchen of the conformance suites, used by a client that openapi-typescript and openapi-fetch make from the OpenAPI document. tsc checks this
// file strictly; lines after @ts-expect-error must not compile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import createClient from 'openapi-fetch'
import qs from 'qs'
import type { components, paths } from './api.js'

const { base, tokens } = JSON.parse(process.env.LECTERN ?? '') as { base: string; tokens: { full: string } }

/** Options with which query strings have nested names, as in filters[name][$eq]=Ada. */
const options = (token?: string) => ({
  baseUrl: base,
  headers: token ? { Authorization: `Bearer ${token}` } : {},
  querySerializer: (query: object) => qs.stringify(query, { encodeValuesOnly: true }),
})

// The second type argument is the media type of answers, of which some operations have several.
const api = createClient<paths, 'application/json'>(options(tokens.full))
const visitor = createClient<paths, 'application/json'>(options())

/** The data of a request that must have succeeded. */
async function ok<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await answer
  assert.equal(error, undefined)
  assert.notEqual(data, undefined)
  return data as T
}

test('documents are written, listed, published and deleted', async () => {
  const owner = await ok(api.POST('/api/people', { body: { data: { firstName: 'Ada' } } }))
  const category = await ok(api.POST('/api/categories', { body: { data: { name: 'Bistro' } } }))
  const data: components['schemas']['RestaurantInput'] = {
    name: 'Chez Ada',
    seats: 12,
    tier: 'gold',
    visits: '9007199254740993',
    hidden: 'known to the kitchen',
    secret: 'a password',
    extra: { a: [1, 'ü'] },
    owner: owner.data.documentId,
    categories: { connect: [category.data.documentId] },
    address: { city: 'Paris', geo: { lat: 48.9 } },
    dz: [{ __component: 'blocks.rich-text', body: 'Soup of the day' }],
  }
  const { data: made } = await ok(api.POST('/api/restaurants', { params: { query: { status: 'draft', populate: ['dz'] } }, body: { data } }))
  assert.deepEqual([made.name, made.visits, made.publishedAt], ['Chez Ada', '9007199254740993', null])
  assert.ok(!('hidden' in made) && !('secret' in made))
  const [entry] = made.dz ?? []
  assert.equal(entry?.__component === 'blocks.rich-text' && entry.body, 'Soup of the day')

  const path = { documentId: made.documentId }
  const { data: changed } = await ok(api.PUT('/api/restaurants/{documentId}', { params: { path, query: { status: 'draft', fields: ['name', 'seats'] } }, body: { data: { seats: 20 } } }))
  assert.deepEqual(changed, { id: changed.id, documentId: made.documentId, name: 'Chez Ada', seats: 20 })
  await ok(api.POST('/api/restaurants/{documentId}/actions/publish', { params: { path } }))
  await ok(api.POST('/api/restaurants', { body: { data: { name: 'Another', seats: 50 } } }))

  const list = await ok(api.GET('/api/restaurants', {
    params: {
      query: {
        filters: { $or: [{ seats: { $between: [15, 30] } }, { name: { $containsi: 'nobody' } }], owner: { firstName: { $eq: 'Ada' } } },
        populate: { owner: { fields: ['firstName'] }, categories: { filters: { name: { $startsWith: 'Bis' } }, sort: ['name:asc'] }, address: true },
        fields: ['name'],
        sort: ['seats:desc', 'name'],
        pagination: { page: 1, pageSize: 5 },
      },
    },
  }))
  assert.deepEqual(list.meta.pagination, { page: 1, pageSize: 5, pageCount: 1, total: 1 })
  const [found] = list.data
  assert.deepEqual([found?.name, found?.owner?.firstName, found?.categories?.map(({ name }) => name), found?.address?.city], ['Chez Ada', 'Ada', ['Bistro'], 'Paris'])

  const history = await ok(api.GET('/api/restaurants/{documentId}/_history', { params: { path, query: { status: 'draft' } } }))
  assert.deepEqual(history.data.map(({ action }) => action), ['update', 'create'])
  const first = history.data[1]?.seq ?? ''
  assert.equal((await ok(api.GET('/api/restaurants/{documentId}', { params: { path, query: { asOf: first, status: 'draft' } } }))).data.seats, 12)

  const gone = await api.DELETE('/api/restaurants/{documentId}', { params: { path } })
  assert.equal(gone.response.status, 204)
  const { error } = await api.GET('/api/restaurants/{documentId}', { params: { path } })
  assert.deepEqual([error?.error.name, error?.error.status], ['NotFoundError', 404])
})

test('a single type', async () => {
  const { data } = await ok(api.PUT('/api/homepage', { params: { query: { locale: 'fr' } }, body: { data: { title: 'Accueil' } } }))
  assert.equal(data.locale, 'fr')
  assert.equal((await ok(api.GET('/api/homepage', { params: { query: { locale: 'fr' } } }))).data.title, 'Accueil')
})

test('errors have types', async () => {
  const { error, response } = await api.POST('/api/restaurants', { body: { data: { name: 'x', seats: 0 } } })
  assert.equal(response.status, 400)
  assert.ok(error)
  const problems = error.error.details as { errors?: { path: string[] }[] }
  assert.deepEqual([error.error.name, problems.errors?.map(({ path }) => path[0]).sort()], ['ValidationError', ['name', 'seats']])
  const refused = await visitor.POST('/api/restaurants', { body: { data: { name: 'Not mine' } } })
  assert.equal(refused.error?.error.name, 'ForbiddenError')
})

test('conditional and idempotent writes', async () => {
  const { data } = await ok(api.POST('/api/people', { params: { header: { 'Idempotency-Key': 'one' } }, body: { data: { firstName: 'Bo' } } }))
  const again = await ok(api.POST('/api/people', { params: { header: { 'Idempotency-Key': 'one' } }, body: { data: { firstName: 'Bo' } } }))
  assert.equal(again.data.documentId, data.documentId)
  const path = { documentId: data.documentId }
  const etag = (await api.GET('/api/people/{documentId}', { params: { path } })).response.headers.get('ETag') ?? ''
  assert.equal((await api.GET('/api/people/{documentId}', { params: { path, header: { 'If-None-Match': etag } } })).response.status, 304)
  const change = () => api.PUT('/api/people/{documentId}', { params: { path, header: { 'If-Match': etag } }, body: { data: { age: 40 } } })
  assert.equal((await ok(change())).data.age, 40)
  const { error } = await change()
  assert.equal(error?.error.name, 'PreconditionFailedError')
})

test('batches and streams', async () => {
  const batch = await ok(api.POST('/api/_batch', {
    body: {
      atomic: false,
      operations: [
        { op: 'create', type: 'people', as: 'cy', data: { firstName: 'Cy' } },
        { op: 'update', type: 'people', documentId: { $ref: 'cy' }, data: { age: 7 }, fields: ['age'] },
        { op: 'update', type: 'people', documentId: 'nobody', data: {} },
      ],
    },
  }))
  assert.deepEqual(batch.data.map(({ status }) => status), [201, 200, 404])
  const { data: lines } = await api.GET('/api/people', { parseAs: 'text', headers: { Accept: 'application/x-ndjson' }, params: { query: { filters: { firstName: 'Cy' } } } })
  assert.equal((JSON.parse(String(lines)) as components['schemas']['Person']).age, 7)
})

test('files', async () => {
  type Form = paths['/api/upload']['post']['requestBody']['content']['multipart/form-data']
  const { data, response } = await api.POST('/api/upload', {
    body: { files: [new File(['hello'], 'hello.txt', { type: 'text/plain' }) as unknown as string], fileInfo: JSON.stringify({ caption: 'Hi' }) } satisfies Form,
    bodySerializer: (body) => {
      const form = new FormData()
      const { files = [], fileInfo = '' } = body as Form
      for (const file of files) form.append('files', file)
      form.append('fileInfo', fileInfo)
      return form
    },
  })
  assert.equal(response.status, 201)
  const [file] = Array.isArray(data) ? data : []
  assert.deepEqual([file?.name, file?.caption, file?.mime], ['hello.txt', 'Hi', 'text/plain'])
  assert.deepEqual((await ok(api.GET('/api/upload/files', { params: { query: { filters: { caption: { $eq: 'Hi' } } } } }))).map(({ id }) => id), [file?.id])
})

test('users', async () => {
  const session = await ok(visitor.POST('/api/auth/local/register', { body: { username: 'dee', email: 'dee@kitchen.test', password: 'correct horse' } }))
  const me = await ok(createClient<paths, 'application/json'>(options(session.jwt)).GET('/api/users/me'))
  assert.equal(me.username, 'dee')
})

/** Nothing here runs: each line after @ts-expect-error must be refused by the compiler. */
export async function refusedByTheCompiler() {
  const create = (data: components['schemas']['RestaurantInput']) => api.POST('/api/restaurants', { body: { data } })
  // @ts-expect-error unknown attribute
  void create({ name: 'Ada', nope: 1 })
  // @ts-expect-error a text is no number
  void create({ name: 'Ada', seats: '3' })
  // @ts-expect-error no such value of the enumeration
  void create({ name: 'Ada', tier: 'platinum' })
  // @ts-expect-error no such component in the zone
  void create({ name: 'Ada', dz: [{ __component: 'default.geo', lat: 1 }] })
  // @ts-expect-error unknown attribute in filters
  void api.GET('/api/restaurants', { params: { query: { filters: { nope: 1 } } } })
  // @ts-expect-error unknown operator
  void api.GET('/api/restaurants', { params: { query: { filters: { name: { $contians: 'x' } } } } })
  // @ts-expect-error private attributes are no filters
  void api.GET('/api/restaurants', { params: { query: { filters: { hidden: 'x' } } } })
  // @ts-expect-error unknown field
  void api.GET('/api/restaurants', { params: { query: { fields: ['nope'] } } })
  // @ts-expect-error unknown relation
  void api.GET('/api/restaurants', { params: { query: { populate: { nope: true } } } })
  // @ts-expect-error no such path
  void api.GET('/api/nope')
  const { data } = await ok(api.GET('/api/restaurants'))
  // @ts-expect-error private attributes are in no answer
  void data[0]?.hidden
}
