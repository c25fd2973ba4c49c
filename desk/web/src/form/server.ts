// What the fields of a form ask of the server: documents to link to, the links of a relation by pages, and whether a
// uid is free. All of it is the public API.
import type { Link } from "./links.ts";
import { type ContentType, isLocalized, isSingle, pathOf } from "../api/access.ts";
import { ask } from "../api/client.ts";
import type { Query } from "../api/query.ts";
import { pageSize } from "../files/library.ts";
import { labelAttribute, type Types } from "./query.ts";
import { isValues, type Attribute, type Values } from "./value.ts";

export interface Page<T> {
  items: T[];
  total: number;
}

function dataOf(answer: unknown): Values[] {
  const data = isValues(answer) ? answer.data : answer;
  return Array.isArray(data) ? (data as Values[]) : isValues(data) ? [data] : [];
}

function totalOf(answer: unknown, items: number): number {
  const meta = isValues(answer) && isValues(answer.meta) ? answer.meta : {};
  const pagination = isValues(meta.pagination) ? meta.pagination : {};
  return typeof pagination.total === "number" ? pagination.total : items;
}

// linkOf returns the link to a document.
export function linkOf(document: Values, label: string, type?: string): Link {
  const text = document[label];
  return {
    documentId: String(document.documentId),
    label: typeof text === "string" && text !== "" ? text : String(document.documentId),
    ...(type ? { type } : {}),
  };
}

export class Server {
  readonly types: Types;

  constructor(types: Types) {
    this.types = types;
  }

  // search returns documents of a type with a text in them.
  async search(type: ContentType, text: string, locale: string | null, signal: AbortSignal): Promise<Page<Link>> {
    const label = labelAttribute(type);
    // Users have no pages, and no search for a text in all attributes.
    const isUsers = type.uid === "plugin::users-permissions.user";
    const query: Query = {
      ...(!text ? {} : isUsers ? { filters: { [label]: { $containsi: text } } } : { _q: text }),
      fields: [label],
      sort: label,
      ...versionOf(type, "draft", locale),
      ...(isUsers ? { limit: pageSize } : { pagination: { page: 1, pageSize } }),
    };
    const { body } = await ask({ path: pathOf(type), query, signal });
    const items = dataOf(body).map((document) => linkOf(document, label));
    return { items, total: totalOf(body, items.length) };
  }

  // links returns a page of the links of a relation to many, in their order.
  async links(of: LinksOf, start: number): Promise<Page<Link>> {
    const label = labelAttribute(this.types[of.attribute.target ?? ""]);
    const total = await countLinks(of);
    if (total === 0) return { items: [], total };
    const documents = (await linksByPage(of, label, start)) ?? (await allLinks(of, label)).slice(start);
    return { items: documents.map((document) => linkOf(document, label)), total };
  }

  // isTaken reports whether another document has a value for an attribute.
  async isTaken(type: ContentType, name: string, value: string, documentId: string | null, locale: string | null) {
    for (const status of type.schema.draftAndPublish ? (["draft", "published"] as const) : (["draft"] as const)) {
      const query: Query = {
        filters: { [name]: { $eq: value }, ...(documentId ? { documentId: { $ne: documentId } } : {}) },
        fields: ["documentId"],
        ...versionOf(type, status, locale),
        pagination: { pageSize: 1 },
      };
      if (dataOf((await ask({ path: pathOf(type), query })).body).length > 0) return true;
    }
    return false;
  }
}

// versionOf returns the parameters that choose a version of a document.
function versionOf(type: ContentType, status: "draft" | "published", locale: string | null): Query {
  return { ...(type.schema.draftAndPublish ? { status } : {}), ...(isLocalized(type) && locale ? { locale } : {}) };
}

async function documentWith(of: LinksOf, populate: Query): Promise<unknown> {
  const path = isSingle(of.type) ? pathOf(of.type) : `${pathOf(of.type)}/${of.documentId}`;
  const query = {
    ...versionOf(of.type, of.status, of.locale),
    fields: ["documentId"],
    populate: { [of.name]: populate },
  };
  const [document] = dataOf((await ask({ path, query })).body);
  return document?.[of.name];
}

async function countLinks(of: LinksOf): Promise<number> {
  const value = await documentWith(of, { count: true });
  return isValues(value) && typeof value.count === "number" ? value.count : 0;
}

async function allLinks(of: LinksOf, label: string): Promise<Values[]> {
  const value = await documentWith(of, { fields: [label] });
  return Array.isArray(value) ? (value as Values[]) : [];
}

// linksByPage asks GraphQL, which alone has pages of links. Where that does not know the type, the result is null.
async function linksByPage({ type, documentId, status, locale, name }: LinksOf, label: string, start: number) {
  const field = type.schema.singularName.replace(/[-_]+(.)/g, (_, letter: string) => letter.toUpperCase());
  const variables: Record<string, [string, string]> = {
    ...(isSingle(type) ? {} : { documentId: ["ID!", documentId] }),
    ...(type.schema.draftAndPublish
      ? { status: ["PublicationStatus", status === "draft" ? "DRAFT" : "PUBLISHED"] }
      : {}),
    ...(isLocalized(type) && locale ? { locale: ["I18NLocaleCode", locale] } : {}),
  };
  const names = Object.keys(variables);
  const inBrackets = (all: string[]) => (all.length > 0 ? `(${all.join(", ")})` : "");
  const declared = inBrackets(names.map((key) => `$${key}: ${variables[key]![0]}`));
  const args = inBrackets(names.map((key) => `${key}: $${key}`));
  const list = `${name}(pagination: {start: ${start}, limit: ${pageSize}}) { documentId ${label} }`;
  const body = {
    query: `query${declared} { of: ${field}${args} { ${list} } }`,
    variables: Object.fromEntries(names.map((key) => [key, variables[key]![1]])),
  };
  try {
    const answer = (await ask({ method: "POST", path: "../graphql", body })).body;
    const data = isValues(answer) && isValues(answer.data) && isValues(answer.data.of) ? answer.data.of[name] : null;
    return Array.isArray(data) ? (data as Values[]) : null;
  } catch {
    return null;
  }
}

// LinksOf names a relation of a version of a document.
export interface LinksOf {
  type: ContentType;
  documentId: string;
  status: "draft" | "published";
  locale: string | null;
  name: string;
  attribute: Attribute;
}
