
export interface LecternScheduleFilters extends Logic<LecternScheduleFilters> {
  id?: NumberFilter
  documentId?: TextFilter
  action?: TextFilter<LecternSchedule['action']>
  at?: DateTimeFilter
  contentType?: TextFilter
  document?: TextFilter
  documentLocale?: TextFilter
  state?: TextFilter<LecternSchedule['state']>
  principalKind?: TextFilter<NonNullable<LecternSchedule['principalKind']>>
  principalName?: TextFilter
  createdAt?: DateTimeFilter
  updatedAt?: DateTimeFilter
  publishedAt?: DateTimeFilter
}
type LecternScheduleField = keyof LecternSchedule
type LecternScheduleSort = LecternScheduleField | `${LecternScheduleField}:${'asc' | 'desc'}`

/** The parameters of a list of schedules. */
export interface LecternScheduleParams {
  filters?: LecternScheduleFilters
  fields?: readonly LecternScheduleField[]
  sort?: LecternScheduleSort | readonly LecternScheduleSort[]
  pagination?: Pagination
  _q?: string
}
type LecternScheduleResult<F> = [F] extends [readonly (infer N)[]]
  ? number extends F['length']
    ? Unknown<LecternSchedule>
    : [N] extends [never]
      ? LecternSchedule
      : Pick<LecternSchedule, LecternScheduleField & (N | Always)>
  : LecternSchedule

/** What is to be published and unpublished later. Callers see and cancel the schedules whose action they may use themselves. */
export class LecternSchedules {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** A page of schedules. */
  find<const Q extends LecternScheduleParams = {}>(
    params?: Q & Exact<Q, LecternScheduleParams>,
    request?: RequestOptions,
  ): Promise<{ data: Flat<LecternScheduleResult<Option<Q, 'fields'>>>[]; meta: { pagination: PaginationOf<Option<Q, 'pagination'>> } }> {
    return this.#transport.send('GET', '/_schedules', params, undefined, request) as Promise<{
      data: Flat<LecternScheduleResult<Option<Q, 'fields'>>>[]
      meta: { pagination: PaginationOf<Option<Q, 'pagination'>> }
    }>
  }

  /** Cancels the schedule with this documentId. */
  async cancel(documentId: string, request?: OnceOptions): Promise<void> {
    await this.#transport.send('DELETE', '/_schedules' + segment(documentId), undefined, undefined, request)
  }
}
