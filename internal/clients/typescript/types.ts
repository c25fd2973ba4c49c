// What the compiler must accept and refuse. Each line after @ts-expect-error must not compile. Nothing here runs.

import { Client, type FindParams, type LecternSchedule, type PublishParams, type Result } from './kitchen.js'
import { Client as Strict } from './uncounted.js'

/** Compiles only if two types are the same. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(..._equal: Equal<A, B> extends true ? [] : [{ got: A; want: B }]): void {}

const api = new Client({ url: 'http://127.0.0.1' })
const restaurants = api.collection('restaurants')
const strict = new Strict({ url: 'http://127.0.0.1', token: undefined })
const drafts = strict.collection('posts')

// ----- The answer follows fields and populate.

export async function selections() {
  const chosen = await restaurants.find({ populate: { categories: { fields: ['name'] } }, fields: ['seats'] })
  same<
    (typeof chosen.data)[0],
    { id: number; documentId: string; seats: number | null; categories: { id: number; documentId: string; name: string }[] }
  >()
  same<typeof chosen.meta, { pagination: { page: number; pageSize: number; pageCount: number; total: number } }>()

  const drafts = await restaurants.find({ status: 'draft', fields: ['name', 'tier'] })
  same<
    (typeof drafts.data)[0],
    { id: number; documentId: string; name: string | null; tier: 'bronze' | 'silver' | 'gold' | null }
  >()

  const path = await restaurants.findOne('x', { fields: 'name', populate: ['owner.avatar', 'owner', 'menu'] })
  same<(typeof path.data.owner & {})['avatar'] extends { url: string } | null ? true : false, true>()
  same<keyof typeof path.data, 'id' | 'documentId' | 'name' | 'owner' | 'menu'>()
  path.data.menu?.title
  // @ts-expect-error menu may be null
  path.data.menu.title
  // @ts-expect-error dishes of the menu are not populated
  path.data.menu?.dishes

  const all = await restaurants.findOne('x', { populate: '*' })
  all.data.categories[0]?.name
  // @ts-expect-error '*' is one level
  all.data.categories[0]?.parent
  for (const block of all.data.dz) {
    if (block.__component === 'blocks.slider') {
      block.caption
      // @ts-expect-error files of the slider are not populated
      block.files
    } else if (block.__component === 'blocks.rich-text') {
      block.body
      // @ts-expect-error a slider has a caption, a text has none
      block.caption
    }
  }

  const zone = await restaurants.findOne('x', {
    populate: { dz: { on: { 'blocks.slider': { populate: { files: { fields: ['url'] } } }, 'blocks.rich-text': true } } },
  })
  const block = zone.data.dz[0]
  same<typeof block extends { __component: 'blocks.slider' | 'blocks.rich-text' } | undefined ? true : false, true>()
  if (block?.__component === 'blocks.slider') same<typeof block.files, { id: number; documentId: string; url: string }[]>()

  const whole = await restaurants.findOne('x', { populate: { dz: true } })
  const empty = await restaurants.findOne('x', { populate: { dz: { on: {} } } })
  same<typeof empty.data, typeof whole.data>()
  const none = await restaurants.findOne('x', { populate: { dz: { on: { 'blocks.slider': false } } } })
  same<typeof none.data.dz, never[]>()

  const counted = await restaurants.find({ populate: { categories: { count: true } }, pagination: { start: 0, withCount: false } })
  same<(typeof counted.data)[0]['categories'], { count: number }>()
  same<typeof counted.meta, { pagination: { start: number; limit: number } }>()

  const deep = await api.collection('categories').find({
    populate: { parent: { populate: { parent: { populate: { parent: { populate: { parent: { populate: { children: { fields: ['name'] } } } } } } } } } },
  })
  deep.data[0]?.parent?.parent?.parent?.parent?.children[0]?.name

  const off = await restaurants.findOne('x', { populate: { owner: false, menu: true } })
  // @ts-expect-error owner is switched off
  off.data.owner

  // @ts-expect-error seats was not asked for
  path.data.seats
  // @ts-expect-error categories are not populated
  drafts.data[0]?.categories
  // @ts-expect-error visits is text, since a number would lose digits
  all.data.visits?.toFixed()
  // @ts-expect-error private attributes are never shown
  all.data.hidden
  // @ts-expect-error nor passwords
  all.data.secret
}

/** In a project whose lists are not counted, unless a request says so. */
export async function counts(withCount: boolean) {
  const plain = await drafts.find()
  same<typeof plain.meta, { pagination: { page: number; pageSize: number } }>()
  const counted = await drafts.find({ pagination: { start: 0, withCount: true } })
  same<typeof counted.meta.pagination, { start: number; limit: number; total: number }>()
  const perhaps = await drafts.find({ pagination: { page: 1, withCount } })
  same<typeof perhaps.meta.pagination, { page: number; pageSize: number; pageCount?: number; total?: number }>()
}

