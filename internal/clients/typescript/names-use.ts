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
