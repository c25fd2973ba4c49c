import { expect, test } from "vitest";
import { randomBlocks, type Random, randomSource } from "../blocks/random.ts";
import type { Attributes, Components, Item, Values } from "../form/value.ts";
import { aligned, pair } from "./align.ts";
import { blocksText } from "./blocks.ts";
import { adopted, contents, counted, differences, type FieldDifference } from "./values.ts";
import { folded, wordParts } from "./words.ts";

const readable = true;
const words = ["bread", "Größe", "a", "日本", "two\nlines", " ", ".", "🙂", "<b>"];
const text = (random: Random) => Array.from({ length: random(12) }, () => words[random(words.length)]).join(" ");

test("the parts of two texts are these texts", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomSource(seed);
    const [before, after] = [text(random), text(random)];
    const parts = wordParts(before, after);
    const of = (side: string) => parts.filter((part) => part.side === side || part.side === "both").map((part) => part.text).join("");
    expect([of("before"), of("after")]).toEqual([before, after]);
    if (before === after) expect(parts.every((part) => part.side === "both")).toBe(true);
  }
});

test("texts are compared by words, and what is far from a change is left out", () => {
  const long = "all the same ".repeat(100);
  const parts = wordParts(`${long}old ${long}`, `${long}new ${long}`);
  expect(parts.map((part) => part.side)).toEqual(["both", "before", "after", "both"]);
  const shown = folded(parts);
  expect(shown.filter((part) => part === null)).toHaveLength(2);
  expect(shown.map((part) => part?.text ?? "").join("").length).toBeLessThan(300);
});

test("texts of many words that have nothing in common are compared in little time", () => {
  const begun = performance.now();
  const of = (sign: string) => Array.from({ length: 20_000 }, (_, i) => `${sign}${i}`).join(" ");
  expect(wordParts(of("a"), of("b")).some((part) => part.side === "after")).toBe(true);
  expect(performance.now() - begun).toBeLessThan(5_000);
});

test("two lists beside each other have all entries of both, in their order but for those that moved", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomSource(seed);
    const list = () => Array.from({ length: random(8) }, () => String(random(6)));
    const [before, after] = [list(), list()];
    const rows = aligned(before, after, pair(before, after));
    expect(rows.flatMap((row) => row.after ?? [])).toEqual(after);
    expect(rows.flatMap((row) => row.before ?? []).sort()).toEqual([...before].sort());
    for (const row of rows) if (row.before && row.after) expect(row.before).toBe(row.after);
    const still = rows.filter((row) => !row.isMoved).flatMap((row) => row.before ?? []);
    let at = 0;
    for (const entry of before) if (entry === still[at]) at++;
    expect(at).toBe(still.length);
    if (before.join() === after.join()) expect(rows.every((row) => row.before && row.after && !row.isMoved)).toBe(true);
  }
});

test("an entry that was put in front of others is the only one that has moved", () => {
  const [before, after] = [["a", "b", "c", "d"], ["d", "a", "x", "c"]];
  expect(aligned(before, after, pair(before, after))).toEqual([
    { before: "d", after: "d", isMoved: true },
    { before: "a", after: "a", isMoved: false },
    { after: "x", isMoved: false },
    { before: "b", isMoved: false },
    { before: "c", after: "c", isMoved: false },
  ]);
});

const components: Components = {
  "part.quote": { text: { type: "string", readable }, by: { type: "relation", relation: "manyToOne", target: "api::person.person", readable } },
  "part.box": { label: { type: "string", readable }, inner: { type: "component", component: "part.quote", repeatable: true, readable } },
};
const attributes: Attributes = {
  title: { type: "string", readable },
  body: { type: "blocks", readable },
  rank: { type: "integer", readable },
  seen: { type: "boolean", readable },
  facts: { type: "json", readable },
  owner: { type: "relation", relation: "manyToOne", target: "api::person.person", readable },
  tags: { type: "relation", relation: "manyToMany", target: "api::person.person", readable },
  files: { type: "media", multiple: true, readable },
  box: { type: "component", component: "part.box", readable },
  zone: { type: "dynamiczone", components: ["part.quote", "part.box"], readable },
};
const of = { components, labelIn: () => "name" };

let lastId = 0;

function randomValues(random: Random): Values {
  const some = <T>(value: () => T) => (random(5) === 0 ? null : value());
  const many = <T>(value: () => T) => Array.from({ length: random(4) }, value);
  const link = () => ({ documentId: `d${random(5)}`, name: `Person ${random(5)}` });
  const distinct = (list: { documentId: string }[]) => list.filter((a, i) => list.findIndex((b) => b.documentId === a.documentId) === i);
  const quote = (): Item => ({ id: ++lastId, text: words[random(words.length)]!, by: some(link) });
  const box = (): Item => ({ id: ++lastId, label: words[random(3)]!, inner: many(quote) });
  return {
    id: 1,
    documentId: "abc",
    title: text(random),
    body: some(() => randomBlocks(random)),
    rank: some(() => random(3)),
    seen: some(() => random(2) === 0),
    facts: some(() => ({ a: random(3), b: [random(2)] })),
    owner: some(link),
    tags: distinct(many(link)),
    files: many(() => random(4)).filter((n, i, list) => list.indexOf(n) === i).map((id) => ({ id, name: `${id}.png` })),
    box: some(box),
    zone: many(() => (random(2) === 0 ? { __component: "part.quote", ...quote() } : { __component: "part.box", ...box() })),
  };
}

