// ---------------------------------------------------------------------------------------------------------------------
// The client. It needs only fetch: browsers, Node 18 and later, Deno and Bun have it.

/** How the client reaches the server. */
export interface ClientOptions {
  /** The address of the server, without the prefix of the API: "https://cms.example.com". */
  url: string
  /** An API token, or the JWT of a user. */
  token?: string | undefined
  /** The prefix of the API, if it is another than in the definitions. */
  prefix?: string
  /** Headers of every request. */
  headers?: Record<string, string>
  /** Used instead of the global fetch. */
  fetch?: typeof fetch
}

/** Options of one request. */
export interface RequestOptions {
  signal?: AbortSignal | undefined
  headers?: Record<string, string>
}

/** Options of a request that the server carries out once, however often it is sent. */
export interface OnceOptions extends RequestOptions {
  /** A text of your own for this request, such as `crypto.randomUUID()`. Sent again with it, the request gets the first answer. */
  idempotencyKey?: string | undefined
}

/** Options of a write of one document. If the document is not as they say, the server answers 412 and writes nothing. */
export interface WriteOptions extends OnceOptions {
  /** The `etag` with which you have read the document, or '*' for any: write only if it has not changed since. */
  ifMatch?: string | undefined
  /** '*': write only if there is no such document. */
  ifNoneMatch?: '*' | undefined
}

/** What the server answered instead of what was asked for. */
export class ApiError extends Error {
  readonly status: number
  readonly details: JSONValue | undefined
  /** The id under which the log of the server has the request. */
  readonly requestId: string | undefined

  constructor(info: ErrorInfo, requestId?: string) {
    super(info.message)
    this.name = info.name
    this.status = info.status
    this.details = info.details
    this.requestId = requestId
  }

  /** Whether the error has a name, such as 'NotFoundError'. */
  is(name: ErrorName): boolean {
    return this.name === name
  }

  /** The issues of a ValidationError; empty for other errors. */
  get issues(): Issue[] {
    const details = this.details as { errors?: Issue[] } | null | undefined
    return details?.errors ?? []
  }
}

/** Sends requests and reads answers. */
export class Transport {
  readonly base: string
  readonly options: ClientOptions

  constructor(options: ClientOptions) {
    this.options = options
    this.base = options.url.replace(/\/+$/, '') + (options.prefix ?? defaultPrefix)
  }

  /** Sends a request, and returns the JSON of the answer. */
  async send(method: string, path: string, params?: object, body?: unknown, request?: WriteOptions): Promise<unknown> {
    const text = await (await this.fetch(method, path, params, body, request)).text()
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Reads one document, with the ETag of the answer. */
  async one(path: string, params?: object, request?: RequestOptions): Promise<unknown> {
    const response = await this.fetch('GET', path, params, undefined, request)
    const etag = response.headers.get('ETag')
    return { ...((await response.json()) as object), ...(etag === null ? {} : { etag }) }
  }

  /** Sends a request, and returns an answer that is no error. */
  async fetch(method: string, path: string, params?: object, body?: unknown, request: WriteOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: 'application/json', ...this.options.headers, ...request.headers }
    if (this.options.token) headers['Authorization'] = `Bearer ${this.options.token}`
    if (request.ifMatch) headers['If-Match'] = request.ifMatch
    if (request.ifNoneMatch) headers['If-None-Match'] = request.ifNoneMatch
    if (request.idempotencyKey) headers['Idempotency-Key'] = request.idempotencyKey
    const form = body instanceof FormData
    if (body !== undefined && !form) headers['Content-Type'] = 'application/json'
    const fetched = this.options.fetch ?? fetch
    const response = await fetched(this.base + path + encodeParams(params), {
      method,
      headers,
      body: form ? body : JSON.stringify(body),
      signal: request.signal ?? null,
    })
    if (!response.ok) throw apiError(response, await response.text())
    return response
  }
}

