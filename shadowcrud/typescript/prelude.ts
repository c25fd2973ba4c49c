// ---------------------------------------------------------------------------------------------------------------------
// Values.

/** Any JSON value. */
export type JSONValue = string | number | boolean | null | JSONValue[] | { [key: string]: JSONValue }

/** A day: "2026-11-22". */
export type DateString = string

/** A time of day: "18:30:00.000". */
export type TimeString = string

/** A timestamp: "2026-11-22T18:30:00.000Z". */
export type DateTimeString = string

/** An integer of up to 64 bits, as text, since a number would lose digits. */
export type BigIntegerString = string

/** Rich text as a list of nodes, the value of a blocks attribute. */
export type Blocks = BlockNode[]
export type BlockNode =
  | { type: 'paragraph'; children: InlineNode[] }
  | { type: 'heading'; level: 1 | 2 | 3 | 4 | 5 | 6; children: InlineNode[] }
  | { type: 'quote'; children: InlineNode[] }
  | { type: 'code'; language?: string; children: TextNode[] }
  | { type: 'image'; image: BlockImage; children: InlineNode[] }
  | ListNode
export interface ListNode {
  type: 'list'
  format: 'ordered' | 'unordered'
  children: (ListNode | { type: 'list-item'; children: InlineNode[] })[]
}
export type InlineNode = TextNode | { type: 'link'; url: string; children: TextNode[] }
export interface TextNode {
  type: 'text'
  text: string
  bold?: boolean
  italic?: boolean
  underline?: boolean
  strikethrough?: boolean
  code?: boolean
}
export interface BlockImage {
  name: string
  url: string
  alternativeText?: string | null
  caption?: string | null
  width: number
  height: number
  hash: string
  ext: string
  mime: string
  size: number
  previewUrl?: string | null
  provider: string
  createdAt: DateTimeString
  updatedAt: DateTimeString
}

/** A smaller image that the server made of an uploaded one. */
export interface ImageFormat {
  name: string
  hash: string
  ext: string
  mime: string
  path: string | null
  width: number
  height: number
  size: number
  sizeInBytes: number
  url: string
}

// ---------------------------------------------------------------------------------------------------------------------
// Definitions. Types of this file refer to a content-type or component by its uid.

/** The uid of a content-type. */
export type TypeUID = keyof ContentTypes

/** The uid of a component. */
export type ComponentUID = keyof Components

/** The uid of a content-type or component. */
export type UID = keyof Schemas

/** What a relation, component or media attribute of `Schemas` leads to: one document, component or file. */
export interface One<U extends UID> {
  one: U
}

/** A list of documents, components or files. */
export interface Many<U extends UID> {
  many: U
}

/** A dynamic zone: a list of components, told apart by `__component`. */
export interface Zone<U extends ComponentUID> {
  zone: U
}

/** One document of any type, told apart by `__type`. */
export interface MorphOne {
  morph: 'one'
}

/** A list of documents of any type. */
export interface MorphMany {
  morph: 'many'
}

/**
 * What every object has under the name K from Object.prototype, such as toString; never for other names. An optional property of that name allows it,
 * since the compiler takes an object without the property for one that has the inherited one.
 */
type Inherited<K> = K extends keyof Object ? Object[K] : never

type FieldsOf<U extends UID> = Schemas[U]['fields']
type RelationsOf<U extends UID> = Schemas[U]['relations']

/** The name of a field of U, for `fields` and `sort`. */
export type FieldName<U extends UID> = keyof FieldsOf<U> & string

/** The name of a relation, component, dynamic zone or media attribute of U, for `populate`. */
export type RelationName<U extends UID> = keyof RelationsOf<U> & string

// ---------------------------------------------------------------------------------------------------------------------
// Filters.

/** What the filters of a type have beside its attributes. */
export interface Logic<F> {
  $and?: readonly F[]
  $or?: readonly F[]
  $not?: F
}

