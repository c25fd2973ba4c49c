import { expect, test } from "vitest";
import { changes, equal, type Fate, fates, type Json, merge, type Values } from "./merge.ts";

test.each<[Json | undefined, Json | undefined, boolean]>([
  [1, 1, true],
  [1, "1", false],
  [null, undefined, false],
  [null, {}, false],
  [[], {}, false],
  [[1, [2]], [1, [2]], true],
  [[1, 2], [2, 1], false],
  [{ a: 1, b: null }, { b: null, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: null }, false],
  [{ toString: 1 }, { a: 1 }, false],
])("equal(%j, %j) is %j", (a, b, want) => {
  expect(equal(a, b)).toBe(want);
  expect(equal(b, a)).toBe(want);
});

test.each<[string, Json | undefined, Json | undefined, Json | undefined, Fate]>([
  ["nobody changed it", "a", "a", "a", "same"],
  ["both made the same of it", "a", "b", "b", "same"],
  ["typed here", "a", "b", "a", "mine"],
  ["saved elsewhere", "a", "a", "b", "theirs"],
  ["changed twice", "a", "b", "c", "conflict"],
  ["emptied here, changed elsewhere", "a", null, "c", "conflict"],
  ["a list in another order", [1, 2], [2, 1], [1, 2], "mine"],
  ["new on the server", undefined, undefined, 1, "theirs"],
])("%s", (_, base, mine, theirs, want) => {
  const values = (v: Json | undefined): Values => (v === undefined ? {} : { x: v });
  expect(fates(values(base), values(mine), values(theirs)).get("x")).toBe(want);
});

test("each attribute keeps what its only author made of it, and a conflict is settled by the choice", () => {
  const base = { title: "a", body: "a", slug: "a", tags: ["x"] };
  const mine = { title: "b", body: "a", slug: "b", tags: ["x"] };
  const theirs = { title: "a", body: "c", slug: "c", tags: ["x"] };
  expect(merge(base, mine, theirs, new Map([["slug", "mine"]]))).toEqual({ title: "b", body: "c", slug: "b", tags: ["x"] });
  expect(merge(base, mine, theirs, new Map([["slug", "theirs"]]))).toEqual({ title: "b", body: "c", slug: "c", tags: ["x"] });
  expect(() => merge(base, mine, theirs, new Map())).toThrow("slug");
});

test("a save sends what was changed, and nothing else", () => {
  expect(changes({ title: "a", body: "a" }, { title: "b", body: "a" })).toEqual({ title: "b" });
  expect(changes({}, { title: "b" })).toEqual({ title: "b" });
  expect(changes({ title: "a" }, { title: null })).toEqual({ title: null });
});