// edited returns a version with some of the values of another, and its entries in another order.
function edited(random: Random, values: Values): Values {
  const other = randomValues(random);
  const out: Values = structuredClone(values);
  for (const name of Object.keys(attributes)) if (random(3) === 0) out[name] = other[name];
  const zone = out.zone as Item[];
  if (random(2) === 0 && zone.length > 1) zone.unshift(zone.pop()!);
  return out;
}

const names = (list: FieldDifference[]) => list.map((field) => field.name);

test("versions differ where they are not equal, from either side, and not from themselves or their copy", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomSource(seed);
    const before = randomValues(random);
    const after = edited(random, before);
    expect(differences(attributes, of, before, structuredClone(before))).toEqual([]);
    expect(names(differences(attributes, of, before, after))).toEqual(names(differences(attributes, of, after, before)));
    const found = new Set(names(differences(attributes, of, before, after)));
    for (const name of Object.keys(attributes)) {
      if (JSON.stringify(before[name]) === JSON.stringify(after[name])) expect(found).not.toContain(name);
    }
    for (const name of ["title", "rank", "seen", "facts", "body"]) {
      if (JSON.stringify(before[name]) !== JSON.stringify(after[name]) && (before[name] || after[name])) expect(found).toContain(name);
    }
  }
});

test("a version that takes each value of another that differs is equal to it", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomSource(seed);
    const [then, now] = [randomValues(random), randomValues(random)];
    const form = { ...now };
    for (const { name, attribute } of differences(attributes, of, then, now)) {
      form[name] = adopted(attribute, components, then[name]);
      if (["zone", "box"].includes(name)) expect(JSON.stringify(form[name])).not.toContain('"id":');
    }
    expect(differences(attributes, of, then, form)).toEqual([]);
  }
});

test("entries are the same by their id, or by their values if they have another one", () => {
  const quote = (id: number, text: string) => ({ id, __component: "part.quote", text, by: null });
  const rows = (before: Item[], after: Item[]) => {
    const [found] = differences({ zone: attributes.zone! }, of, { zone: before }, { zone: after });
    return found?.is.kind === "entries" ? found.is.rows.map((row) => [row.before?.text, row.after?.text, row.isMoved]) : [];
  };
  expect(rows([quote(1, "a"), quote(2, "b")], [quote(2, "B"), quote(1, "a")])).toEqual([["b", "B", true], ["a", "a", false]]);
  expect(rows([quote(1, "a"), quote(2, "b")], [quote(8, "b")])).toEqual([["a", undefined, false], ["b", "b", false]]);
  expect(rows([quote(1, "a"), quote(2, "b")], [quote(7, "a"), quote(8, "c")])).toEqual([["a", "a", false], ["b", "c", false]]);
  expect(rows([quote(1, "a")], [quote(7, "a")])).toEqual([]);
});

test("what a version was read without does not differ, and counts of links are compared as counts", () => {
  expect(differences(attributes, of, { title: "a" }, { title: "a", rank: 1 })).toEqual([]);
  expect(differences(attributes, of, { tags: { count: 2 } }, { tags: { count: 3 } })[0]?.is).toEqual({ kind: "counts", before: 2, after: 3 });
  expect(differences(attributes, of, { tags: { count: 3 } }, { tags: { count: 3 } })).toEqual([]);
  expect(counted(attributes, { title: "a", tags: { count: 3 } }, { title: "a", tags: { count: 3 } })).toEqual(["tags"]);
  expect(names(contents(attributes, of, { title: "a", rank: null, zone: [] }))).toEqual(["title"]);
});

test("blocks are compared as texts", () => {
  expect(blocksText([
    { type: "heading", level: 2, children: [{ type: "text", text: "Bread" }] },
    { type: "paragraph", children: [{ type: "text", text: "so " }, { type: "text", text: "good", bold: true }] },
    { type: "list", format: "ordered", children: [
      { type: "list-item", children: [{ type: "link", url: "/a", children: [{ type: "text", text: "one" }] }] },
      { type: "list", format: "unordered", children: [{ type: "list-item", children: [{ type: "text", text: "in" }] }] },
    ] },
  ])).toBe("## Bread\n\nso **good**\n\n1. [one](/a)\n  - in");
});
