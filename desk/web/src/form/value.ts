// The value of a form: what a document has for each attribute, as the API answers, with what people change. Items of
// components and zones have a key, so that a list of them knows which is which while they move.
import type { Attribute } from "../api/access.ts";
import type { Json } from "../api/json.ts";
import { equal } from "../keep/merge.ts";
import { bodyOfEdit, isNoEdit, type LinkEdit } from "./links.ts";

export type { Attribute };
export type Attributes = Record<string, Attribute>;
export type Values = Record<string, unknown>;

// Components has the attributes of each component by its uid.
export type Components = Record<string, Attributes>;

// An Item is a component in a repeatable one or a zone.
export type Item = Values & { id?: number; __component?: string; [itemKey]?: string };

// itemKey is the name under which a new item has its key. Bodies do not have it.
export const itemKey = "__key";

let made = 0;

// keyOf returns the key of an item.
export function keyOf(item: Item): string {
  return item[itemKey] ?? `id-${item.id}`;
}

// newKey returns a key that no item has, also not one of another visit that was kept on the device.
export function newKey(): string {
  return `new-${Date.now().toString(36)}-${++made}`;
}

// newItem returns a component with its defaults.
export function newItem(uid: string, components: Components, inZone: boolean): Item {
  return {
    ...(inZone ? { __component: uid } : {}),
    ...defaults(components[uid] ?? {}),
    [itemKey]: newKey(),
  };
}

// defaults returns the default values of attributes.
export function defaults(attributes: Attributes): Values {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, a]) => (a.default === undefined ? [] : [[name, a.default]])),
  );
}

// copyItem returns an item with the same values, which the server takes as a new one: neither it nor what is in it has
// an id.
export function copyItem(item: Item, attributes: Attributes, components: Components): Item {
  return { ...(withoutIds(item, attributes, components) as Item), [itemKey]: newKey() };
}

// withoutIds returns values as those of a new document: nothing in them has an id.
export function withoutIds(values: Values, attributes: Attributes, components: Components): Values {
  const { id: _, ...out } = values;
  for (const [name, a] of Object.entries(attributes)) {
    const value = out[name];
    if (a.type === "component" && a.component && isValues(value)) {
      out[name] = withoutIds(value, components[a.component] ?? {}, components);
    } else if ((a.type === "component" || a.type === "dynamiczone") && Array.isArray(value)) {
      out[name] = (value as Item[]).map((item) => copyItem(item, attributesOf(item, a, components), components));
    }
  }
  return out;
}

// attributesOf returns the attributes of an item of a repeatable component or a zone.
export function attributesOf(item: Item, attribute: Attribute, components: Components): Attributes {
  return components[item.__component ?? attribute.component ?? ""] ?? {};
}

export function isValues(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// isMany reports whether a relation or media attribute leads to many documents.
export function isMany(a: Attribute): boolean {
  return a.type === "media" ? a.multiple === true : /many$/i.test(a.relation ?? "");
}

// isMorph reports whether a relation leads to documents of any type.
export function isMorph(a: Attribute): boolean {
  return /^morph/.test(a.relation ?? "");
}

export function isLinkEdit(value: unknown): value is LinkEdit {
  return isValues(value) && Array.isArray(value.connect) && Array.isArray(value.disconnect);
}

// bodyOf returns the data of a write: the attributes whose values differ from those that the server has, or all that
// have a value if before is null.
export function bodyOf(attributes: Attributes, components: Components, before: Values | null, values: Values): Values {
  const data: Values = {};
  for (const [name, a] of Object.entries(attributes)) {
    const value = values[name];
    if (value === undefined || (before && Object.is(value, before[name]))) continue;
    const written = bodyValue(a, components, value);
    if (written !== undefined && !(before && equal(value as Json, before[name] as Json))) data[name] = written;
  }
  return data;
}

// unparsed is the name under which the value of a json attribute has a text that is no JSON yet. It is kept as it was typed,
// and not sent.
const unparsed = "\u0000text";

export function unparsedText(text: string): Values {
  return { [unparsed]: text };
}

// textOfUnparsed returns the text of such a value; undefined of any other.
export function textOfUnparsed(value: unknown): string | undefined {
  return isValues(value) && unparsed in value ? String(value[unparsed]) : undefined;
}

// hasUnparsed reports whether a form has a text that is no JSON anywhere: then it is not to be saved.
export function hasUnparsed(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return textOfUnparsed(value) !== undefined || Object.values(value).some(hasUnparsed);
}

// isChanged reports whether a form has anything that the server does not have: what a save would send, or a text that is no
// JSON yet.
export function isChanged(attributes: Attributes, components: Components, before: Values, values: Values): boolean {
  if (Object.keys(bodyOf(attributes, components, before, values)).length > 0) return true;
  return Object.keys(attributes).some((name) => values[name] !== before[name] && hasUnparsed(values[name]));
}

// bodyValue returns the value of an attribute in a body; undefined leaves it out.
function bodyValue(a: Attribute, components: Components, value: unknown): unknown {
  switch (a.type) {
    case "json":
      return textOfUnparsed(value) === undefined ? value : undefined;
    case "relation":
      return writtenLinks(a, value);
    case "media":
      if (Array.isArray(value)) return value.map((file: Values) => file.id);
      return isValues(value) ? value.id : value;
    case "component":
    case "dynamiczone":
      if (Array.isArray(value)) {
        return value.map((item: Item) => writtenItem(item, attributesOf(item, a, components), components));
      }
      return isValues(value) ? writtenItem(value, components[a.component ?? ""] ?? {}, components) : value;
  }
  return value;
}

function writtenItem(item: Item, attributes: Attributes, components: Components): Values {
  const out: Values = {};
  if (item.id !== undefined) out.id = item.id;
  if (item.__component !== undefined) out.__component = item.__component;
  return { ...out, ...bodyOf(attributes, components, null, item) };
}

function writtenLinks(a: Attribute, value: unknown): unknown {
  if (isLinkEdit(value)) return isNoEdit(value) ? undefined : bodyOfEdit(value);
  const reference = (link: unknown) => {
    if (!isValues(link)) return link;
    return isMorph(a) ? { __type: link.__type, documentId: link.documentId } : link.documentId;
  };
  if (Array.isArray(value)) return value.map(reference);
  if (isValues(value) && !("documentId" in value)) return undefined; // {count}, of links that nobody changed
  return reference(value);
}