// ----- Parameters.

export function parameters(query: FindParams<'api::restaurant.restaurant'>) {
  void restaurants.find(query)
  void restaurants.find({
    filters: {
      name: 'Ada', seats: { $gt: 3, $notIn: [5, 6] }, vegan: true, tier: { $in: ['gold'] }, inspectedAt: { $lt: new Date() },
      $or: [{ owner: { firstName: { $startsWithi: 'a' } } }, { $not: { categories: { parent: { name: ['x', 'y'] } } } }],
      address: { geo: { lat: { $between: [1, 2] } } }, menu: { $null: true }, visits: { $eq: 9007199254740993n },
    },
    sort: ['name:desc', { owner: { lastName: 'asc' } }, 'owner.age:asc'],
    pagination: { page: 2, pageSize: 10 },
    locale: ['en', 'fr'],
  })

  // @ts-expect-error unknown parameter
  void restaurants.find({ fields: ['name'], limit: 3 })
  // @ts-expect-error unknown field
  void restaurants.find({ fields: ['nope'] })
  // @ts-expect-error a relation is no field
  void restaurants.find({ fields: ['owner'] })
  // @ts-expect-error unknown relation
  void restaurants.find({ populate: { nope: true } })
  // @ts-expect-error unknown relation beside a known one
  void restaurants.find({ populate: { owner: true, nope: true } })
  // @ts-expect-error unknown relation one level below
  void restaurants.find({ populate: { owner: { populate: { avatar: true, nope: true } } } })
  // @ts-expect-error unknown option
  void restaurants.find({ populate: { owner: { fields: ['firstName'], limit: 3 } } })
  // @ts-expect-error unknown field one level below
  void restaurants.find({ populate: { owner: { fields: ['nope'] } } })
  // @ts-expect-error unknown path
  void restaurants.find({ populate: ['owner.nope'] })
  // @ts-expect-error unknown component
  void restaurants.find({ populate: { dz: { on: { 'blocks.nope': true } } } })
  // @ts-expect-error a component that the zone does not have
  void restaurants.find({ populate: { dz: { on: { 'default.dish': true } } } })
  // @ts-expect-error zones are not counted
  void restaurants.find({ populate: { dz: { count: true } } })
  // @ts-expect-error files are not counted
  void restaurants.find({ populate: { cover: { count: true } } })
  // @ts-expect-error unknown attribute in a filter
  void restaurants.find({ filters: { name: 'x', nope: 1 } })
  // @ts-expect-error unknown operator
  void restaurants.find({ filters: { name: { $like: 'x' } } })
  // @ts-expect-error a number is no operand of a text
  void restaurants.find({ filters: { name: { $eq: 5 } } })
  // @ts-expect-error a text is no operand of a number
  void restaurants.find({ filters: { seats: { $gt: 'many' } } })
  // @ts-expect-error $contains is for texts
  void restaurants.find({ filters: { seats: { $contains: '1' } } })
  // @ts-expect-error no such value of the enumeration
  void restaurants.find({ filters: { tier: 'platinum' } })
  // @ts-expect-error $between takes two values
  void restaurants.find({ filters: { seats: { $between: [1] } } })
  // @ts-expect-error unknown attribute in a filter below $or, beyond a relation
  void restaurants.find({ filters: { $or: [{ owner: { firstName: 'x', nope: 1 } }] } })
  // @ts-expect-error unknown attribute in the filter of a populate
  void restaurants.find({ populate: { owner: { filters: { firstName: 'x', nope: 1 } } } })
  // @ts-expect-error private attributes cannot be filtered by
  void restaurants.find({ filters: { hidden: 'x' } })
  // @ts-expect-error nor passwords
  void restaurants.find({ filters: { secret: 'x' } })
  // @ts-expect-error unknown sort key
  void restaurants.find({ sort: 'nope:asc' })
  // @ts-expect-error unknown direction
  void restaurants.find({ sort: 'name:up' })
  // @ts-expect-error zones cannot be sorted by
  void restaurants.find({ sort: { dz: 'asc' } })
  // @ts-expect-error pages by number and by offset at once
  void restaurants.find({ pagination: { page: 1, start: 0 } })
  // @ts-expect-error a number is no locale
  void restaurants.find({ locale: 1 })
  // @ts-expect-error no such status
  void restaurants.find({ status: 'public' })
  // @ts-expect-error no such collection
  void api.collection('nopes')
  // @ts-expect-error a single type is no collection
  void api.collection('homepage')
  // @ts-expect-error a single type takes no pagination
  void api.single('homepage').find({ pagination: { page: 1 } })
}

