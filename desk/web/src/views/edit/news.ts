// What others save while the form of a document is open: it shows it, or tells of it if something was typed.
import { useEffect, useState } from "react";
import { isSingle } from "../../api/access.ts";
import { ask } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import { isChanged } from "../../form/value.ts";
import { equal } from "../../keep/merge.ts";
import { useChanges } from "./follow.ts";
import { bring, lose, read, type Work } from "./work.ts";

export function useNews(work: Work): void {
  const { access, type, documentId, locale, state, conflict, isGone, version } = work;
  const [stirred, setStirred] = useState(0); // how often the document may have changed elsewhere
  useEffect(() => {
    if (stirred === 0 || state !== "ready" || conflict !== null || isGone) return;
    const leaving = new AbortController();
    look(work, leaving.signal).catch(() => {}); // the next save tells of it as well
    return () => leaving.abort();
  }, [stirred, state]);
  useChanges({
    access, type, documentId, locale,
    isThere: version !== null && !isGone && (documentId !== null || isSingle(type)),
    onChange: () => setStirred((count) => count + 1),
  });
}

// show goes on from the news.
export function show(work: Work): void {
  const { news, latest } = work;
  if (news?.version) bring(work, latest.current.base, latest.current.values, news.version);
  work.setNews(null);
}

// look reads what the document is now, if it may have been changed elsewhere.
async function look(work: Work, signal: AbortSignal): Promise<void> {
  const { attributes, components } = work.form;
  const found = await read(work, signal);
  if (!found) return lose(work, null);
  const now = work.latest.current;
  if (found.etag === now.etag) return;
  const isSame = Object.keys(attributes).every((name) => equal(now.base[name] as Json, found.values[name] as Json));
  const by = isSame ? null : await lastAuthor(work, signal);
  if (signal.aborted) return;
  const isTyped = isChanged(attributes, components, now.base, work.latest.current.values);
  if (!isTyped || isSame) bring(work, now.base, work.latest.current.values, found);
  if (!isSame) work.setNews({ by, version: isTyped ? found : null });
}

// lastAuthor returns who wrote a document last: null if it was the reader, or they may not know.
async function lastAuthor({ access, type, path, query }: Work, signal: AbortSignal): Promise<string | null> {
  if (!("history" in type.actions)) return null;
  interface Past {
    data: { by: { kind: string; name?: string | null } }[];
  }
  const page = { locale: query.locale, pagination: { pageSize: 1 } };
  const answer = await ask<Past>({ path: `${path}/_history`, query: page, signal }).catch(() => null);
  const name = answer?.body.data[0]?.by.name || null;
  return name === access.principal.name ? null : name;
}
