// Bringing back what was deleted or taken off the site, by the history. Nothing but the public API is asked.
import { type ContentType, isLocalized, pathOf } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import type { Status } from "./read.ts";

// A Deleted is a document that was deleted: when, by whom, which versions it had, and the place in the log before.
export interface Deleted {
  documentId: string;
  seq: string;
  before: string;
  at: string;
  by: { kind: string; name: string };
  versions: { locale: string | null; status: Status }[];
}

export interface DeletedPage {
  data: Deleted[];
  meta: { pagination: { page: number; pageCount: number; total: number } };
}

export function deletedRequest(type: ContentType, page: number, pageSize = 25): Request {
  return { path: `${pathOf(type)}/_deleted`, query: { pagination: { page, pageSize } } };
}

const act = (type: ContentType, documentId: string, action: string, locale: string | null, data?: { seq: string; status?: Status }) =>
  ask({
    method: "POST",
    path: `${pathOf(type)}/${documentId}/actions/${action}`,
    query: { locale: isLocalized(type) ? (locale ?? undefined) : undefined, fields: ["documentId"] },
    ...(data ? { body: { data: { ...data } } } : {}),
    idempotencyKey: crypto.randomUUID(),
  });

// bringBack restores a document in each language that it had when it was deleted: as a draft, and with published also what
// was published.
export async function bringBack(type: ContentType, { documentId, before, versions }: Deleted, published: boolean): Promise<void> {
  const drafts = type.schema.draftAndPublish;
  for (const locale of new Set(versions.map((version) => version.locale))) {
    const had = (status: Status) => versions.some((version) => version.locale === locale && version.status === status);
    const restore = (status?: Status) => act(type, documentId, "restore", locale, { seq: before, status });
    if (!drafts) await restore();
    else {
      const wasPublished = had("published") && (published || !had("draft"));
      if (wasPublished) await restore("published");
      if (wasPublished && published) await act(type, documentId, "publish", locale);
      if (had("draft")) await restore("draft");
    }
  }
}

// deletedOf returns what the last deletion of each document was. Documents of which the server knows nothing are left out.
export async function deletedOf(type: ContentType, ids: string[]): Promise<Deleted[]> {
  const wanted = new Set(ids);
  const found: Deleted[] = [];
  for (let page = 1; found.length < ids.length; page++) {
    const { body } = await ask<DeletedPage>(deletedRequest(type, page, 100));
    found.push(...body.data.filter((item) => wanted.has(item.documentId)));
    if (page >= body.meta.pagination.pageCount) break;
  }
  return found;
}

// publishAgain publishes what was published before a document was last taken off the site. Its draft stays as it is.
export async function publishAgain(type: ContentType, documentId: string, locale: string | null): Promise<void> {
  const { body } = await ask<{ data: { seq: string; action: string }[] }>({
    path: `${pathOf(type)}/${documentId}/_history`,
    query: { status: "published", locale: isLocalized(type) ? (locale ?? undefined) : undefined, pagination: { pageSize: 2 } },
  });
  const [last, before] = body.data;
  if (last?.action !== "unpublish" || !before) return;
  await act(type, documentId, "restore", locale, { seq: before.seq, status: "published" });
  await act(type, documentId, "publish", locale);
  await act(type, documentId, "restore", locale, { seq: last.seq, status: "draft" });
}
