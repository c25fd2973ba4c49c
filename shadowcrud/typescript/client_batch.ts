
declare const resultOf: unique symbol

/** One operation of a batch. R is its result if it is carried out. */
export interface Operation<R extends Done<unknown, unknown> = Done<unknown, unknown>> {
  /** What is sent. */
  readonly sent: { readonly op: string; readonly type: string; readonly [key: string]: unknown }
  /** Never set: the compiler knows the type of the result by it. */
  readonly [resultOf]?: R
}

/** The creation of a document, to which later operations of the batch may refer. */
export interface CreateOperation<R extends Done<unknown>> extends Operation<R> {
  /** Stands for the documentId in later operations: as documentId, and in relations. */
  readonly ref: BatchRef
}

/** Options of an operation on a document that is there. */
export interface OperationOptions {
  /** The `etag` with which you have read the document: the operation fails if it has changed since. */
  ifMatch?: string | undefined
}

/** The parameters of a deletion in a batch. */
export interface DeleteParams extends OperationOptions {
  locale?: Locale | '*'
}

/** Makes operations on a collection type. They are carried out by `Client.batch`. */
export class BatchCollection<U extends TypeUID> {
  readonly #type: string

  constructor(type: string) {
    this.#type = type
  }

  create<const Q extends WriteParams<U> = {}>(data: CreateInput<U, Q>, params?: Q & Exact<Q, WriteParams<U>>): CreateOperation<Done<Result<U, Q>>> {
    return { sent: { op: 'create', type: this.#type, data, ...params }, ref: { $ref: 'a document of another batch' } }
  }

  update<const Q extends WriteParams<U> & OperationOptions = {}>(
    documentId: string | BatchRef,
    data: UpdateInput<U>,
    params?: Q & Exact<Q, WriteParams<U> & OperationOptions>,
  ): Operation<Done<Result<U, Q>>> {
    return { sent: { op: 'update', type: this.#type, documentId, data, ...params } }
  }

  delete(documentId: string | BatchRef, params?: DeleteParams): Operation<Done<null>> {
    return { sent: { op: 'delete', type: this.#type, documentId, ...params } }
  }

  publish<const Q extends PublishParams<U> & OperationOptions = {}>(
    this: WithDrafts<U, BatchCollection<U>>,
    documentId: string | BatchRef,
    params?: Q & Exact<Q, PublishParams<U> & OperationOptions>,
  ): PublishOperation<U, Q> {
    return { sent: { op: 'publish', type: this.#type, documentId, ...timed(params) } }
  }

  unpublish<const Q extends UnpublishParams<U> & OperationOptions = {}>(
    this: WithDrafts<U, BatchCollection<U>>,
    documentId: string | BatchRef,
    params?: Q & Exact<Q, UnpublishParams<U> & OperationOptions>,
  ): UnpublishOperation<U, Q> {
    return { sent: { op: 'unpublish', type: this.#type, documentId, ...timed(params) } }
  }

  discardDraft<const Q extends ActionParams<U> & OperationOptions = {}>(
    this: WithDrafts<U, BatchCollection<U>>,
    documentId: string | BatchRef,
    params?: Q & Exact<Q, ActionParams<U> & OperationOptions>,
  ): Operation<Done<Result<U, Q, true>>> {
    return { sent: { op: 'discardDraft', type: this.#type, documentId, ...params } }
  }
}

/** Makes operations on a single type. They are carried out by `Client.batch`. */
export class BatchSingle<U extends TypeUID> {
  readonly #type: string

  constructor(type: string) {
    this.#type = type
  }

  /** Changes the attributes in data. It creates the document if there is none. */
  update<const Q extends WriteParams<U> & OperationOptions = {}>(
    data: UpdateInput<U>,
    params?: Q & Exact<Q, WriteParams<U> & OperationOptions>,
  ): Operation<Done<Result<U, Q>>> {
    return { sent: { op: 'update', type: this.#type, data, ...params } }
  }

  delete(params?: DeleteParams): Operation<Done<null>> {
    return { sent: { op: 'delete', type: this.#type, ...params } }
  }

  publish<const Q extends PublishParams<U> & OperationOptions = {}>(
    this: WithDrafts<U, BatchSingle<U>>,
    params?: Q & Exact<Q, PublishParams<U> & OperationOptions>,
  ): PublishOperation<U, Q> {
    return { sent: { op: 'publish', type: this.#type, ...timed(params) } }
  }

  unpublish<const Q extends UnpublishParams<U> & OperationOptions = {}>(
    this: WithDrafts<U, BatchSingle<U>>,
    params?: Q & Exact<Q, UnpublishParams<U> & OperationOptions>,
  ): UnpublishOperation<U, Q> {
    return { sent: { op: 'unpublish', type: this.#type, ...timed(params) } }
  }

  discardDraft<const Q extends ActionParams<U> & OperationOptions = {}>(
    this: WithDrafts<U, BatchSingle<U>>,
    params?: Q & Exact<Q, ActionParams<U> & OperationOptions>,
  ): Operation<Done<Result<U, Q, true>>> {
    return { sent: { op: 'discardDraft', type: this.#type, ...params } }
  }
}

/** The publication of a document. Its result shows what that of `Collection.publish` does, but no `meta` if no times are sent. */
type PublishOperation<U extends UID, Q> = Operation<Done<PublishResult<U, Q>['data'], PlannedMeta<Q[keyof Q & ('publishAt' | 'unpublishAt')]>>>

/** The unpublication of a document. */
type UnpublishOperation<U extends UID, Q> = Operation<Done<UnpublishResult<U, Q>['data'], PlannedMeta<Q[keyof Q & 'unpublishAt']>>>

/** The `meta` of an operation with times of type T: all schedules of that localization. */
type PlannedMeta<T> = [T] extends [undefined] ? undefined : { schedules: LecternSchedule[] } | Extract<T, undefined>

/**
 * The operations as the server takes them: creations are named by their places, and references have these names. Equal operations give equal
 * bodies, so a batch may be made anew and sent again with the same idempotencyKey.
 */
function numbered(operations: readonly Operation[]): unknown {
  const names = new Map<unknown, string>()
  const list = operations.map((operation, i) => {
    if (!('ref' in operation)) return operation.sent
    const as = `document${i + 1}`
    names.set(operation.ref, as)
    return { ...operation.sent, as }
  })
  const rename = (_key: string, value: unknown) => (names.has(value) ? { $ref: names.get(value) } : value)
  return JSON.parse(JSON.stringify(list, rename))
}

/** The result of an operation that was carried out. M is its `meta`, undefined where there is none. */
export type Done<D, M = undefined> = { status: number; data: D; error?: undefined } & (undefined extends M ? { meta?: M } : { meta: M })

/** The result of an operation that failed. */
export interface Failed {
  status: number
  error: ErrorInfo
  data?: undefined
  meta?: undefined
}

type ResultOf<O> = O extends Operation<infer R> ? R : never

/** The answer to a batch that is carried out as a whole or not at all: a result for each operation, in order. */
export interface BatchResult<O extends readonly Operation[]> {
  data: { -readonly [I in keyof O]: ResultOf<O[I]> }
  meta: {}
}

/** The answer to a batch whose operations may fail one by one. */
export interface PartialBatchResult<O extends readonly Operation[]> {
  data: { -readonly [I in keyof O]: ResultOf<O[I]> | Failed }
  meta: { failed: number }
}