// ----- Bodies.

export function bodies() {
  void restaurants.create({ name: 'Ada' })
  void restaurants.create({}, { status: 'draft' })
  void restaurants.create({
    name: 'Ada', owner: 'abc', categories: { connect: [{ documentId: 'x', position: { before: 'y' } }], disconnect: ['z'] },
    menu: { set: 'm' }, cover: 3, gallery: [1, 2], reviews: null, visits: '9007199254740993', openedOn: '2026-01-01', inspectedAt: new Date(),
    address: { city: 'Bern', geo: { lat: 1 } }, closingPeriods: [{ label: 'x' }, { id: 3, label: 'y' }],
    dz: [{ __component: 'blocks.rich-text', body: 'x' }, { __component: 'blocks.slider', files: [1] }],
    description: [{ type: 'paragraph', children: [{ type: 'text', text: 'x', bold: true }] }], hidden: 'x', secret: 'x',
  })
  void restaurants.update('x', { seats: null, address: { id: 4, street: 'x' } })
  void api.collection('menus').create({ dishes: [{ name: 'Soup' }] }, { status: 'draft' })
  void drafts.create({ steps: [] }, { status: 'draft' })

  // @ts-expect-error name is required
  void restaurants.create({ seats: 3 })
  // @ts-expect-error a draft lacks no list that is required
  void drafts.create({ title: 'x' }, { status: 'draft' })
  // @ts-expect-error null is no list of components
  void restaurants.update('x', { closingPeriods: null })
  // @ts-expect-error nor of a zone
  void restaurants.update('x', { dz: null })
  // @ts-expect-error people have no drafts, so that a new one needs its name
  void api.collection('people').create({}, { status: 'draft' })
  // @ts-expect-error a required text may not be null
  void restaurants.update('x', { name: null })
  // @ts-expect-error unknown attribute
  void restaurants.create({ name: 'Ada', nope: 1 })
  // @ts-expect-error the server assigns ids
  void restaurants.create({ name: 'Ada', documentId: 'x' })
  // @ts-expect-error a text is no number
  void restaurants.update('x', { seats: '3' })
  // @ts-expect-error no such value of the enumeration
  void restaurants.update('x', { tier: 'platinum' })
  // @ts-expect-error unknown form of a relation
  void restaurants.update('x', { categories: { add: ['x'] } })
  // @ts-expect-error set excludes connect
  void restaurants.update('x', { categories: { set: ['x'], connect: ['y'] } })
  // @ts-expect-error a component of a zone needs __component
  void restaurants.update('x', { dz: [{ body: 'x' }] })
  // @ts-expect-error attributes of another component
  void restaurants.update('x', { dz: [{ __component: 'blocks.rich-text', caption: 'x' }] })
  // @ts-expect-error a new component needs what is required
  void restaurants.update('x', { address: { street: 'x' } })
  // @ts-expect-error a component that the zone does not have
  void api.single('homepage').update({ hero: [{ __component: 'default.closingperiod', label: 'x' }] })
}

// ----- A type that is written down is the one of the answer.

export type Card = Result<'api::restaurant.restaurant', { fields: ['name']; populate: { cover: { fields: ['url'] } } }>
export async function cards(): Promise<Card[]> {
  return (await restaurants.find({ fields: ['name'], populate: { cover: { fields: ['url'] } } })).data
}
same<Card, { id: number; documentId: string; name: string; cover: { id: number; documentId: string; url: string } | null }>()

export async function versions() {
  void strict.single('home').publish({ fields: ['title'] })
  // @ts-expect-error people have no drafts
  await api.collection('people').publish('x')
  // @ts-expect-error nor has this single type
  await api.single('setting').unpublish()
  // @ts-expect-error nor in batches
  api.collection('people').batch.discardDraft('x')
  // @ts-expect-error nor a single type in them
  api.single('setting').batch.publish()
  const published = await restaurants.publish('x', { fields: ['name'] })
  same<typeof published.data.name, string>()
  const draft = await restaurants.unpublish('x', { fields: ['name'] })
  same<typeof draft.data.name, string | null>()
  const changed = await restaurants.discardDraft('x')
  same<typeof changed.data.name, string | null>()
}

