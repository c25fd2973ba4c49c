// What others do to a document while its form is open: the change feed tells of it, while the page is in view. A page that
// nobody looks at asks nothing, since browsers allow a server few connections for all tabs together.
import { useEffect, useRef } from "react";
import { type Access, type ContentType, isLocalized, readsDrafts } from "../../api/access.ts";
import { ask, Failure, isRefusal } from "../../api/client.ts";
import type { Query } from "../../api/query.ts";

interface Changes {
  results: { documentId?: string; locale?: string | null; change?: string }[];
  last_seq: string;
  reset?: boolean;
}

interface Options {
  access: Access;
  type: ContentType;
  documentId: string | null; // null: of a single type, or there is none yet
  locale: string;
  isThere: boolean;
  onChange: () => void;
}

const longestPause = 30_000; // milliseconds, after errors

// useChanges calls onChange whenever the document may have changed.
export function useChanges({ access, type, documentId, locale, isThere, onChange }: Options): void {
  const call = useRef(onChange);
  call.current = onChange;
  useEffect(() => {
    if (!isThere) return;
    let ask: AbortController | null = null;
    let since = "now";
    const turn = () => {
      if (document.visibilityState === "hidden") {
        ask?.abort();
        ask = null;
      } else if (ask === null) {
        ask = new AbortController();
        if (since !== "now") call.current(); // what happened meanwhile is read at once
        void follow(ask.signal);
      }
    };
    const follow = async (signal: AbortSignal) => {
      const isIt = (change: Changes["results"][number]) =>
        (documentId === null || change.documentId === documentId) && (!isLocalized(type) || change.locale === locale);
      for await (const page of pages(queryOf(access, type, locale), since, signal)) {
        since = page.last_seq;
        if (page.reset || page.results.some(isIt)) call.current();
      }
    };
    turn();
    document.addEventListener("visibilitychange", turn);
    return () => {
      ask?.abort();
      document.removeEventListener("visibilitychange", turn);
    };
  }, [access, type, documentId, locale, isThere]);
}

function queryOf(access: Access, type: ContentType, locale: string): Query {
  return {
    feed: "longpoll",
    types: type.uid,
    status: readsDrafts(access, type) ? "draft" : undefined,
    locale: isLocalized(type) ? locale : undefined,
  };
}

// pages yields what has happened, each time that something has; it ends with the signal, or if the feed is refused.
async function* pages(query: Query, since: string, signal: AbortSignal): AsyncGenerator<Changes> {
  for (let pause = 500; !signal.aborted;) {
    try {
      const { body } = await ask<Changes>({ path: "_changes", query: { ...query, since }, signal });
      since = body.last_seq;
      pause = 500;
      yield body;
    } catch (err) {
      if (signal.aborted || (err instanceof Failure && isRefusal(err.status))) return;
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, longestPause);
    }
  }
}