function apiError(response: Response, text: string): ApiError {
  let info: ErrorInfo = { status: response.status, name: 'Error', message: response.statusText || `HTTP ${response.status}` }
  try {
    const answer = JSON.parse(text) as Partial<ErrorEnvelope> | null
    if (answer?.error) info = answer.error
  } catch {
    // Not from the server itself, but from a proxy before it.
  }
  return new ApiError(info, response.headers.get('X-Request-Id') ?? undefined)
}

/**
 * Encodes parameters as a query string with nested names, as in filters[name][$eq]=Ada. It throws a TypeError if a list within filters says
 * nothing: a query string cannot tell an empty list from none, and without the condition the answer would have what nobody asked for.
 */
export function encodeParams(params: object | undefined): string {
  const pairs: string[] = []
  for (const [key, value] of Object.entries(params ?? {})) encodeParam(pairs, encodeURIComponent(key), key, value)
  return pairs.length > 0 ? '?' + pairs.join('&') : ''
}

/** Encodes a parameter of a request, or the option with that key of a populate. */
function encodeParam(pairs: string[], name: string, key: string, value: unknown): void {
  if (key !== 'populate' && key !== 'on') return encode(pairs, name, value, key === 'filters')
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return encode(pairs, name, value, false)
  for (const [shown, options] of Object.entries(value)) encodeOptions(pairs, `${name}[${encodeURIComponent(shown)}]`, options)
}

/** Encodes what a populate says of one attribute. Options that say nothing become true: the attribute is to be shown all the same. */
function encodeOptions(pairs: string[], name: string, options: unknown): void {
  if (options === null || typeof options !== 'object') return encode(pairs, name, options, false)
  const before = pairs.length
  for (const [key, value] of Object.entries(options)) encodeParam(pairs, `${name}[${encodeURIComponent(key)}]`, key, value)
  if (pairs.length === before) pairs.push(`${name}=true`)
}

function encode(pairs: string[], name: string, value: unknown, filters: boolean): void {
  if (value === undefined) return
  if (value === null || typeof value !== 'object' || value instanceof Date) {
    pairs.push(value === null ? name : `${name}=${encodeURIComponent(value instanceof Date ? value.toISOString() : String(value))}`)
    return
  }
  const before = pairs.length
  for (const [key, inner] of Object.entries(value)) encode(pairs, `${name}[${encodeURIComponent(key)}]`, inner, filters)
  if (filters && Array.isArray(value) && pairs.length === before) throw new TypeError(`${decodeURIComponent(name)} is an empty list`)
}

function segment(documentId: string | number): string {
  if (documentId === '') throw new TypeError('the documentId is empty')
  return '/' + encodeURIComponent(documentId)
}

/** The documents of a collection type. */
export class Collection<U extends TypeUID> {
  readonly #transport: Transport
  readonly #path: string
  /** Operations for `Client.batch`. */
  readonly batch: BatchCollection<U>

  constructor(transport: Transport, path: string) {
    this.#transport = transport
    this.#path = path
    this.batch = new BatchCollection(path.slice(1))
  }

  /** A page of documents. */
  find<const Q extends FindParams<U> = {}>(params?: Q & Exact<Q, FindParams<U>>, request?: RequestOptions): Promise<FindResult<U, Q>> {
    return this.#transport.send('GET', this.#path, params, undefined, request) as Promise<FindResult<U, Q>>
  }

