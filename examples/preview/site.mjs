// A front end with previews: node site.mjs. It shows published articles at /articles/SLUG. With ?preview=TOKEN it shows
// the draft that the token was made for.
import { createServer } from "node:http"

const api = process.env.API ?? "http://127.0.0.1:1337/api"

const site = createServer(async (request, response) => {
  const url = new URL(request.url, "http://site")
  const slug = url.pathname.match(/^\/articles\/([^/]+)$/)?.[1]
  const token = url.searchParams.get("preview")
  if (token) {
    // Nobody keeps the page or finds it, and links on it tell no other site its address.
    response.setHeader("Cache-Control", "no-store")
    response.setHeader("Referrer-Policy", "no-referrer")
    response.setHeader("X-Robots-Tag", "noindex")
  }
  try {
    const { status, article } = slug ? await find(decodeURIComponent(slug), token) : {}
    if (token && (status === 401 || status === 403)) {
      send(response, 403, "<p>This preview has ended. Ask for another one.")
    } else if (!article) {
      send(response, 404, "<p>There is no such article.")
    } else {
      const banner = token ? "<p>This is a draft." : ""
      send(response, 200, `${banner}<h1>${escape(article.title)}</h1><p>${escape(article.text ?? "")}`)
    }
  } catch {
    send(response, 502, "<p>The content cannot be reached.")
  }
})

// find reads the article with a slug: the draft if there is a token, else the published version.
async function find(slug, token) {
  const query = new URLSearchParams({ "filters[slug][$eq]": slug, fields: "title,text" })
  const answer = await fetch(`${api}/articles?${query}`, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
  })
  return { status: answer.status, article: answer.ok ? (await answer.json()).data[0] : undefined }
}

function escape(text) {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}

function send(response, status, html) {
  response.writeHead(status, { "Content-Type": "text/html; charset=utf-8" }).end(`<!doctype html>${html}\n`)
}

site.listen(process.env.PORT ?? 8080, "127.0.0.1", () => console.log(`http://127.0.0.1:${site.address().port}`))
