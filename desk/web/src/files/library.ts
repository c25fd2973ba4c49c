// The files of the media library, and what is asked of the server for them. All of it is the public API.
import type { ContentType } from "../api/access.ts";
import { api, ask } from "../api/client.ts";
import type { Query } from "../api/query.ts";
import { upload } from "../api/upload.ts";

export interface FileValue {
  [name: string]: unknown;
  id: number;
  name: string;
  url: string;
  mime: string;
  alternativeText: string | null;
}

// FileInfo is what people say of a file.
export interface FileInfo {
  name?: string;
  alternativeText?: string;
  caption?: string;
}

// FileUse is a document that uses a file.
export interface FileUse {
  contentType: ContentType["uid"];
  documentId: string;
  locale: string | null;
  title: string | null;
  fields: string[];
  status: ("draft" | "published")[];
}

export interface FileUsage {
  data: FileUse[];
  meta: { pagination: { total: number }; hidden: boolean };
}

export const pageSize = 25;

// filterOf returns the filter for files of some kinds with a text in their names or descriptions.
export function filterOf(text: string, kinds: string[] | undefined): Query {
  return {
    ...(text ? { $or: ["name", "alternativeText", "caption"].map((name) => ({ [name]: { $containsi: text } })) } : {}),
    ...kindFilter(kinds),
  };
}

// findFiles returns files of the media library, the newest first.
export async function findFiles(text: string, kinds: string[] | undefined, start: number): Promise<FileValue[]> {
  const query = { filters: filterOf(text, kinds), sort: "createdAt:desc", start, limit: pageSize };
  return (await ask<FileValue[]>({ path: "upload/files", query })).body;
}

type Progress = (part: number) => void;

// store stores a file, once for a key, and says how much of it was sent.
export async function store(file: File, key: string, onProgress: Progress, signal: AbortSignal): Promise<FileValue> {
  const form = new FormData();
  form.append("files", file);
  const [stored] = await upload<FileValue[]>({ path: "upload", form, idempotencyKey: key, onProgress, signal });
  return stored!;
}

// replace puts another content in the place of that of a file. Sent twice, it leaves the same, so it has no key.
export function replace(id: number, file: File, onProgress: Progress, signal: AbortSignal): Promise<FileValue> {
  const form = new FormData();
  form.append("files", file);
  return upload<FileValue>({ path: `upload?id=${id}`, form, onProgress, signal });
}

// describe changes what the library says of a file.
export function describe(id: number, info: FileInfo): Promise<FileValue> {
  const form = new FormData();
  form.append("fileInfo", JSON.stringify(info));
  return upload<FileValue>({ path: `upload?id=${id}`, form });
}

// fileURL returns the address of the content of a file. Files are served beside the API, below the same prefix.
export function fileURL(url: string): string {
  return url.startsWith("/") ? new URL(`..${url}`, api).href : url;
}

// shownURL is fileURL for showing: browsers keep the content of an address for long, also if it was replaced.
export function shownURL(file: FileValue, url = file.url): string {
  const version = url.startsWith("/") && typeof file.updatedAt === "string" ? `?v=${Date.parse(file.updatedAt)}` : "";
  return fileURL(url) + version;
}

const kindPrefixes: Record<string, string> = { images: "image/", videos: "video/", audios: "audio/" };

// kindFilter returns the filter for files of some kinds, as an attribute with allowedTypes takes.
function kindFilter(kinds: string[] | undefined): Query {
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