export async function timed(publishAt: Date, maybe: { publishAt?: Date }, params: PublishParams<'api::restaurant.restaurant'>) {
  type Planned = { schedules: LecternSchedule[] }
  const now = await restaurants.publish('x', { fields: ['name'] })
  same<typeof now.meta, {}>()
  const later = await restaurants.publish('x', { publishAt, unpublishAt: '2030-01-01T09:00:00Z', fields: ['name'], locale: 'fr' }, { idempotencyKey: 'x' })
  same<typeof later.data, { id: number; documentId: string; name: string | null }>()
  same<typeof later.meta, Planned>()
  same<(typeof later.meta.schedules)[0]['action'], 'publish' | 'unpublish'>()
  const until = await restaurants.publish('x', { unpublishAt: publishAt, fields: ['name'] })
  same<typeof until.data.name, string>()
  same<typeof until.meta, Planned>()
  const ends = await restaurants.unpublish('x', { unpublishAt: publishAt, fields: ['name'] })
  same<typeof ends.data.name, string | null>()
  same<typeof ends.meta, Planned>()

  const perhaps = await restaurants.publish('x', { ...maybe, fields: ['name'] })
  same<typeof perhaps.data.name, string | null>()
  same<typeof perhaps.meta, { schedules?: LecternSchedule[] }>()
  const computed = await restaurants.publish('x', params)
  same<typeof computed.data.name, string | null | undefined>()
  same<typeof computed.meta, { schedules?: LecternSchedule[] }>()

  const home = strict.single('home')
  const plain = await home.unpublish()
  same<typeof plain.meta, {}>()
  const single = await home.publish({ publishAt: '2030-01-01T09:00:00Z', unpublishAt: publishAt })
  void single.meta.schedules[0]?.at
  void (await home.unpublish({ unpublishAt: publishAt })).meta.schedules

  // @ts-expect-error nothing is scheduled
  void now.meta.schedules
  // @ts-expect-error an unpublication has one time
  void restaurants.unpublish('x', { publishAt })
  // @ts-expect-error nor beside the other
  void restaurants.unpublish('x', { unpublishAt: publishAt, publishAt })
  // @ts-expect-error nor of a single type
  void home.unpublish({ publishAt })
  // @ts-expect-error a draft is discarded at once
  void restaurants.discardDraft('x', { publishAt })
  // @ts-expect-error a former version is written at once
  void restaurants.restore('x', { seq: '1' }, { publishAt })
  // @ts-expect-error unknown time
  void restaurants.publish('x', { publishedAt: publishAt })
  // @ts-expect-error unknown time of a single type
  void home.publish({ publishOn: publishAt })
  // @ts-expect-error a number is no time
  void restaurants.publish('x', { publishAt: publishAt.getTime() })
  // @ts-expect-error null is no time
  void restaurants.unpublish('x', { unpublishAt: null })
  // @ts-expect-error nor is a time that may be missing
  void restaurants.publish('x', { publishAt: maybe.publishAt })
  // @ts-expect-error people have no drafts
  void api.collection('people').publish('x', { publishAt })
}

export async function schedules() {
  const { data, meta } = await strict.schedules.find({
    filters: { state: 'failed', at: { $lt: new Date() }, $or: [{ contentType: { $contains: 'home' } }, { documentLocale: null }] },
    sort: ['at', 'action:desc'], pagination: { start: 0, limit: 5 },
  })
  for (const planned of data) {
    same<typeof planned.action, 'publish' | 'unpublish'>()
    same<typeof planned.principalName, string | null | undefined>()
    if (planned.error) same<typeof planned.error.message, string>()
    const cancelled = strict.schedules.cancel(planned.documentId, { idempotencyKey: 'x' })
    same<Awaited<typeof cancelled>, void>()
  }
  same<typeof meta.pagination, { start: number; limit: number }>()
  const chosen = await strict.schedules.find({ fields: ['action', 'at'] })
  same<(typeof chosen.data)[0], { id: number; documentId: string; action: 'publish' | 'unpublish'; at: string }>()
  // @ts-expect-error there is no such state
  void strict.schedules.find({ filters: { state: 'done' } })
  // @ts-expect-error there is no such field
  void strict.schedules.find({ sort: 'when' })
  // @ts-expect-error nor here
  void strict.schedules.find({ fields: ['when'] })
  // @ts-expect-error nothing to populate
  void strict.schedules.find({ populate: '*' })
}