  /** The first document that `find` would show, or null. */
  async findFirst<const Q extends Omit<FindParams<U>, 'pagination'> = {}>(
    params?: Q & Exact<Q, Omit<FindParams<U>, 'pagination'>>,
    request?: RequestOptions,
  ): Promise<Result<U, Q> | null> {
    const first = { ...params, pagination: { start: 0, limit: 1, withCount: false } }
    const { data } = (await this.#transport.send('GET', this.#path, first, undefined, request)) as { data: Result<U, Q>[] }
    return data[0] ?? null
  }

  /** Every document that matches, without a page's limit, as they were when the stream began. It takes the permission to stream. */
  stream<const Q extends StreamParams<U> = {}>(
    params?: Q & Exact<Q, StreamParams<U>>,
    request?: RequestOptions,
  ): AsyncGenerator<Result<U, Q>, void, void> {
    return stream(this.#transport, this.#path, params, request) as AsyncGenerator<Result<U, Q>, void, void>
  }

  /** How many documents there are. */
  async count(
    params?: Pick<FindParams<U>, 'filters' | 'status' | 'locale' | 'publicationFilter' | '_q'>,
    request?: RequestOptions,
  ): Promise<number> {
    const one = { ...params, fields: ['documentId'], pagination: { start: 0, limit: 1, withCount: true } }
    const { meta } = (await this.#transport.send('GET', this.#path, one, undefined, request)) as { meta: { pagination: { total: number } } }
    return meta.pagination.total
  }

  /** One document. */
  findOne<const Q extends OneParams<U> = {}>(
    documentId: string,
    params?: Q & Exact<Q, OneParams<U>>,
    request?: RequestOptions,
  ): Promise<OneResult<U, Q> & Tagged> {
    return this.#transport.one(this.#path + segment(documentId), params, request) as Promise<OneResult<U, Q> & Tagged>
  }

  create<const Q extends WriteParams<U> = {}>(
    data: CreateInput<U, Q>,
    params?: Q & Exact<Q, WriteParams<U>>,
    request?: OnceOptions,
  ): Promise<OneResult<U, Q>> {
    return this.#transport.send('POST', this.#path, params, { data }, request) as Promise<OneResult<U, Q>>
  }

  /** Changes the attributes in data. */
  update<const Q extends WriteParams<U> = {}>(
    documentId: string,
    data: UpdateInput<U>,
    params?: Q & Exact<Q, WriteParams<U>>,
    request?: WriteOptions,
  ): Promise<OneResult<U, Q>> {
    return this.#transport.send('PUT', this.#path + segment(documentId), params, { data }, request) as Promise<OneResult<U, Q>>
  }

  /** Deletes a document in one locale, or with '*' in all. */
  async delete(documentId: string, params?: { locale?: Locale | '*' }, request?: WriteOptions): Promise<void> {
    await this.#transport.send('DELETE', this.#path + segment(documentId), params, undefined, request)
  }

  /** Makes the published version a copy of the draft, at once or at `publishAt`. Until then, the answer shows the draft. */
  publish<const Q extends PublishParams<U> = {}>(
    this: WithDrafts<U, Collection<U>>,
    documentId: string,
    params?: Q & Exact<Q, PublishParams<U>>,
    request?: WriteOptions,
  ): Promise<PublishResult<U, Q>> {
    return actTimed(this.#transport, this.#path + segment(documentId) + '/actions/publish', params, request) as Promise<PublishResult<U, Q>>
  }

  /** Removes the published version, at once or at `unpublishAt`. The answer shows the draft. */
  unpublish<const Q extends UnpublishParams<U> = {}>(
    this: WithDrafts<U, Collection<U>>,
    documentId: string,
    params?: Q & Exact<Q, UnpublishParams<U>>,
    request?: WriteOptions,
  ): Promise<UnpublishResult<U, Q>> {
    return actTimed(this.#transport, this.#path + segment(documentId) + '/actions/unpublish', params, request) as Promise<UnpublishResult<U, Q>>
  }

  /** Makes the draft a copy of the published version. The answer shows the draft. */
  discardDraft<const Q extends ActionParams<U> = {}>(
    this: WithDrafts<U, Collection<U>>,
    documentId: string,
    params?: Q & Exact<Q, ActionParams<U>>,
    request?: WriteOptions,
  ): Promise<OneResult<U, Q, true>> {
    return this.#act(documentId, 'discard-draft', params, request) as Promise<OneResult<U, Q, true>>
  }

  /** What was done to a document, the newest first. */
  history<const Q extends HistoryParams = {}>(documentId: string, params?: Q & Exact<Q, HistoryParams>, request?: RequestOptions): Promise<HistoryResult<U, Q>> {
    return this.#transport.send('GET', `${this.#path}${segment(documentId)}/_history`, params, undefined, request) as Promise<HistoryResult<U, Q>>
  }

  /** Writes a former version as the draft, which the answer shows. A deleted document comes back. */
  restore<const Q extends ActionParams<U> = {}>(
    documentId: string,
    version: FormerVersion,
    params?: Q & Exact<Q, ActionParams<U>>,
    request?: WriteOptions,
  ): Promise<OneResult<U, Q, true>> {
    return this.#act(documentId, 'restore', params, request, version) as Promise<OneResult<U, Q, true>>
  }

  #act(documentId: string, action: string, params: object | undefined, request?: WriteOptions, data?: object): Promise<unknown> {
    return this.#transport.send('POST', `${this.#path}${segment(documentId)}/actions/${action}`, params, data && { data }, request)
  }
}

/** T, or never if the documents of U have no drafts: a call with it does not compile then, since the server has no such action. */
type WithDrafts<U extends TypeUID, T> = Schemas[U]['drafts'] extends true ? T : never

/** The parameters of actions. */
export type ActionParams<U extends UID> = Omit<WriteParams<U>, 'status'>

/** The parameters of unpublish. Without a time, it is carried out at once. */
export interface UnpublishParams<U extends UID> extends ActionParams<U> {
  /** A text has a zone: '2030-01-01T09:00:00Z'. */
  unpublishAt?: DateTimeString | Date
}

/** The parameters of publish. With `unpublishAt` alone, it publishes at once and unpublishes then. */
export interface PublishParams<U extends UID> extends UnpublishParams<U> {
  publishAt?: DateTimeString | Date
}

/** The answer to publish: the draft if it is to be published later. */
export interface PublishResult<U extends UID, Q = {}> {
  data: Result<U, Q, [Option<Q, 'publishAt'>] extends [undefined] ? false : true>
  meta: Planned<Q[keyof Q & ('publishAt' | 'unpublishAt')]>
}

/** The answer to unpublish: the draft. */
export interface UnpublishResult<U extends UID, Q = {}> {
  data: Result<U, Q, true>
  meta: Planned<Q[keyof Q & 'unpublishAt']>
}

/** What `meta` has if times of type T are sent: all schedules of that localization. */
type Planned<T> = [T] extends [undefined] ? {} : undefined extends T ? { schedules?: LecternSchedule[] } : { schedules: LecternSchedule[] }

/** A publication or unpublication that the server is to carry out later, or that has failed. */
export interface LecternSchedule {
  id: number
  documentId: string
  action: 'publish' | 'unpublish'
  at: DateTimeString
  /** The uid of the type of the document, its documentId, and its locale; null if the type is not localized. */
  contentType: string
  document: string
  documentLocale: Locale | null
  state: 'pending' | 'failed'
  /** Why it failed. */
  error: { name: ErrorName; message: string; details?: JSONValue } | null
  /** Who asked for it. */
  principalKind: 'public' | 'token' | 'user' | null
  /** The name of the token or user, for callers who may find users. */
  principalName?: string | null
  createdAt: DateTimeString
  updatedAt: DateTimeString
  publishedAt: DateTimeString | null
}

/** Publishes or unpublishes a document, at the times in params. */
async function actTimed(
  transport: Transport,
  path: string,
  params?: { publishAt?: string | Date; unpublishAt?: string | Date },
  request?: WriteOptions,
): Promise<unknown> {
  const { publishAt, unpublishAt, ...query } = timed(params)
  const body = publishAt === undefined && unpublishAt === undefined ? undefined : { data: { publishAt, unpublishAt } }
  return transport.send('POST', path, query, body, request)
}

/** The parameters of a publication or unpublication, with its times as texts. */
function timed(params: { publishAt?: string | Date; unpublishAt?: string | Date } = {}) {
  return { ...params, publishAt: moment(params.publishAt), unpublishAt: moment(params.unpublishAt) }
}

/** The text of a time. It throws a RangeError if the Date is invalid: JSON would have null, and the action would be carried out at once. */
function moment(at: string | Date | undefined): string | undefined {
  return typeof at === 'object' ? at.toISOString() : at
}

/** The document of a single type. */
export class Single<U extends TypeUID> {
  readonly #transport: Transport
  readonly #path: string
  /** Operations for `Client.batch`. */
  readonly batch: BatchSingle<U>

  constructor(transport: Transport, path: string) {
    this.#transport = transport
    this.#path = path
    this.batch = new BatchSingle(path.slice(1))
  }

  find<const Q extends OneParams<U> = {}>(params?: Q & Exact<Q, OneParams<U>>, request?: RequestOptions): Promise<OneResult<U, Q> & Tagged> {
    return this.#transport.one(this.#path, params, request) as Promise<OneResult<U, Q> & Tagged>
  }

  /** Changes the attributes in data. It creates the document if there is none, which then needs all that is required. */
  update<const Q extends WriteParams<U> = {}>(
    data: UpdateInput<U>,
    params?: Q & Exact<Q, WriteParams<U>>,
    request?: WriteOptions,
  ): Promise<OneResult<U, Q>> {
    return this.#transport.send('PUT', this.#path, params, { data }, request) as Promise<OneResult<U, Q>>
  }

  async delete(params?: { locale?: Locale | '*' }, request?: WriteOptions): Promise<void> {
    await this.#transport.send('DELETE', this.#path, params, undefined, request)
  }

  publish<const Q extends PublishParams<U> = {}>(
    this: WithDrafts<U, Single<U>>,
    params?: Q & Exact<Q, PublishParams<U>>,
    request?: WriteOptions,
  ): Promise<PublishResult<U, Q>> {
    return actTimed(this.#transport, this.#path + '/actions/publish', params, request) as Promise<PublishResult<U, Q>>
  }

  unpublish<const Q extends UnpublishParams<U> = {}>(
    this: WithDrafts<U, Single<U>>,
    params?: Q & Exact<Q, UnpublishParams<U>>,
    request?: WriteOptions,
  ): Promise<UnpublishResult<U, Q>> {
    return actTimed(this.#transport, this.#path + '/actions/unpublish', params, request) as Promise<UnpublishResult<U, Q>>
  }

  discardDraft<const Q extends ActionParams<U> = {}>(
    this: WithDrafts<U, Single<U>>,
    params?: Q & Exact<Q, ActionParams<U>>,
    request?: WriteOptions,
  ): Promise<OneResult<U, Q, true>> {
    return this.#transport.send('POST', this.#path + '/actions/discard-draft', params, undefined, request) as Promise<OneResult<U, Q, true>>
  }

  /** What was done to the document, the newest first. */
  history<const Q extends HistoryParams = {}>(params?: Q & Exact<Q, HistoryParams>, request?: RequestOptions): Promise<HistoryResult<U, Q>> {
    return this.#transport.send('GET', this.#path + '/_history', params, undefined, request) as Promise<HistoryResult<U, Q>>
  }

  /** Writes a former version as the draft, which the answer shows. */
  restore<const Q extends ActionParams<U> = {}>(
    version: FormerVersion,
    params?: Q & Exact<Q, ActionParams<U>>,
    request?: WriteOptions,
  ): Promise<OneResult<U, Q, true>> {
    return this.#transport.send('POST', this.#path + '/actions/restore', params, { data: version }, request) as Promise<OneResult<U, Q, true>>
  }
}

/** The names of types in paths: those of collection types and those of single types. */
type CollectionName = keyof Collections & string
type SingleName = keyof Singles & string