/** Comparisons with a value of type T. */
export interface Comparisons<T> {
  /** Equal to a value, or to one of a list. */
  $eq?: Operand<T>
  $ne?: Operand<T>
  $in?: T | readonly T[]
  $notIn?: T | readonly T[]
  $lt?: T
  $lte?: T
  $gt?: T
  $gte?: T
  $between?: readonly [T, T]
  $null?: boolean
  $notNull?: boolean
}

/** Conditions on a value of type T. */
export interface Operators<T> extends Comparisons<T>, Logic<ValueFilter<T>> {}

/** Conditions on a text. Those that end in `i` ignore upper and lower case. */
export interface TextOperators<T extends string = string> extends Comparisons<T>, Logic<TextFilter<T>> {
  $eqi?: string | readonly string[]
  $nei?: string | readonly string[]
  $contains?: string | readonly string[]
  $containsi?: string | readonly string[]
  $notContains?: string | readonly string[]
  $notContainsi?: string | readonly string[]
  $startsWith?: string | readonly string[]
  $startsWithi?: string | readonly string[]
  $endsWith?: string | readonly string[]
  $endsWithi?: string | readonly string[]
}

type Operand<T> = T | null | readonly (T | null)[]
type ValueFilter<T> = Operand<T> | Operators<T>

export type TextFilter<T extends string = string> = Operand<T> | TextOperators<T>
export type NumberFilter = ValueFilter<number>
export type BigIntegerFilter = ValueFilter<number | bigint | string>
export type BooleanFilter = ValueFilter<boolean>
export type DateFilter = ValueFilter<DateString>
export type TimeFilter = ValueFilter<TimeString>
export type DateTimeFilter = ValueFilter<DateTimeString | Date>

/** Conditions on what a relation leads to: the attributes of the targets, or their numeric `id`. */
export type RelationFilter<F> = (F & Comparisons<number>) | Operand<number>

/** The filters of U. */
export type Filters<U extends UID> = Schemas[U]['filters']

// ---------------------------------------------------------------------------------------------------------------------
// Parameters.

export type Status = 'draft' | 'published'

/** Which documents a list shows, by what their drafts and published versions have in common. */
export type PublicationFilter =
  | 'never-published'
  | 'has-published-version'
  | 'modified'
  | 'unmodified'
  | 'never-published-document'
  | 'has-published-version-document'
  | 'published-without-draft'
  | 'published-with-draft'

/** A sort key such as 'title', 'title:desc' or 'owner.name:asc'. */
export type SortKey<U extends UID> =
  | FieldName<U>
  | `${FieldName<U>}:${'asc' | 'desc'}`
  | `${RelationName<U>}.${string}`

/** A sort as an object: { owner: { name: 'desc' } }. */
export type SortObject<U extends UID> = { [K in FieldName<U>]?: 'asc' | 'desc' | Inherited<K> } & {
  [K in RelationName<U>]?: (RelationsOf<U>[K] extends One<infer T> | Many<infer T> ? SortObject<T> : never) | Inherited<K>
}

export type Sort<U extends UID> = SortKey<U> | SortObject<U> | readonly (SortKey<U> | SortObject<U>)[]

/** Pages by number and size, or by offset and limit. */
export type Pagination =
  | { page?: number; pageSize?: number; withCount?: boolean; start?: never; limit?: never }
  | { start?: number; limit?: number; withCount?: boolean; page?: never; pageSize?: never }

/** The fields of an answer: names, or '*' for all. `id` and `documentId` are always there. */
export type FieldsParam<U extends UID> = FieldName<U> | '*' | readonly (FieldName<U> | '*')[]

/** A path such as 'owner' or 'owner.avatar'. The compiler checks its first two names. */
export type PopulatePath<U extends UID> = {
  [K in RelationName<U>]: K | `${K}.${PathBelow<RelationsOf<U>[K]>}`
}[RelationName<U>]
type PathBelow<R> = R extends One<infer U> | Many<infer U>
  ? RelationName<U> | `${RelationName<U>}.${string}`
  : string

