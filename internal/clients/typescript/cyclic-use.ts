// A project in which every type refers to 20 of 40 types: what the compiler computes depends on the parameters, not on the model.
import { Client, type FindParams } from './cyclic.js'

const api = new Client({ url: 'http://127.0.0.1' })
export async function use(wide: FindParams<'api::taa.taa'>) {
  const all = await api.collection('taa-list').find({ populate: '*' })
  const deep = await api.collection('taa-list').find({
    fields: ['sa'],
    populate: { ra: { populate: { rb: { populate: { rc: { populate: { rd: { populate: { re: { populate: '*' } } } } } } } } } },
    filters: { ra: { rb: { rc: { rd: { re: { rf: { sa: { $contains: 'x' } } } } } } } },
    sort: { ra: { rb: { rc: { sa: 'desc' } } } },
  })
  const path = await api.collection('taa-list').find({ populate: ['ra.rb.rc.rd.re', 'rt.rt.rt', 'rs'] })
  const any = await api.collection('taa-list').find(wide)
  // @ts-expect-error unknown relation far down
  await api.collection('taa-list').find({ populate: { ra: { populate: { rb: { populate: { rc: { populate: { rd: { populate: { nope: true } } } } } } } } } })
  // @ts-expect-error unknown attribute far down
  await api.collection('taa-list').find({ filters: { ra: { rb: { rc: { rd: { re: { nope: 'x' } } } } } } })
  return [
    all.data[0]?.ra[0]?.sa,
    deep.data[0]?.ra[0]?.rb[0]?.rc[0]?.rd[0]?.re[0]?.rt[0]?.st,
    path.data[0]?.ra[0]?.rb[0]?.rc[0]?.rd[0]?.re[0]?.sa,
    any.data[0]?.id.toFixed(),
    any.data[0]?.sa?.trim(),
    any.data[0]?.ra,
  ]
}
