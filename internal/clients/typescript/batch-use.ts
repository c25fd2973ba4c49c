// Batches, histories, streams and conditional writes: what the compiler must accept and refuse. Nothing here runs.

import { Client, type Done, type HistoryItem, type LecternSchedule, type Operation, type PublishParams } from './kitchen.js'
import { Client as Strict } from './uncounted.js'

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

  const computed: Operation<Done<{ id: number }>>[] = ['a', 'b'].map((firstName) => people.batch.create({ firstName }))
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

export async function timed(time: Date, maybe: { publishAt?: Date }, params: PublishParams<'api::restaurant.restaurant'>) {
  type Planned = { schedules: LecternSchedule[] }
  const publish = restaurants.batch.publish('x', { fields: ['name'] })
  const { data } = await api.batch([
    publish,
    restaurants.batch.publish('x', { publishAt: time, unpublishAt: '2030-01-01T09:00:00Z', fields: ['name'], locale: 'fr', ifMatch: '*' }),
    restaurants.batch.publish('x', { unpublishAt: time, fields: ['name'] }),
    restaurants.batch.unpublish('x', { unpublishAt: time, fields: ['name'] }),
    restaurants.batch.publish('x', { ...maybe, fields: ['name'] }),
    restaurants.batch.publish('x', params),
    restaurants.batch.unpublish('x'),
  ])
  const [now, later, until, ends, perhaps, computed, ended] = data
  type Name = { id: number; documentId: string; name: string }
  type DraftName = { id: number; documentId: string; name: string | null }
  same<[typeof now.data, typeof now.meta], [Name, undefined]>()
  same<[typeof later.data, typeof later.meta], [DraftName, Planned]>()
  same<[typeof until.data, typeof until.meta], [Name, Planned]>()
  same<[typeof ends.data, typeof ends.meta], [DraftName, Planned]>()
  same<[typeof perhaps.data, typeof perhaps.meta], [DraftName, Planned | undefined]>()
  same<[typeof computed.data.name, typeof computed.meta], [string | null | undefined, Planned | undefined]>()
  same<[typeof ended.data.name, typeof ended.meta], [string | null, undefined]>()

  const strict = new Strict({ url: 'http://127.0.0.1' })
  const home = strict.single('home').batch
  const single = await strict.batch([home.publish(), home.publish({ publishAt: '2030-01-01T09:00:00Z', unpublishAt: time, ifMatch: '*' }), home.unpublish({ unpublishAt: time })])
  same<(typeof single.data)[0]['meta'], undefined>()
  void single.data[1].meta.schedules[0]?.at
  void single.data[2].meta.schedules[0]?.at

  const some = await api.batch([publish, restaurants.batch.publish('x', { publishAt: time })], { atomic: false })
  for (const result of some.data) same<typeof result.meta, Planned | undefined>()
  const last = some.data[1]
  if (!last.error) same<typeof last.meta, Planned>()
  const list: Operation[] = [publish, restaurants.batch.publish('x', { publishAt: time })]
  for (const result of (await api.batch(list)).data) same<[typeof result.status, typeof result.data], [number, unknown]>()

  // @ts-expect-error nothing is scheduled
  void now.meta.schedules
  // @ts-expect-error perhaps nothing is
  void perhaps.meta.schedules
  // @ts-expect-error nothing is scheduled if the operation fails
  void some.data[1].meta.schedules
  // @ts-expect-error an unpublication has one time
  restaurants.batch.unpublish('x', { publishAt: time })
  // @ts-expect-error nor of a single type
  home.unpublish({ publishAt: time })
  // @ts-expect-error a draft is discarded at once
  restaurants.batch.discardDraft('x', { publishAt: time })
  // @ts-expect-error a change is made at once
  restaurants.batch.update('x', {}, { publishAt: time })
  // @ts-expect-error unknown time
  restaurants.batch.publish('x', { publishedAt: time })
  // @ts-expect-error unknown time of a single type
  home.publish({ publishOn: time })
  // @ts-expect-error a number is no time
  restaurants.batch.publish('x', { publishAt: time.getTime() })
  // @ts-expect-error null is no time
  restaurants.batch.unpublish('x', { unpublishAt: null })
  // @ts-expect-error nor is a time that may be missing
  restaurants.batch.publish('x', { publishAt: maybe.publishAt })
  // @ts-expect-error people have no drafts
  people.batch.publish('x', { publishAt: time })
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
