import { expect, test } from "vitest";
import { addLink, noEdit } from "./links.ts";
import { moveItem, removeItem } from "./items.ts";
import {
  type Attributes,
  bodyOf,
  type Components,
  copyItem,
  defaults,
  hasUnparsed,
  isChanged,
  type Item,
  keyOf,
  newItem,
  unparsedText,
  type Values,
} from "./value.ts";

const readable = true;
const attributes: Attributes = {
  title: { type: "string", readable },
  rank: { type: "integer", readable, default: 3 },
  facts: { type: "json", readable },
  owner: { type: "relation", relation: "manyToOne", target: "api::person.person", readable },
  tags: { type: "relation", relation: "manyToMany", target: "api::tag.tag", readable },
  about: { type: "relation", relation: "morphToMany", readable },
  cover: { type: "media", readable },
  files: { type: "media", multiple: true, readable },
  address: { type: "component", component: "part.address", readable },
  zone: { type: "dynamiczone", components: ["part.quote"], readable },
};
const components: Components = {
  "part.address": { city: { type: "string", readable } },
  "part.quote": {
    line: { type: "string", readable },
    by: attributes.owner!,
    inner: { type: "component", component: "part.address", repeatable: true, readable },
  },
};
const person = { id: 7, documentId: "ada", name: "Ada" };
const file = { id: 9, documentId: "f", name: "a.png", url: "/a.png" };
const before: Values = {
  title: "a",
  rank: 1,
  facts: { a: 1 },
  owner: person,
  tags: { count: 3 },
  about: [{ __type: "api::tag.tag", documentId: "t" }],
  cover: file,
  files: [file],
  address: { id: 1, city: "Arden" },
  zone: [{ __component: "part.quote", id: 2, line: "x", by: person, inner: [{ id: 3, city: "Y" }] }],
};
const body = (change: Values) => bodyOf(attributes, components, before, { ...before, ...change });

test.each<[string, Values, Values]>([
  ["nothing", {}, {}],
  ["equal values", { facts: { a: 1 }, zone: structuredClone(before.zone) }, {}],
  ["a value, and null", { title: "b", rank: null }, { title: "b", rank: null }],
  ["a relation to one", { owner: { documentId: "tom", name: "Tom" } }, { owner: "tom" }],
  ["no relation", { owner: null }, { owner: null }],
  ["links that are only counted", { tags: { count: 4 } }, {}],
  [
    "links that are added",
    { tags: addLink([], noEdit, { documentId: "t", label: "T" }) },
    { tags: { connect: [{ documentId: "t", position: { end: true } }] } },
  ],
  ["an edit that changes nothing", { tags: noEdit }, {}],
  [
    "polymorphic links",
    { about: [{ __type: "api::person.person", documentId: "ada", name: "Ada" }] },
    { about: [{ __type: "api::person.person", documentId: "ada" }] },
  ],
  ["files", { cover: null, files: [{ ...file, id: 10 }, file] }, { cover: null, files: [10, 9] }],
  ["a component", { address: { id: 1, city: "Brook" } }, { address: { id: 1, city: "Brook" } }],
  ["no component", { address: null }, { address: null }],
  [
    "an item of a zone",
    { zone: [{ ...(before.zone as Item[])[0], line: "z" }] },
    { zone: [{ id: 2, __component: "part.quote", line: "z", by: "ada", inner: [{ id: 3, city: "Y" }] }] },
  ],
  ["a text that is no JSON", { facts: unparsedText("{") }, {}],
])("%s", (_, change, want) => expect(body(change)).toEqual(want));

test("a new document sends what it has", () => {
  expect(bodyOf(attributes, components, null, { ...defaults(attributes), title: "n" })).toEqual({
    title: "n",
    rank: 3,
  });
});

test("new items and copies have keys of their own, which bodies do not have", () => {
  const item = newItem("part.quote", components, true);
  const old = (before.zone as Item[])[0]!;
  const copy = copyItem(old, components["part.quote"]!, components);
  expect(new Set([item, old, copy].map(keyOf)).size).toBe(3);
  expect(body({ zone: [old, copy] })).toEqual({
    zone: [
      { id: 2, __component: "part.quote", line: "x", by: "ada", inner: [{ id: 3, city: "Y" }] },
      { __component: "part.quote", line: "x", by: "ada", inner: [{ city: "Y" }] },
    ],
  });
});

test("items are moved and removed by their key", () => {
  const items: Item[] = [{ id: 1 }, { id: 2 }, { id: 3 }];
  expect(moveItem(items, "id-1", 2).map((item) => item.id)).toEqual([2, 3, 1]);
  expect(moveItem(items, "id-3", 0).map((item) => item.id)).toEqual([3, 1, 2]);
  expect(removeItem(items, "id-2").map((item) => item.id)).toEqual([1, 3]);
});

test("a text that is no JSON is found anywhere in a form", () => {
  expect(hasUnparsed(before)).toBe(false);
  expect(hasUnparsed({ zone: [{ facts: unparsedText("{") }] })).toBe(true);
  expect(isChanged(attributes, components, before, before)).toBe(false);
  expect(isChanged(attributes, components, before, { ...before, facts: unparsedText("{") })).toBe(true);
  expect(isChanged(attributes, components, before, { ...before, title: "b" })).toBe(true);
});
