// What a form reads of a document: all that it shows, but of relations to many of the document only how many they are.
import { type Attribute, type Attributes, type Components, isMany, isMorph } from "./value.ts";

// A ContentType is a type that relations can lead to.
export interface ContentType {
  uid: string;
  name: string;
  singularName: string;
  pluralName: string;
  isSingle: boolean;
  hasDrafts: boolean;
  isLocalized: boolean;
  attributes: Attributes;
  // may has the actions that the user may do with its documents.
  may: { find: boolean; create: boolean; update: boolean };
}

export type Types = Record<string, ContentType>;

// labelAttribute returns the attribute by which lists name documents of a type, or "documentId".
export function labelAttribute(attributes: Attributes): string {
  for (const name of ["title", "name", "label", "username", "displayName"]) {
    if (attributes[name]?.type === "string") return name;
  }
  const first = (...types: string[]) => Object.keys(attributes).find((name) => types.includes(attributes[name]!.type));
  return first("string") ?? first("uid", "email", "text") ?? "documentId";
}

type Populate = true | { fields?: string[]; count?: true; populate?: Populates; on?: Record<string, Populate> };
type Populates = Record<string, Populate>;

const deepest = 6;

// populateOf returns the populate parameter with which a form reads a document.
export function populateOf(attributes: Attributes, components: Components, types: Types): Populates {
  return populates(attributes, components, types, 0);
}

function populates(attributes: Attributes, components: Components, types: Types, depth: number): Populates {
  const out: Populates = {};
  const inner = (uid: string): Populate => {
    const below = depth < deepest ? populates(components[uid] ?? {}, components, types, depth + 1) : {};
    return Object.keys(below).length > 0 ? { populate: below } : true;
  };
  for (const [name, a] of Object.entries(attributes)) {
    switch (a.type) {
      case "media":
        out[name] = true;
        break;
      case "component":
        if (components[a.component ?? ""]) out[name] = inner(a.component!);
        break;
      case "dynamiczone":
        out[name] = { on: Object.fromEntries((a.components ?? []).map((uid) => [uid, inner(uid)])) };
        break;
      case "relation":
        out[name] = ofRelation(a, types, depth);
        break;
    }
  }
  return out;
}

function ofRelation(a: Attribute, types: Types, depth: number): Populate {
  if (isMorph(a)) return true;
  if (isMany(a) && depth === 0) return { count: true };
  const label = labelAttribute(types[a.target ?? ""]?.attributes ?? {});
  return { fields: [label] };
}

// toQuery writes parameters in brackets: {a: {b: ["c"]}} is a[b][0]=c.
export function toQuery(params: object): string {
  const parts: string[] = [];
  const add = (name: string, value: unknown) => {
    if (value === undefined || value === null) return;
    if (typeof value === "object") {
      for (const [key, inner] of Object.entries(value)) add(name ? `${name}[${key}]` : key, inner);
    } else {
      parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
    }
  };
  add("", params);
  return parts.join("&");
}
