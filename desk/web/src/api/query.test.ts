import { expect, test } from "vitest";
import { type Query, queryString } from "./query.ts";

test.each<[Query, string]>([
  [{}, ""],
  [{ page: undefined }, ""],
  [{ status: "draft", pagination: { page: 2 } }, "?status=draft&pagination[page]=2"],
  [{ fields: ["title", "slug"] }, "?fields[0]=title&fields[1]=slug"],
  [{ filters: { $or: [{ a: { $eq: "x&y" } }, { b: { $null: true } }] } }, "?filters[%24or][0][a][%24eq]=x%26y&filters[%24or][1][b][%24null]=true"],
])("%j is %s", (query, want) => {
  expect(queryString(query)).toBe(want);
});
