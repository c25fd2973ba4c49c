// Batches, histories, streams and conditional writes: what the compiler must accept and refuse. Nothing here runs.

import { Client, type HistoryItem, type Operation } from './kitchen.js'

/** Compiles only if two types are the same. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(..._equal: Equal<A, B> extends true ? [] : [{ got: A; want: B }]): void {}

const api = new Client({ url: 'http://127.0.0.1' })
const restaurants = api.collection('restaurants')
const people = api.collection('people')
const homepage = api.single('homepage')

export async function batches() {
  const ada = people.batch.create({ firstName: 'Ada' }, { fields: ['firstName'] })
  const made = restaurants.batch.create(
    { owner: ada.ref, related: { connect: [{ documentId: ada.ref, position: { before: ada.ref } }] } },
    { status: 'draft', fields: ['name'], populate: { owner: { fields: ['age'] } } },
  )
  const { data, meta } = await api.batch(
    [ada, made, restaurants.batch.publish(made.ref, { fields: ['name'] }), homepage.batch.update({ title: 'x' }, { fields: ['title'] }), people.batch.delete('x', { ifMatch: '"tag"' })],
    { idempotencyKey: 'one' },
  )
  same<(typeof data)['length'], 5>()
  same<(typeof data)[0]['data'], { id: number; documentId: string; firstName: string }>()
  same<(typeof data)[1]['data'], { id: number; documentId: string; name: string | null; owner: { id: number; documentId: string; age: number | null } | null }>()
  same<(typeof data)[2]['data'], { id: number; documentId: string; name: string }>()
  same<(typeof data)[3]['data'], { id: number; documentId: string; title: string | null }>()
  same<(typeof data)[4]['data'], null>()
  same<typeof meta, {}>()

  const some = await api.batch([ada], { atomic: false })
  const [first] = some.data
  if (first.error) same<typeof first.data, undefined>()
  else same<typeof first.data.firstName, string>()
  same<typeof some.meta.failed, number>()

  const computed: Operation<{ id: number }>[] = ['a', 'b'].map((firstName) => people.batch.create({ firstName }))
  const all = (await api.batch(computed)).data
  same<(typeof all)[number]['data'], { id: number }>()

  // @ts-expect-error the result of an atomic batch has no error
  void (await api.batch([ada])).data[0].error.message
  // @ts-expect-error there is one result
  void (await api.batch([ada])).data[1]
  // @ts-expect-error the call has asked for one field
  void data[0].data.age
  // @ts-expect-error an operation that may have failed
  void some.data[0].data.firstName
  // @ts-expect-error name is required
  restaurants.batch.create({ seats: 3 })
  // @ts-expect-error unknown attribute
  people.batch.update('x', { nope: 1 })
  // @ts-expect-error unknown field
  people.batch.update('x', {}, { fields: ['nope'] })
  // @ts-expect-error a creation expects no ETag
  people.batch.create({ firstName: 'Ada' }, { ifMatch: '"tag"' })
  // @ts-expect-error a document that is not created has no reference
  void people.batch.update('x', {}).ref
  // @ts-expect-error a document that a collection has takes an id
  people.batch.publish()
  // @ts-expect-error what an operation is made of is not an operation
  void api.batch([{ op: 'create', type: 'people' }])
  // @ts-expect-error a single type is not created
  homepage.batch.create({ title: 'x' })
}

export async function conditions() {
  const read = await restaurants.findOne('x', { fields: ['seats'] })
  same<typeof read.etag, string | undefined>()
  await restaurants.update('x', { seats: 1 }, {}, { ifMatch: read.etag, idempotencyKey: 'two' })
  await homepage.update({ title: 'x' }, {}, { ifNoneMatch: '*' })
  await restaurants.create({ name: 'x' }, {}, { idempotencyKey: 'three', headers: { 'X-One': '1' } })
  await restaurants.delete('x', {}, { ifMatch: '*' })

  // @ts-expect-error writes take no tag that must differ
  await homepage.update({ title: 'x' }, {}, { ifNoneMatch: '"tag"' })
  // @ts-expect-error a creation has nothing to match
  await restaurants.create({ name: 'x' }, {}, { ifMatch: '*' })
  // @ts-expect-error reads have no key
  await restaurants.find({}, { idempotencyKey: 'x' })
  // @ts-expect-error a list has no tag for writes
  void (await restaurants.find()).etag
}

export async function histories() {
  const { data, meta } = await restaurants.history('x', { locale: 'fr', status: 'draft', pagination: { pageSize: 5 } })
  same<typeof data, HistoryItem<'api::restaurant.restaurant'>[]>()
  same<typeof meta.pagination.total, number>()
  void data[0]?.changed.includes('dz')
  const back = await restaurants.restore('x', { seq: data[0]?.seq ?? '', status: 'published' }, { fields: ['name'], locale: 'fr' }, { ifMatch: '*' })
  same<typeof back.data, { id: number; documentId: string; name: string | null }>()
  await homepage.restore({ seq: (await homepage.history()).data[0]!.seq })

  const part = (await restaurants.history('x', { pagination: { start: 5, limit: 5 } })).meta
  same<typeof part.pagination, { start: number; limit: number; total: number }>()
  const few = (await homepage.history({ pagination: { pageSize: 5, withCount: false } })).meta
  same<typeof few.pagination, { page: number; pageSize: number }>()

  // @ts-expect-error unknown parameter
  await restaurants.history('x', { fields: ['name'] })
  // @ts-expect-error no such attribute
  void data[0]?.changed.includes('nope')
  // @ts-expect-error no such action
  void (data[0]?.action === 'rename')
  // @ts-expect-error a version is a place in the history
  await restaurants.restore('x', { at: new Date() })
  // @ts-expect-error unknown field
  await restaurants.restore('x', { seq: '1' }, { fields: ['nope'] })
}

export async function streams() {
  for await (const document of restaurants.stream({ fields: ['seats'], populate: { owner: { fields: ['age'] } }, filters: { seats: { $gt: 3 } }, pagination: { limit: 1e6 } })) {
    same<typeof document, { id: number; documentId: string; seats: number | null; owner: { id: number; documentId: string; age: number | null } | null }>()
  }
  for await (const document of restaurants.stream({ status: 'draft' })) same<typeof document.name, string | null>()

  // @ts-expect-error a stream has no pages
  restaurants.stream({ pagination: { page: 2 } })
  // @ts-expect-error unknown field
  restaurants.stream({ fields: ['nope'] })
  // @ts-expect-error a single type is no list
  homepage.stream()
}
