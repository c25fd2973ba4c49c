// What a form reads of a document: all that it shows, but of relations to many of the document only how many they are.
import { type ContentType, mainAttribute } from "../api/access.ts";
import { type Attribute, type Attributes, type Components, isMany, isMorph } from "./value.ts";

export type Types = Record<string, ContentType>;

// labelAttribute returns the attribute by which lists name documents of a type.
export function labelAttribute(type: ContentType | undefined): string {
  return (type && mainAttribute(type)) ?? "documentId";
}

export type Populate = true | { fields?: string[]; count?: true; populate?: Populates; on?: Record<string, Populate> };
export type Populates = Record<string, Populate>;

const deepest = 6;

// populateOf returns the populate parameter with which a form reads a document.
export function populateOf(attributes: Attributes, components: Components, types: Types): Populates {
  return populatesBy((a, _, depth) => ofRelation(a, types, depth))(attributes, components);
}

// populatesBy returns a function that makes a populate parameter, in which relations are as a caller says: undefined leaves
// one out.
export function populatesBy(relation: (a: Attribute, name: string, depth: number) => Populate | undefined) {
  return (attributes: Attributes, components: Components) => populates(attributes, components, relation, 0);
}

type Relations = Parameters<typeof populatesBy>[0];

function populates(attributes: Attributes, components: Components, relation: Relations, depth: number): Populates {
  const out: Populates = {};
  const inner = (uid: string): Populate => {
    const below = depth < deepest ? populates(components[uid] ?? {}, components, relation, depth + 1) : {};
    return Object.keys(below).length > 0 ? { populate: below } : true;
  };
  for (const [name, a] of Object.entries(attributes)) {
    if (!a.readable) continue;
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
      case "relation": {
        const of = relation(a, name, depth);
        if (of !== undefined) out[name] = of;
        break;
      }
    }
  }
  return out;
}

function ofRelation(a: Attribute, types: Types, depth: number): Populate | undefined {
  if (isMorph(a)) return true;
  if (!("find" in (types[a.target ?? ""]?.actions ?? {}))) return undefined;
  if (isMany(a) && depth === 0) return { count: true };
  return { fields: [labelAttribute(types[a.target ?? ""])] };
}
