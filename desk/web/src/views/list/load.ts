// The pages of a list, as they are loaded.
import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { type Access, type ContentType, isSingle, pathOf } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import type { Place } from "../../place.ts";
import type { Document } from "./columns.ts";
import { type ListState, requestOf, stateOf } from "./state.ts";

export const pageSize = 50;

interface Page {
  data: Document[];
  meta: { pagination: { total: number } };
}

export function requestAt(access: Access, type: ContentType, state: ListState, page: number): Request {
  return { path: pathOf(type), query: requestOf(access, type, state, page * pageSize, pageSize) };
}

// pageAt loads a page, once for all that ask for it at about the same time.
export function pageAt(access: Access, type: ContentType, state: ListState, page: number) {
  const request = requestAt(access, type, state, page);
  return queryOptions({
    queryKey: ["list", type.uid, request.query],
    queryFn: async ({ signal }) => (await ask<Page>({ ...request, signal })).body,
    staleTime: 1000,
  });
}

// loadAhead loads the list that a place shows, if it shows one, while the page around it is made.
export function loadAhead(queries: QueryClient, access: Access, { path, query }: Place): void {
  const type = access.contentTypes.find(({ apiID }) => apiID === path[1]);
  if (path[0] !== "content" || path.length !== 2 || !type || isSingle(type)) return;
  void queries.prefetchQuery(pageAt(access, type, stateOf(access, type, query), 0));
}
