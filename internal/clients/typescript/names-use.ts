// Types of a project whose names are taken: they have "Document" at their end.
import { Client, type OmitDocument, type RecordDocument, type ResultDocument, type File } from './names.js'

const api = new Client({ url: 'http://127.0.0.1' })
export async function use(): Promise<[OmitDocument, RecordDocument, ResultDocument, File]> {
  const { data } = await api.collection('record-list').find({ populate: { one: true }, filters: { default: "it's", class: 'x' } })
  const one: ResultDocument | null | undefined = data[0]?.one
  const file = (await api.collection('file-list').findOne('x')).data
  const omit = (await api.collection('omit-list').create({ data: {}, default: 'a "b" \\' })).data
  return [omit, data[0]!, one!, file]
}

// A type whose attributes have the names of what every object has. Objects may lack them, and have them.
export async function useInherited(): Promise<[string | null, number | null, string]> {
  const all = api.collection('inherited-list')
  await all.find({ filters: { title: 'x' }, sort: { title: 'asc' }, populate: { constructor: true } })
  await all.find({
    filters: { $or: [{ toString: 'x' }, { valueOf: { $gt: 3 } }, { constructor: { title: 'x' } }, { isPrototypeOf: { toLocaleString: 'a' } }] },
    sort: [{ constructor: { toString: 'desc' } }, 'valueOf'],
    populate: { isPrototypeOf: { fields: ['toString'], filters: { title: 'x' } } },
  })
  await all.create({ propertyIsEnumerable: 'x' })
  await all.create({ propertyIsEnumerable: 'x', toString: 'x', toLocaleString: 'b', hasOwnProperty: false, constructor: 'abc' })
  await all.update('x', { title: 'x' })
  // @ts-expect-error a required attribute is missing
  await all.create({ title: 'x' })
  // @ts-expect-error no text
  await all.find({ filters: { toString: 3 } })
  // @ts-expect-error no number
  await all.update('x', { valueOf: 'x' })
  // @ts-expect-error no attribute
  await all.find({ filters: { isPrototypeOf: { nope: 'x' } } })
  const { data } = await all.find({ populate: { constructor: { fields: ['valueOf'] } } })
  return [data[0]!.toString, data[0]!.constructor!.valueOf, data[0]!.propertyIsEnumerable]
}