/** What an answer shows of relations, components, dynamic zones and files: '*' for one level of everything, paths, or an object. */
export type Populate<U extends UID> = '*' | PopulatePath<U> | readonly PopulatePath<U>[] | PopulateObject<U>
export type PopulateObject<U extends UID> = {
  [K in RelationName<U>]?: boolean | PopulateOptions<RelationsOf<U>[K]> | Inherited<K>
}
export type PopulateOptions<R> = R extends One<infer U> | Many<infer U>
  ? Narrowed<U>
  : R extends Zone<infer U>
    ? Variants<U>
    : Variants<TypeUID>

/** What is shown of the documents, components or files under an attribute. */
export interface Narrowed<U extends UID> {
  fields?: FieldsParam<U>
  populate?: Populate<U>
  filters?: Filters<U>
  sort?: Sort<U>
  /** Show how many there are, instead of them. Not for files. */
  count?: U extends 'plugin::upload.file' ? never : boolean
}

/** What is shown of a dynamic zone or of a relation to any type: everything one level deep, or some variants. The server does not count them. */
export type Variants<U extends UID> =
  | { populate: '*'; on?: never }
  | { on: { [K in U]?: boolean | Narrowed<K> }; populate?: never }

/** What an answer shows of documents. */
export interface SelectionParams<U extends UID> {
  fields?: FieldsParam<U>
  populate?: Populate<U>
}

/** The parameters of a read of one document. */
export interface OneParams<U extends UID> extends SelectionParams<U> {
  filters?: Filters<U>
  status?: Status
  locale?: Locale
  publicationFilter?: PublicationFilter
  /** The document as it was at a time, or at a position of the change feed. It takes the permission to read the history. */
  asOf?: DateTimeString | Date
}

/** The parameters of a list. */
export interface FindParams<U extends UID> extends SelectionParams<U> {
  filters?: Filters<U>
  sort?: Sort<U>
  pagination?: Pagination
  status?: Status
  /** A locale, several, or '*' for all. The default locale if there is none. */
  locale?: Locale | '*' | readonly Locale[]
  publicationFilter?: PublicationFilter
  /** Texts that a document contains somewhere. */
  _q?: string
}

/** The parameters of a write. They say what the answer shows. */
export interface WriteParams<U extends UID> extends SelectionParams<U> {
  /** 'draft' writes only the draft. Without it, the document is published. */
  status?: Status
  locale?: Locale
}

/**
 * A, with the type never for each key that T does not have, at any depth: the compiler itself does not look for unknown keys in a type
 * parameter. An A that is as wide as T needs no check.
 */
export type Exact<A, T> = [T] extends [A] ? A : Known<A, T>
type Known<A, T> = A extends string | number | boolean | bigint | null | undefined | Date
  ? A
  : A extends readonly unknown[]
    ? { [I in keyof A]: Exact<A[I], Element<T>> }
    : { [K in keyof A]: K extends KeyOf<T> ? Exact<A[K], ValueAt<T, K>> : never }
type Element<T> = T extends readonly (infer E)[] ? E : never
type KeyOf<T> = T extends object ? (T extends readonly unknown[] ? never : keyof T) : never
type ValueAt<T, K> = T extends object ? (K extends keyof T ? T[K] : never) : never

// ---------------------------------------------------------------------------------------------------------------------
// Answers.

/** One version of a document, or a component, as an answer shows it to a request with the parameters Q. */
export type Result<U extends UID, Q = {}, Draft = IsDraft<Q>> = Flat<
  Selected<U, Option<Q, 'fields'>, Draft> & Populated<U, Option<Q, 'populate'>, Draft>
>

type Flat<T> = { [K in keyof T]: T[K] } & {}
type Option<Q, K extends string> = K extends keyof Q ? Q[K] : undefined
type IsDraft<Q> = 'draft' extends Option<Q, 'status'> ? true : false

