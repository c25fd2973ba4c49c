// What the compiler refuses to programs with the types of the role public of the example project, which only reads.
import { Client, type Collections } from './public.js'
import { type Collections as None } from './nobody.js'

const api = new Client({ url: 'http://127.0.0.1:1337' })
export const { data } = await api.collection('articles').find({ fields: ['title'], populate: { author: true } })
console.log(data.map((article) => article.title + article.author?.name))

// @ts-expect-error the role may not create articles
await api.collection('articles').create({ title: 'Rye' })
// @ts-expect-error the role may not change articles
await api.collection('articles').update('one', { title: 'Rye' })

export const names: (keyof Collections)[] = ['articles', 'authors', 'categories']
// @ts-expect-error there is no collection for who may do nothing
export const none: keyof None = 'articles'
