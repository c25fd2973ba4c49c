// What the fields of a form ask of the server: documents to link to, the links of a relation by pages, files, and
// whether a uid is free. All of it is the public API.
import type { Link } from "./links.ts";
import { labelAttribute, toQuery, type ContentType, type Types } from "./query.ts";
import { isValues, type Attribute, type Values } from "./value.ts";

// A Request calls a route of the API below its prefix, and returns the body of the answer. It throws an error with the
// message of the API.
export type Request = (
  method: string,
  path: string,
  body?: unknown,
  options?: { onProgress?: (part: number) => void; signal?: AbortSignal },
) => Promise<unknown>;

export interface Page<T> {
  items: T[];
  total: number;
}

export interface FileValue extends Values {
  id: number;
  name: string;
  url: string;
  mime: string;
  alternativeText: string | null;
}

const pageSize = 25;

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
  readonly request: Request;
  readonly types: Types;

  constructor(request: Request, types: Types) {
    this.request = request;
    this.types = types;
  }

  // search returns documents of a type with a text in them.
  async search(
    type: ContentType,
    text: string,
    locale: string | null,
    page: number,
    signal: AbortSignal,
  ): Promise<Page<Link>> {
    const label = labelAttribute(type.attributes);
    const query = toQuery({
      ...(text ? { _q: text } : {}),
      fields: [label],
      sort: label,
      ...(type.hasDrafts ? { status: "draft" } : {}),
      ...(type.isLocalized && locale ? { locale } : {}),
      pagination: { page, pageSize },
    });
    const answer = await this.request("GET", `/${type.pluralName}?${query}`, undefined, { signal });
    const items = dataOf(answer).map((document) => linkOf(document, label));
    return { items, total: totalOf(answer, items.length) };
  }

  // links returns a page of the links of a relation to many, in their order.
  async links(of: LinksOf, start: number): Promise<Page<Link>> {
    const target = this.types[of.attribute.target ?? ""];
    const label = target ? labelAttribute(target.attributes) : "documentId";
    const total = await this.countLinks(of);
    if (total === 0) return { items: [], total };
    const documents = (await this.linksByPage(of, label, start)) ?? (await this.allLinks(of, label)).slice(start);
    return { items: documents.map((document) => linkOf(document, label)), total };
  }

  private pathOf({ type, documentId }: LinksOf): string {
    return type.isSingle ? `/${type.singularName}` : `/${type.pluralName}/${documentId}`;
  }

  private versionOf({ type, status, locale }: LinksOf) {
    return { ...(type.hasDrafts ? { status } : {}), ...(type.isLocalized && locale ? { locale } : {}) };
  }

  private async countLinks(of: LinksOf): Promise<number> {
    const query = toQuery({ ...this.versionOf(of), fields: ["documentId"], populate: { [of.name]: { count: true } } });
    const [document] = dataOf(await this.request("GET", `${this.pathOf(of)}?${query}`));
    const value = document?.[of.name];
    return isValues(value) && typeof value.count === "number" ? value.count : 0;
  }

  // linksByPage asks GraphQL, which alone has pages of links. Without GraphQL, the result is null.
  private async linksByPage(of: LinksOf, label: string, start: number): Promise<Values[] | null> {
    const { type, documentId, status, locale, name } = of;
    if (!type.uid.startsWith("api::")) return null;
    const field = type.singularName.replace(/[-_]+(.)/g, (_, letter: string) => letter.toUpperCase());
    const args = [
      ...(type.isSingle ? [] : ["documentId: $id"]),
      ...(type.hasDrafts ? [`status: ${status === "draft" ? "DRAFT" : "PUBLISHED"}`] : []),
      ...(type.isLocalized && locale ? ["locale: $locale"] : []),
    ];
    const variables = [
      ...(type.isSingle ? [] : ["$id: ID!"]),
      ...(type.isLocalized && locale ? ["$locale: I18NLocaleCode"] : []),
    ];
    const list = `${name}(pagination: {start: ${start}, limit: ${pageSize}}) { documentId ${label} }`;
    const inBrackets = (all: string[]) => (all.length > 0 ? `(${all.join(", ")})` : "");
    const query = `query${inBrackets(variables)} { of: ${field}${inBrackets(args)} { ${list} } }`;
    try {
      const answer = await this.request("POST", "/graphql", {
        query,
        variables: { ...(type.isSingle ? {} : { id: documentId }), ...(type.isLocalized && locale ? { locale } : {}) },
      });
      const data = isValues(answer) && isValues(answer.data) && isValues(answer.data.of) ? answer.data.of[name] : null;
      return Array.isArray(data) ? (data as Values[]) : null;
    } catch {
      return null;
    }
  }

  private async allLinks(of: LinksOf, label: string): Promise<Values[]> {
    const query = toQuery({
      ...this.versionOf(of),
      fields: ["documentId"],
      populate: { [of.name]: { fields: [label] } },
    });
    const [document] = dataOf(await this.request("GET", `${this.pathOf(of)}?${query}`));
    const value = document?.[of.name];
    return Array.isArray(value) ? (value as Values[]) : [];
  }

  // isTaken reports whether another document has a value for an attribute.
  async isTaken(
    type: ContentType,
    name: string,
    value: string,
    documentId: string | null,
    locale: string | null,
  ): Promise<boolean> {
    for (const status of type.hasDrafts ? ["draft", "published"] : [undefined]) {
      const query = toQuery({
        filters: { [name]: { $eq: value }, ...(documentId ? { documentId: { $ne: documentId } } : {}) },
        fields: ["documentId"],
        status,
        ...(type.isLocalized && locale ? { locale } : {}),
        pagination: { pageSize: 1 },
      });
      if (dataOf(await this.request("GET", `/${type.pluralName}?${query}`)).length > 0) return true;
    }
    return false;
  }

  // files returns files of the media library, the newest first.
  async files(text: string, kinds: string[] | undefined, start: number): Promise<FileValue[]> {
    const filters = {
      ...(text ? { $or: [{ name: { $containsi: text } }, { alternativeText: { $containsi: text } }] } : {}),
      ...kindFilter(kinds),
    };
    const query = toQuery({ filters, sort: "createdAt:desc", start, limit: pageSize });
    return (await this.request("GET", `/upload/files?${query}`)) as FileValue[];
  }

  // upload stores a file, and says how much of it was sent.
  async upload(file: File, onProgress: (part: number) => void, signal: AbortSignal): Promise<FileValue> {
    const form = new FormData();
    form.append("files", file);
    const [stored] = (await this.request("POST", "/upload", form, { onProgress, signal })) as FileValue[];
    return stored!;
  }

  // describe changes what the library says of a file.
  async describe(id: number, info: { alternativeText: string }): Promise<FileValue> {
    const form = new FormData();
    form.append("fileInfo", JSON.stringify(info));
    return (await this.request("POST", `/upload?id=${id}`, form)) as FileValue;
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

const kindPrefixes: Record<string, string> = { images: "image/", videos: "video/", audios: "audio/" };

// kindFilter returns the filter for the files that an attribute with allowedTypes takes.
function kindFilter(kinds: string[] | undefined): object {
  if (!kinds || kinds.length === 0 || kinds.length === 4) return {};
  const named = kinds.flatMap((kind) => (kindPrefixes[kind] ? [{ mime: { $startsWith: kindPrefixes[kind] } }] : []));
  const others = kinds.includes("files")
    ? [{ $and: Object.values(kindPrefixes).map((prefix) => ({ $not: { mime: { $startsWith: prefix } } })) }]
    : [];
  return { $and: [{ $or: [...named, ...others] }] };
}

// isAllowed reports whether an attribute with allowedTypes takes a file of a type.
export function isAllowed(kinds: string[] | undefined, mime: string): boolean {
  if (!kinds || kinds.length === 0) return true;
  const kind = Object.keys(kindPrefixes).find((name) => mime.startsWith(kindPrefixes[name]!)) ?? "files";
  return kinds.includes(kind);
}

// acceptOf returns the types that a browser offers for an attribute with allowedTypes.
export function acceptOf(kinds: string[] | undefined): string | undefined {
  if (!kinds || kinds.length === 0 || kinds.includes("files")) return undefined;
  return kinds.map((kind) => `${kindPrefixes[kind] ?? ""}*`).join(",");
}

export { pageSize };
