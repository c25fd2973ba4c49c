// The differences between two versions of a document, attribute by attribute.
import type { Json } from "../api/json.ts";
import { equal } from "../keep/merge.ts";
import {
  type Attribute, type Attributes, attributesOf, type Components, copyItem, isMorph, isValues, type Item, itemKey, type Values,
} from "../form/value.ts";
import { jsonText } from "../form/json.ts";
import { aligned, pair, type Row } from "./align.ts";
import { blocksText } from "./blocks.ts";

// A Difference is that of the values of one attribute.
//   text:    texts, to be compared by words
//   scalar:  any other single value
//   entries: components, those of a single component too
//   links:   documents and files that the attribute leads to
//   counts:  how many documents it leads to, where nobody asked which
export type Difference =
  | { kind: "text"; before: string; after: string }
  | { kind: "scalar"; before: unknown; after: unknown }
  | { kind: "entries"; rows: EntryRow[] }
  | { kind: "links"; rows: Row<LinkShown>[] }
  | { kind: "counts"; before: number; after: number };

export interface FieldDifference {
  name: string;
  attribute: Attribute;
  is: Difference;
}

// An EntryRow is a component of both versions, with how it differs, or of one of them, with all that it has.
export interface EntryRow extends Row<Item> {
  component: string;
  fields: FieldDifference[];
}

export interface LinkShown {
  key: string;
  label: string;
}

export interface Definitions {
  components: Components;
  labelIn: (uid: string) => string; // the attribute by which documents of a type are named
}

// differences compares two versions. Attributes that are equal, or that either version was read without, are left out.
export function differences(attributes: Attributes, of: Definitions, before: Values, after: Values): FieldDifference[] {
  return Object.entries(attributes).flatMap(([name, attribute]) => {
    if (!(name in before) || !(name in after) || attribute.type === "password") return [];
    const is = difference(attribute, of, before[name], after[name]);
    return is ? [{ name, attribute, is }] : [];
  });
}

// contents returns all that a version has, as differences from nothing.
export function contents(attributes: Attributes, of: Definitions, values: Values): FieldDifference[] {
  return differences(attributes, of, Object.fromEntries(Object.keys(values).map((name) => [name, null])), values);
}

// counted returns the attributes of which two versions have the number of links alone, so that it is not known whether
// they lead to the same documents.
export function counted(attributes: Attributes, before: Values, after: Values): string[] {
  return Object.keys(attributes).filter((name) => countOf(before[name]) !== null || countOf(after[name]) !== null);
}

const texts = ["string", "text", "richtext", "email", "uid"];

function difference(a: Attribute, of: Definitions, before: unknown, after: unknown): Difference | null {
  switch (a.type) {
    case "component":
    case "dynamiczone":
      return entries(a, of, items(before), items(after));
    case "relation":
    case "media":
      return links(a, of, before, after);
    case "blocks":
    case "json":
      if (equal(blank(before) as Json, blank(after) as Json)) return null;
      return textual(a.type === "json" ? jsonText : blocksText, before, after);
  }
  if (equal(blank(before) as Json, blank(after) as Json)) return null;
  if (texts.includes(a.type)) return { kind: "text", before: String(before ?? ""), after: String(after ?? "") };
  return { kind: "scalar", before: blank(before), after: blank(after) };
}

// textual compares values by their texts. If these are equal, the values differ in what the texts leave out.
function textual(textOf: (value: unknown) => string, before: unknown, after: unknown): Difference {
  const [was, is] = [textOf(before), textOf(after)];
  if (was !== is) return { kind: "text", before: was, after: is };
  return { kind: "text", before: jsonText(before), after: jsonText(after) };
}

// blank has one value for all that shows nothing.
const blank = (value: unknown) => (value === undefined || value === "" ? null : value);

const items = (value: unknown): Item[] => (Array.isArray(value) ? value : isValues(value) ? [value] : []);

function entries(a: Attribute, of: Definitions, before: Item[], after: Item[]): Difference | null {
  const uid = (item: Item) => item.__component ?? a.component ?? "";
  const keys = (key: (item: Item) => string | null) => [before.map(key), after.map(key)] as const;
  // The same entry has the same id in two drafts; the one that was published has another one, but perhaps the same values.
  let pairing = pair(...keys((item) => (item.id === undefined ? null : `${uid(item)} ${item.id}`)));
  pairing = pair(...keys((item) => `${uid(item)} ${withoutIds(item)}`), pairing);
  pairing = pair(...keys(uid), pairing);
  const rows = aligned(before, after, pairing).map((row): EntryRow => {
    const item = (row.after ?? row.before)!;
    const attributes = attributesOf(item, a, of.components);
    const [was, is] = [row.before ?? nothingOf(attributes), row.after ?? nothingOf(attributes)];
    return { ...row, component: uid(item), fields: differences(attributes, of, was, is) };
  });
  return rows.some((row) => !row.before || !row.after || row.isMoved || row.fields.length > 0) ? { kind: "entries", rows } : null;
}

const nothingOf = (attributes: Attributes): Values => Object.fromEntries(Object.keys(attributes).map((name) => [name, null]));

// withoutIds returns the JSON of an entry without what tells it from one with the same values.
function withoutIds(item: Item): string {
  return JSON.stringify(item, (key, value: unknown) => (key === "id" || key === itemKey ? undefined : value));
}

function links(a: Attribute, of: Definitions, before: unknown, after: unknown): Difference | null {
  const [was, is] = [countOf(before), countOf(after)];
  if (was !== null || is !== null) {
    const [n, m] = [was ?? items(before).length, is ?? items(after).length];
    return n === m ? null : { kind: "counts", before: n, after: m };
  }
  const shown = (value: unknown) => items(value).map((document) => linkShown(a, of, document));
  const [old, now] = [shown(before), shown(after)];
  const rows = aligned(old, now, pair(old.map((link) => link.key), now.map((link) => link.key)));
  return rows.some((row) => !row.before || !row.after || row.isMoved) ? { kind: "links", rows } : null;
}

// countOf returns the number of links of a relation that was read without them.
function countOf(value: unknown): number | null {
  return isValues(value) && typeof value.count === "number" && !("documentId" in value) ? value.count : null;
}

function linkShown(a: Attribute, of: Definitions, document: Values): LinkShown {
  if (a.type === "media") return { key: String(document.id), label: String(document.name ?? document.id) };
  const type = isMorph(a) ? String(document.__type) : (a.target ?? "");
  const label = document[of.labelIn(type)];
  return { key: `${type} ${document.documentId}`, label: typeof label === "string" && label ? label : String(document.documentId) };
}

// adopted returns a value of another version as a form takes it: the entries are new ones.
export function adopted(a: Attribute, components: Components, value: unknown): unknown {
  if (a.type !== "component" && a.type !== "dynamiczone") return value ?? null;
  if (Array.isArray(value)) return value.map((item: Item) => copyItem(item, attributesOf(item, a, components), components));
  return isValues(value) ? copyItem(value, attributesOf(value, a, components), components) : null;
}
