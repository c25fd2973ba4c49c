// What a list shows: all of it stands in the address, so that it can be kept, sent and gone back to.
import { type Access, type ContentType, isLocalized, mainAttribute, readsDrafts } from "../../api/access.ts";
import type { Query } from "../../api/query.ts";
import { columnsOf, firstColumns, firstSort, populateOf } from "./columns.ts";

// A Condition is one filter. path leads through relations: ["author", "name"].
export interface Condition {
  path: string[];
  operator: string; // such as $eq
  value: string;
}

export interface ListState {
  columns: string[];
  search: string;
  sort: string; // name:asc or name:desc
  locale: string;
  status: "draft" | "published";
  conditions: Condition[];
}

// stateOf reads the state from an address. What the type does not have, or the reader may not see, is left out.
export function stateOf(access: Access, type: ContentType, query: URLSearchParams): ListState {
  const all = columnsOf(type);
  const main = mainAttribute(type);
  const chosen = query.get("columns")?.split(",").filter((name) => name === main || all.includes(name)) ?? [];
  const locale = query.get("locale") ?? "";
  return {
    columns: chosen.length > 0 ? chosen : firstColumns(type),
    search: query.get("search") ?? "",
    sort: query.get("sort") ?? firstSort(type),
    locale: isLocalized(type) ? (access.locales.includes(locale) ? locale : (access.locales[0] ?? "")) : "",
    status: query.get("status") === "published" || !readsDrafts(access, type) ? "published" : "draft",
    conditions: query.getAll("filter").map(conditionOf).filter((c) => c !== null),
  };
}

// queryOf returns the address of a state. What a list shows anyway is left out.
export function queryOf(access: Access, type: ContentType, state: ListState): URLSearchParams {
  const query = new URLSearchParams();
  const first = stateOf(access, type, query);
  if (state.columns.join() !== first.columns.join()) query.set("columns", state.columns.join());
  for (const name of ["search", "sort", "locale", "status"] as const) {
    if (state[name] !== first[name]) query.set(name, state[name]);
  }
  for (const c of state.conditions) query.append("filter", `${c.path.join(".")} ${c.operator} ${c.value}`);
  return query;
}

function conditionOf(text: string): Condition | null {
  const [path, operator, ...value] = text.split(" ");
  if (!path || !operator?.startsWith("$")) return null;
  return { path: path.split("."), operator, value: value.join(" ") };
}

// requestOf returns the parameters of the API for one page of a list.
export function requestOf(access: Access, type: ContentType, state: ListState, start: number, limit: number): Query {
  const main = mainAttribute(type);
  const plain = (name: string) => !["relation", "media"].includes(type.schema.attributes[name]?.type ?? "");
  const fields = [...new Set([...(main ? [main] : []), ...state.columns.filter((name) => plain(name) && name !== "locale")])];
  const filters = state.conditions.map((c) => c.path.reduceRight<Query>((inner, name) => ({ [name]: inner }), {
    [c.operator]: valueOf(c),
  }));
  return {
    fields,
    populate: populateOf(type, state.columns, access.contentTypes),
    sort: state.sort,
    _q: state.search || undefined,
    status: type.schema.draftAndPublish ? state.status : undefined,
    locale: state.locale || undefined,
    filters: filters.length > 0 ? { $and: filters } : undefined,
    pagination: { start, limit },
  };
}

function valueOf(c: Condition): string | string[] | boolean {
  if (c.operator === "$null" || c.operator === "$notNull") return true;
  if (c.operator === "$in" || c.operator === "$notIn") return c.value.split(",").map((one) => one.trim());
  return c.value;
}
