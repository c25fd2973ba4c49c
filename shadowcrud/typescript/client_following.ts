
/** The answer to a read of one document has its ETag, for `ifMatch`. A former version has none. */
export interface Tagged {
  etag?: string
}

/** The parameters of the history of a document. */
export interface HistoryParams {
  /** Only what was done in this locale. */
  locale?: Locale
  /** Only what was done to drafts, or to published versions. */
  status?: Status
  pagination?: Pagination
}

/** What a write did to one version of a document. */
export interface HistoryItem<U extends UID> {
  /** The place in the log, for `asOf` and `restore`. */
  seq: string
  at: DateTimeString
  by: { kind: 'token' | 'user' | 'public' | 'command' | 'system'; name: string }
  action: 'create' | 'update' | 'delete' | 'publish' | 'unpublish'
  locale: Locale | null
  status: Status
  /** The attributes that the write changed, as far as the caller may read them. */
  changed: (FieldName<U> | RelationName<U>)[]
}
export interface HistoryResult<U extends UID, Q = {}> {
  data: HistoryItem<U>[]
  meta: { pagination: PaginationOf<Option<Q, 'pagination'>> }
}

/** The version that `restore` brings back: a place in the history, and which version of then, the draft if it is not said. */
export interface FormerVersion {
  seq: string
  status?: Status
}

/** The parameters of a stream: those of a list, but for the page. */
export interface StreamParams<U extends UID> extends Omit<FindParams<U>, 'pagination'> {
  /** How many documents to leave out, and the most to read. */
  pagination?: { start?: number; limit?: number }
}

/** Reads the lines of a stream. To end it early ends the request. */
async function* stream(transport: Transport, path: string, params?: object, request?: RequestOptions): AsyncGenerator<unknown, void, void> {
  const headers = { ...request?.headers, Accept: 'application/x-ndjson' }
  const response = await transport.fetch('GET', path, params, undefined, { ...request, headers })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let begun = '' // the beginning of a line whose end has not arrived
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const lines = (begun + decoder.decode(value, { stream: true })).split('\n')
      begun = lines.pop() ?? ''
      for (const line of lines) yield streamed(response, line)
    }
  } finally {
    await reader.cancel()
  }
  if (begun !== '') throw new Error('the stream has ended within a line')
}

/** The document on a line of a stream. The last line of one that breaks off has an error. */
function streamed(response: Response, line: string): unknown {
  const document = JSON.parse(line) as { documentId?: string; error?: ErrorInfo }
  if (document.documentId === undefined && document.error) throw apiError(response, line)
  return document
}

/** A change of a document, as the change feed tells it. */
export interface Change {
  seq: string
  type: TypeUID
  documentId: string
  locale: Locale | null
  change: 'create' | 'update' | 'publish' | 'unpublish' | 'delete'
  at: DateTimeString
}
export interface ChangesPage {
  results: Change[]
  /** The position behind the page. Keep it, and go on from it. */
  last_seq: string
  pending: number
  /** The server cannot go on from `since`: drop your copy, and go on. */
  reset?: true
}
export interface ChangesParams {
  /** Where to begin: a `last_seq`, '0' for all documents, or 'now'. */
  since?: string
  /** The most changes in a page. */
  limit?: number
  types?: readonly (keyof Collections | keyof Singles)[]
  locale?: readonly Locale[]
  status?: Status
  /** Milliseconds that the server waits for changes before it answers. */
  timeout?: number
}

/** The pages of the change feed, without end: it waits for the next one until `request.signal` is aborted. */
async function* changes(transport: Transport, params: ChangesParams, request?: RequestOptions): AsyncGenerator<ChangesPage, void, void> {
  let since = params.since ?? '0'
  for (;;) {
    const page = (await transport.send(
      'GET',
      '/_changes',
      { ...params, types: params.types?.join(','), locale: params.locale?.join(','), feed: 'longpoll', since },
      undefined,
      request,
    )) as ChangesPage
    since = page.last_seq
    yield page
  }
}

