// How the form of a document begins: with what the server has, and with what the device has kept of it.
import { useEffect, useState } from "react";
import { isSingle } from "../../api/access.ts";
import { parse } from "../../api/exact.ts";
import { keysFrom } from "../../form/saved.ts";
import { defaults, type Values } from "../../form/value.ts";
import type { Kept } from "../../keep/drafts.ts";
import { bring, read, shared, type Version, type Work } from "./work.ts";

// useOpening opens the document, and returns a function that does so again, after an error.
export function useOpening(work: Work): () => void {
  const [attempts, setAttempts] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    work.setState("loading");
    open(work, leaving.signal).catch((err) => {
      if (!leaving.signal.aborted) work.setProblem(err);
    });
    return () => leaving.abort();
  }, [work.key, attempts]);
  return () => setAttempts((count) => count + 1);
}

async function open(work: Work, signal: AbortSignal): Promise<void> {
  const { type, documentId, drafts, fresh } = work;
  const found = documentId || isSingle(type) ? await read(work, signal) : null;
  const inAll = !found && documentId ? await shared(work) : {};
  const isDeleted = inAll === null;
  fresh.current = { ...defaults(work.form.attributes), ...inAll };
  const kept = await drafts.get(work.key).catch((err) => {
    work.setUnkept(err);
    return undefined;
  });
  if (signal.aborted) return;
  work.setProblem(null);
  work.setGone(isDeleted && kept !== undefined);
  if (isDeleted) {
    if (!kept) return work.setState("missing");
    work.setVersion({ values: parse(kept.base) as Values, etag: kept.etag });
    work.setValues(parse(kept.values) as Values);
    return work.setState("ready");
  }
  work.setVersion(found);
  if (kept) recover(work, kept, found);
  else work.setValues(found?.values ?? fresh.current);
  work.setState("ready");
}

// recover goes on with what the device has kept.
function recover(work: Work, kept: Kept, found: Version | null): void {
  const { attributes, components } = work.form;
  const mine = parse(kept.values) as Values;
  work.creating.current = kept.creating ?? null;
  work.setRecovered(true);
  if (kept.etag === (found?.etag ?? null)) {
    work.setVersion(found && { ...found, values: keysFrom(mine, attributes, components, found.values) });
    work.setValues(mine);
  } else bring(work, parse(kept.base) as Values, mine, found ?? { values: {}, etag: null });
}
