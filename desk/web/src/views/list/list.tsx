// The list of a type: it loads the pages that come into view, whatever the number of documents.
import { keepPreviousData, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Access, type ContentType, mainAttribute } from "../../api/access.ts";
import type { Place } from "../../place.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { type Document, isSorted, textOf } from "./columns.ts";
import { labelOf } from "../../form/field.ts";
import { type Done, Undo } from "../history/undo.tsx";
import { pageAt, pageSize, requestAt } from "./load.ts";
import { Many } from "./many.tsx";
import { type ListState, queryOf, stateOf } from "./state.ts";
import { Tools } from "./tools.tsx";

const rowHeight = 40; // CSS pixels; desk.css has the same

interface ListProps {
  access: Access;
  type: ContentType;
  place: Place;
  onQuery: (query: URLSearchParams) => void;
}

export function List({ access, type, place, onQuery }: ListProps) {
  const state = useMemo(() => stateOf(access, type, place.query), [access, type, place.query]);
  const queries = useQueryClient();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [done, setDone] = useState<Done | null>(null); // to many at once, last
  const scroller = useRef<HTMLDivElement>(null);

  const load = (page: number) => pageAt(access, type, state, page);
  const first = useQuery({ ...load(0), placeholderData: keepPreviousData });
  const total = first.data?.meta.pagination.total ?? 0;

  const rows = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    initialRect: { width: innerWidth, height: innerHeight }, // rows are there before they are measured
  });
  const visible = rows.getVirtualItems();
  const pages = [...new Set(visible.map((row) => Math.floor(row.index / pageSize)))];
  const loaded = useQueries({ queries: pages.map(load) });
  const documentAt = (index: number) => {
    const page = loaded[pages.indexOf(Math.floor(index / pageSize))]?.data;
    return page?.data[index % pageSize];
  };
  const failed = loaded.find((page) => page.error)?.error ?? first.error;

  useEffect(() => setSelected(new Set()), [place.query]);
  const change = (part: Partial<ListState>) => onQuery(queryOf(access, type, { ...state, ...part }));
  const toggle = useCallback((id: string) => {
    setSelected((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const here = visible.map((row) => documentAt(row.index)?.documentId).filter((id) => id !== undefined);
  const columns = state.columns;

  return (
    <section className="list" aria-label={type.schema.displayName}>
      <header className="row">
        <h1>{type.schema.displayName}</h1>
        <span className="quiet" role="status">{first.data ? (total === 1 ? t("list.countOne") : t("list.count", { n: total })) : ""}</span>
        <CopyCurl request={requestAt(access, type, state, 0)} />
        {"create" in type.actions && (
          <PlaceLink className="button primary" to={["content", type.apiID, "new"]} query={newForm(state.locale)}>
            {t("list.new", { type: type.schema.displayName })}
          </PlaceLink>
        )}
      </header>
      <Tools access={access} type={type} state={state} onChange={change} />
      {selected.size > 0 && (
        <Many
          access={access}
          type={type}
          ids={[...selected]}
          locale={state.locale}
          onDone={(did) => {
            setDone(did);
            setSelected(new Set());
            void queries.invalidateQueries({ queryKey: ["list", type.uid] });
          }}
        />
      )}
      {done && <Undo key={done.ids.join()} type={type} done={done} onUndone={() => void queries.invalidateQueries({ queryKey: ["list", type.uid] })} />}
      {failed && <Problem error={failed} retry={() => void queries.invalidateQueries({ queryKey: ["list", type.uid] })} />}
      {!first.data && !failed && <Waiting />}
      {first.data && total === 0 && (
        <p className="quiet">{t(state.search || state.conditions.length > 0 ? "list.noMatch" : "list.empty")}</p>
      )}
      {total > 0 && (
        <div ref={scroller} className="scroller" role="table" aria-label={type.schema.displayName} aria-rowcount={total + 1}>
          <div className="tr head" role="row" aria-rowindex={1}>
            <span className="td check" role="columnheader">
              <input
                type="checkbox"
                aria-label={t("list.selectAll")}
                checked={here.length > 0 && here.every((id) => selected.has(id))}
                onChange={(event) => setSelected(new Set(event.target.checked ? [...selected, ...here] : []))}
              />
            </span>
            {columns.map((name) => <Header key={name} type={type} name={name} sort={state.sort} onSort={(sort) => change({ sort })} />)}
          </div>
          <div className="rows" role="rowgroup" ref={(e) => { if (e) e.style.height = `${rows.getTotalSize()}px`; }}>
            {visible.map((row) => {
              const document = documentAt(row.index);
              return (
                <Row
                  key={row.key}
                  type={type}
                  columns={columns}
                  locale={state.locale}
                  index={row.index}
                  start={row.start}
                  document={document}
                  isSelected={document !== undefined && selected.has(document.documentId)}
                  onToggle={toggle}
                />
              );
            })}
          </div>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  type: ContentType;
  columns: string[];
  locale: string;
  index: number;
  start: number; // CSS pixels
  document: Document | undefined; // undefined: it is not loaded yet
  isSelected: boolean;
  onToggle: (id: string) => void;
}

// Row is rendered again only if something in it has changed, and not whenever the list is scrolled.
const Row = memo(function Row({ type, columns, locale, index, start, document, isSelected, onToggle }: RowProps) {
  const main = mainAttribute(type);
  return (
    <div className="tr" role="row" aria-rowindex={index + 2} ref={(e) => { if (e) e.style.transform = `translateY(${start}px)`; }}>
      <span className="td check" role="cell">
        {document && (
          <input
            type="checkbox"
            aria-label={`${t("list.select")}: ${nameOf(document, type, main)}`}
            checked={isSelected}
            onChange={() => onToggle(document.documentId)}
          />
        )}
      </span>
      {columns.map((name, i) => (
        <span key={name} className="td" role="cell">
          {document && i === 0
            ? (
              <PlaceLink to={["content", type.apiID, document.documentId]} query={locale ? new URLSearchParams({ locale }) : undefined}>
                {textOf(type.schema.attributes[name], document[name]) || nameOf(document, type, main)}
              </PlaceLink>
            )
            : document && textOf(type.schema.attributes[name], document[name])}
        </span>
      ))}
    </div>
  );
});

// newForm returns the address of a new document, which tells it apart from others that were not saved yet.
function newForm(locale: string): URLSearchParams {
  return new URLSearchParams({ form: crypto.randomUUID().slice(0, 8), ...(locale ? { locale } : {}) });
}

function nameOf(document: Document, type: ContentType, main: string | null): string {
  return (main && textOf(type.schema.attributes[main], document[main])) || document.documentId;
}

interface HeaderProps {
  type: ContentType;
  name: string;
  sort: string;
  onSort: (sort: string) => void;
}

function Header({ type, name, sort, onSort }: HeaderProps) {
  const label = labelOf(name);
  if (!isSorted(type.schema.attributes[name], name)) return <span className="td" role="columnheader">{label}</span>;
  const [by, order] = sort.split(":");
  const ascending = by === name && order !== "desc";
  return (
    <span className="td" role="columnheader" aria-sort={by !== name ? "none" : ascending ? "ascending" : "descending"}>
      <button type="button" title={t("list.sortBy", { column: label })} onClick={() => onSort(`${name}:${ascending ? "desc" : "asc"}`)}>
        {label}
        {by === name && <span aria-hidden="true">{ascending ? " ↑" : " ↓"}</span>}
      </button>
    </span>
  );
}