/** The fields of U. A draft may lack those that are required. */
type Scalars<U extends UID, Draft> = Draft extends true
  ? { [K in keyof FieldsOf<U>]: K extends Schemas[U]['required'] ? FieldsOf<U>[K] | null : FieldsOf<U>[K] }
  : FieldsOf<U>

type Selected<U extends UID, F, Draft> = [F] extends [undefined]
  ? Scalars<U, Draft>
  : [F] extends [readonly (infer N)[]]
    ? number extends F['length']
      ? Unknown<Scalars<U, Draft>>
      : Chosen<U, N, Draft>
    : [F] extends [string]
      ? Chosen<U, F, Draft>
      : Unknown<Scalars<U, Draft>>
type Chosen<U extends UID, N, Draft> = [N] extends [never]
  ? Scalars<U, Draft>
  : '*' extends N
    ? Scalars<U, Draft>
    : Pick<Scalars<U, Draft>, keyof FieldsOf<U> & (N | Always)>
/** Some of the fields: the compiler does not know which. */
type Unknown<S> = Pick<S, keyof S & Always> & Partial<Omit<S, Always>>
type Always = 'id' | 'documentId'

type Populated<U extends UID, P, Draft> = [P] extends [undefined]
  ? {}
  : [P] extends ['*']
    ? { [K in keyof RelationsOf<U>]: Target<RelationsOf<U>[K], true, Draft> }
    : [P] extends [string]
      ? PopulatedObject<U, Tree<P>, Draft>
      : [P] extends [readonly (infer N extends string)[]]
        ? number extends P['length']
          ? { [K in keyof RelationsOf<U>]?: unknown }
          : PopulatedObject<U, Tree<N>, Draft>
        : [P] extends [object]
          ? PopulatedObject<U, P, Draft>
          : { [K in keyof RelationsOf<U>]?: unknown }
type PopulatedObject<U extends UID, P, Draft> = {
  -readonly [K in keyof P as K extends keyof RelationsOf<U> ? (P[K] extends false | undefined ? never : K) : never]:
    | Target<RelationsOf<U>[K & keyof RelationsOf<U>], P[K], Draft>
    | (false extends P[K] ? undefined : never)
}

/** Paths as an object: 'owner' | 'owner.avatar' becomes { owner: { populate: { avatar: … } } }. */
type Tree<N extends string> = {
  [H in Head<N>]: { populate: Tree<Rest<N, H>> }
}
type Head<N extends string> = N extends `${infer H}.${string}` ? H : N
type Rest<N extends string, H extends string> = N extends `${H}.${infer R}` ? R : never

/** What an answer shows under an attribute that leads to R, with the options O. */
type Target<R, O, Draft> = O extends { count: true }
  ? { count: number }
  : R extends One<infer U>
    ? Result<U, O, Draft> | null
    : R extends Many<infer U>
      ? Result<U, O, Draft>[]
      : R extends Zone<infer U>
        ? Variant<'__component', U, O, Draft>[]
        : R extends MorphOne
          ? Variant<'__type', TypeUID, O, Draft> | null
          : Variant<'__type', TypeUID, O, Draft>[]

/** A component of a zone or a document of any type: a union that Key tells apart. */
type Variant<Key extends string, U extends UID, O, Draft> = U extends UID
  ? [VariantsIn<O>] extends [never]
    ? Flat<{ [K in Key]: U } & Result<U, { populate: Option<O, 'populate'> }, Draft>>
    : U extends VariantsIn<O>
      ? Option<Option<O, 'on'>, U> extends false | undefined
        ? never
        : Flat<{ [K in Key]: U } & Result<U, Option<Option<O, 'on'>, U>, Draft>>
      : never
  : never
