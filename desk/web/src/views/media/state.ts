// What the view of files shows: all of it stands in the address.
import type { Query } from "../../api/query.ts";
import { filterOf } from "../../files/library.ts";

export const kinds = ["images", "videos", "audios", "files"] as const;
export const orders = { newest: "createdAt:desc", oldest: "createdAt:asc", name: "name:asc", largest: "size:desc" };
export type Order = keyof typeof orders;

export interface MediaState {
  search: string;
  kind: (typeof kinds)[number] | "";
  order: Order;
  unused: boolean;
  texts: boolean; // the alternative texts are edited in a row
  file: number | null; // of which the details are shown
}

// stateOf reads the state from an address.
export function stateOf(query: URLSearchParams, mayFindUsage: boolean): MediaState {
  const order = query.get("sort") as Order;
  const file = Number(query.get("file"));
  return {
    search: query.get("search") ?? "",
    kind: kinds.find((kind) => kind === query.get("kind")) ?? "",
    order: Object.hasOwn(orders, order) ? order : "newest",
    unused: mayFindUsage && query.get("unused") === "true",
    texts: query.get("texts") === "true",
    file: Number.isInteger(file) && file > 0 ? file : null,
  };
}

// queryOf returns the address of a state. What the view shows anyway is left out.
export function queryOf(state: MediaState): URLSearchParams {
  const query = new URLSearchParams();
  if (state.search) query.set("search", state.search);
  if (state.kind) query.set("kind", state.kind);
  if (state.order !== "newest") query.set("sort", state.order);
  if (state.unused) query.set("unused", "true");
  if (state.texts) query.set("texts", "true");
  if (state.file !== null) query.set("file", String(state.file));
  return query;
}

// requestOf returns the parameters of the API for the files of a state.
export function requestOf({ search, kind, order, unused }: MediaState): Query {
  const filters = filterOf(search, kind ? [kind] : undefined);
  return {
    ...(Object.keys(filters).length > 0 ? { filters } : {}),
    sort: `${orders[order]},id:desc`,
    ...(unused ? { unused: true } : {}),
  };
}