/** The variants of which `on` says something. An `on` that says nothing is not sent, so that all variants are shown. */
type VariantsIn<O> = O extends { on: infer On } ? { [K in keyof On]-?: [On[K]] extends [undefined] ? never : K }[keyof On] : never

/** The answer with one document. */
export interface OneResult<U extends UID, Q = {}, Draft = IsDraft<Q>> {
  data: Result<U, Q, Draft>
  meta: {}
}

/** The answer with a list. */
export interface FindResult<U extends UID, Q = {}> {
  data: Result<U, Q>[]
  meta: { pagination: PaginationOf<Option<Q, 'pagination'>> }
}

export type PaginationOf<G> = G extends { start: unknown } | { limit: unknown } ? OffsetPagination<G> : PagePagination<G>
export type PagePagination<G = {}> = Flat<{ page: number; pageSize: number } & Counts<G, { pageCount: number; total: number }>>
export type OffsetPagination<G = {}> = Flat<{ start: number; limit: number } & Counts<G, { total: number }>>
type Counts<G, C> = G extends { withCount: infer W }
  ? boolean extends W
    ? Partial<C>
    : W extends true
      ? C
      : {}
  : CountedByDefault extends true
    ? C
    : {}

// ---------------------------------------------------------------------------------------------------------------------
// Bodies of writes.

/** In a batch: the document that an earlier operation creates. */
export interface BatchRef {
  readonly $ref: string
}

/** A document that a relation leads to: its documentId, the numeric id of a version, or an object with one of them. */
export type Ref = string | number | BatchRef | RefObject
export type RefObject = { documentId: string | BatchRef; locale?: Locale | null; status?: Status } | { id: number | string }

/** A document, and its place in the list. */
export type PositionedRef = Ref | (RefObject & { position?: Position })
export type Position =
  | { before: string | number | BatchRef; locale?: Locale; status?: Status }
  | { after: string | number | BatchRef; locale?: Locale; status?: Status }
  | { start: true }
  | { end: true }

/** The value of a relation or media attribute: the targets, or the changes of the list. Null removes all. */
export type RelationInput<R = PositionedRef> =
  | R
  | readonly R[]
  | null
  | { connect?: R | readonly R[]; disconnect?: R | readonly R[]; set?: never; options?: { strict?: boolean } }
  | { set: R | readonly R[]; connect?: never; disconnect?: never; options?: { strict?: boolean } }

/** A document of any type. */
export type MorphRef = RefObject & { __type: TypeUID; position?: Position }

/** A component: a new one, or changes of the one with that id. */
export type ComponentInput<I> = I | ({ id: number | string } & Some<I>)

/** Some members of I. */
type Some<I> = { [K in keyof I]?: I[K] | Inherited<K> }

/** The component of a dynamic zone with that uid. */
export type ZoneInput<U extends ComponentUID> = U extends ComponentUID
  ? { __component: U } & ComponentInput<Schemas[U]['input']>
  : never

/** The body of a creation. A draft may lack what is required, but for dynamic zones and repeatable components. */
export type CreateInput<U extends UID, Q = {}> = [IsDraft<Q>, Schemas[U]['drafts']] extends [true, true]
  ? UpdateInput<U> & Pick<Schemas[U]['input'], Schemas[U]['requiredLists'] & keyof Schemas[U]['input']>
  : Schemas[U]['input']

/** The body of an update: what changes. */
export type UpdateInput<U extends UID> = [Schemas[U]['input']] extends [never] ? never : Some<Schemas[U]['input']>

// ---------------------------------------------------------------------------------------------------------------------
// Errors.

/** The answer to a request that failed. */
export interface ErrorEnvelope {
  data: null
  error: ErrorInfo
}
export interface ErrorInfo {
  status: number
  name: ErrorName
  message: string
  details?: JSONValue
}

/** An issue of a ValidationError, of which `details.errors` lists several. */
export interface Issue {
  path: string[]
  message: string
  name: string
  value?: JSONValue
}
