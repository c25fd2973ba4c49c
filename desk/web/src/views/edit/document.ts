// The document that a form shows: read, typed into, kept on the device, saved, and settled with what others saved
// meanwhile. Nothing that was typed is dropped unless its author says so.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Access, type ContentType, isLocalized, isSingle, pathOf, readsDrafts } from "../../api/access.ts";
import { ask, Failure, isRefusal, type Request } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import type { Query } from "../../api/query.ts";
import { parse, stringify } from "../../api/exact.ts";
import { adopted } from "../../compare/values.ts";
import { errorsAt } from "../../form/errors.ts";
import { type Change, changed, type FormContext, isShared } from "../../form/field.ts";
import { populateOf } from "../../form/query.ts";
import { idsFrom, keysFrom, keysFromSent } from "../../form/saved.ts";
import { type Attributes, bodyOf, defaults, hasUnparsed, isChanged, isLinkEdit, type Values, withoutIds } from "../../form/value.ts";
import { type Creating, type Drafts, type FormKey, type Kept, userOf } from "../../keep/drafts.ts";
import { equal, fates, merge, type Values as Merged } from "../../keep/merge.ts";
import { t } from "../../text/text.ts";
import { useChanges } from "./follow.ts";

// A Version is a document as the server had it, and the ETag that a save of it must still find.
interface Version {
  values: Values;
  etag: string | null;
}

// A Conflict is a document that was changed here and elsewhere since base.
export interface Conflict {
  base: Values;
  mine: Values;
  theirs: Version;
}

// News is what somebody else has saved while the form was open.
export interface News {
  by: string | null; // who, if that is known
  version: Version | null; // what the server has now; null if the form shows it already
}

export type State = "loading" | "missing" | "ready" | "saving";

export interface Open {
  state: State;
  documentId: string | null; // null: it is new
  values: Values;
  base: Values; // what the server has, as far as the form knows
  isGone: boolean; // somebody has deleted it; what was typed is still here
  isNew: boolean; // there is no version in this language yet
  isDirty: boolean;
  isRecovered: boolean; // it holds what was kept on the device
  errors: Map<string, string[]>;
  problem: unknown; // why the last request failed; null if it did not
  unkept: unknown; // why the device keeps nothing; null if it does
  conflict: Conflict | null;
  news: News | null;
  request: Request; // that reads the document
  set: (name: string, change: Change) => void;
  save: () => Promise<string | null>; // the id of the document; null if it was not saved
  act: (action: "publish" | "unpublish" | "discardDraft") => Promise<void>;
  restore: (seq: string, status: "draft" | "published") => Promise<void>; // a former version, as the draft
  remove: () => Promise<boolean>;
  settle: (choice: ReadonlyMap<string, "mine" | "theirs">) => void;
  show: () => void; // goes on from the news
  forget: () => Promise<void>;
  retry: () => void; // reads the document again, after an error
  again: () => Promise<string>; // keeps what is typed as a new document, and returns the name of its form
}

interface Options {
  access: Access;
  type: ContentType;
  form: FormContext;
  drafts: Drafts;
  documentId: string | null;
  locale: string;
  name: string; // tells several new documents apart
}

export function useDocument({ access, type, form, drafts, documentId, locale, name }: Options): Open {
  const { attributes, components, written } = form;
  const [state, setState] = useState<State>("loading");
  const [version, setVersion] = useState<Version | null>(null); // null: there is none yet
  const [values, setValues] = useState<Values>({});
  const [errors, setErrors] = useState<Map<string, string[]>>(new Map());
  const [problem, setProblem] = useState<unknown>(null);
  const [unkept, setUnkept] = useState<unknown>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [isRecovered, setRecovered] = useState(false);
  const [isGone, setGone] = useState(false);
  const [news, setNews] = useState<News | null>(null);
  const [stirred, setStirred] = useState(0); // how often the document may have changed elsewhere
  const [attempts, setAttempts] = useState(0);

  const user = userOf(access);
  const key = useMemo((): FormKey => ({
    user,
    uid: type.uid,
    documentId: documentId ?? "",
    locale,
    form: documentId ? "" : name,
  }), [user, type.uid, documentId, locale, name]);

  const path = isSingle(type) ? pathOf(type) : `${pathOf(type)}/${documentId ?? ""}`;
  const query = useMemo((): Query => ({
    status: type.schema.draftAndPublish ? (readsDrafts(access, type) ? "draft" : "published") : undefined,
    locale: isLocalized(type) ? locale : undefined,
    populate: populateOf(attributes, components, form.server.types) as Query,
  }), [access, type, locale, form]);
  const request: Request = { path, query };

  const fresh = useRef<Values>({}); // what the form of a version that is not there yet begins with
  const base = version?.values ?? fresh.current;
  const isDirty = state !== "loading" && isChanged(written, components, base, values);
  const latest = useRef({ values, base, etag: null as string | null }); // what requests that are under way go on with
  latest.current = { values, base, etag: version?.etag ?? null };

  const creating = useRef<Creating | null>(null); // the document is perhaps there already
  const isMoved = useRef(false); // it has an id now, and another form goes on with it

  // read returns what the server has; null if there is no version in this language.
  const read = async (signal?: AbortSignal): Promise<Version | null> => {
    try {
      const answer = await ask<{ data: Values | null }>({ path, query, signal });
      return answer.body.data ? { values: answer.body.data, etag: answer.etag } : null;
    } catch (err) {
      if (err instanceof Failure && err.status === 404) return null;
      throw err;
    }
  };

  // shared returns the values that a new language of the document begins with, which all of its languages share; null if
  // there is none.
  const shared = async (): Promise<Values | null> => {
    if (!isLocalized(type)) return null;
    for (const other of access.locales) {
      try {
        const { body } = await ask<{ data: Values }>({ path, query: { ...query, locale: other } });
        return Object.fromEntries(Object.entries(attributes).flatMap(([name, a]): [string, unknown][] =>
          isShared(a) && name in body.data ? [[name, adopted(a, components, body.data[name])]] : []));
      } catch (err) {
        if (!(err instanceof Failure && err.status === 404)) throw err;
      }
    }
    return null;
  };

  useEffect(() => {
    const leaving = new AbortController();
    const open = async () => {
      const found = documentId || isSingle(type) ? await read(leaving.signal) : null;
      const inAll = !found && documentId ? await shared() : {};
      const isDeleted = inAll === null;
      fresh.current = { ...defaults(attributes), ...inAll };
      const kept = await drafts.get(key).catch((err) => {
        setUnkept(err);
        return undefined;
      });
      if (leaving.signal.aborted) return;
      setProblem(null);
      setGone(isDeleted && kept !== undefined);
      if (isDeleted) {
        if (!kept) return setState("missing");
        setVersion({ values: parse(kept.base) as Values, etag: kept.etag });
        setValues(parse(kept.values) as Values);
        return setState("ready");
      }
      setVersion(found);
      if (!kept) {
        setValues(found?.values ?? fresh.current);
      } else {
        const mine = parse(kept.values) as Values;
        creating.current = kept.creating ?? null;
        setRecovered(true);
        if (kept.etag === (found?.etag ?? null)) {
          setVersion(found && { ...found, values: keysFrom(mine, attributes, components, found.values) });
          setValues(mine);
        } else bring(parse(kept.base) as Values, mine, found ?? { values: {}, etag: null });
      }
      setState("ready");
    };
    setState("loading");
    open().catch((err) => {
      if (!leaving.signal.aborted) setProblem(err);
    });
    return () => leaving.abort();
  }, [key, attempts]);

  // bring goes on with what the server has now: at once where only one side changed an attribute, otherwise by asking. It
  // reports whether it did not have to ask.
  const bring = (before: Values, mine: Values, found: Version): boolean => {
    const from = keysFrom(mine, attributes, components, before);
    const theirs = { ...found, values: keysFrom(mine, attributes, components, found.values) };
    const all = fates(from as Merged, mine as Merged, theirs.values as Merged);
    if ([...all.values()].includes("conflict")) {
      setConflict({ base: from, mine, theirs });
      return false;
    }
    take(theirs, merge(from as Merged, mine as Merged, theirs.values as Merged, new Map()));
    return true;
  };
  const take = (found: Version, next: Values) => {
    setNews(null);
    setVersion(found);
    setValues(next);
    latest.current = { values: next, base: found.values, etag: found.etag };
  };

  // What is typed is kept at each key. A form that says what the server has needs nothing kept. While the device writes,
  // the last state waits, so that a fast writer does not wait for a slow disk.
  const record = (of: FormKey): Kept => {
    const now = latest.current;
    const made = { ...of, base: stringify(now.base), etag: now.etag, values: stringify(now.values), changedAt: Date.now() };
    return creating.current && !isMoved.current ? { ...made, creating: creating.current } : made;
  };
  const keeping = useRef({ isWriting: false, isLate: false });
  const keep = () => {
    const at = keeping.current;
    if (isMoved.current) return;
    if (at.isWriting) {
      at.isLate = true;
      return;
    }
    const now = latest.current;
    const dirty = creating.current !== null || isChanged(written, components, now.base, now.values);
    const write = dirty ? drafts.put(record(key)) : drafts.remove(key);
    at.isWriting = true;
    write.then(() => setUnkept(null), setUnkept).finally(() => {
      at.isWriting = false;
      if (!at.isLate) return;
      at.isLate = false;
      keep();
    });
  };
  useEffect(() => {
    if (conflict === null && (state === "ready" || state === "saving")) keep();
  }, [values, base, state, conflict]);

  const set = useCallback((name: string, change: Change) => {
    setValues((old) => ({ ...old, [name]: changed(change, old[name]) }));
  }, []);

  // attempt runs a request, and shows why it failed; a version that somebody else has saved meanwhile becomes a conflict.
  // A save goes on by itself if what was changed there and here can be put together.
  const attempt = async <T>(run: () => Promise<T>, isSave = false): Promise<T | null> => {
    setState("saving");
    setProblem(null);
    setErrors(new Map());
    try {
      return await run();
    } catch (err) {
      if (err instanceof Failure && err.status === 412) {
        const theirs = await read().catch(() => null);
        if (!theirs) await lose(err);
        else if (bring(latest.current.base, latest.current.values, theirs) && isSave) return attempt(run, true);
      } else if (err instanceof Failure && err.status === 404 && documentId !== null) {
        await lose(err);
      } else {
        if (err instanceof Failure && err.issues.length > 0) setErrors(errorsAt(err));
        setProblem(err);
      }
      return null;
    } finally {
      setState("ready");
    }
  };

  // lose tells why the document could not be written: because it is no longer there, or by the error.
  const lose = async (err: unknown): Promise<void> => {
    const isThere = (await read().catch(() => version)) !== null || (await shared().catch(() => ({}))) !== null;
    if (isThere) setProblem(err);
    else setGone(true);
  };

  // after takes over what the server has once a request has changed it from what the form held.
  const after = async (before: Values, from: { path: string }) => {
    const answer = await ask<{ data: Values }>({ path: from.path, query });
    bring(before, latest.current.values, { values: answer.body.data, etag: answer.etag });
    setRecovered(false);
  };

  // afterSave does so after a save, which has written what was sent. What was typed while it ran stays, and goes on from
  // what was written.
  const afterSave = async (sent: Values, answered: Values, from: { path: string }) => {
    const stored = keysFromSent(sent, attributes, components, answered);
    const found = await ask<{ data: Values }>({ path: from.path, query }).catch(() => null);
    const now = latest.current;
    const mine = { ...stored };
    for (const [name, value] of Object.entries(idsFrom(stored, attributes, components, now.values))) {
      if (name in attributes && !equal(now.values[name] as Json, sent[name] as Json)) mine[name] = value;
    }
    // Without the new ETag the next save is refused, and goes on from what was written.
    if (found) bring(stored, mine, { values: found.body.data, etag: found.etag });
    else take({ values: stored, etag: now.etag }, mine);
    setRecovered(false);
  };

  const write = async (): Promise<string | null> => {
    const { values: sent, base: from, etag } = latest.current;
    if (hasUnparsed(sent)) throw new Error(t("field.unparsed"));
    if (documentId === null && !isSingle(type)) return create(sent);
    const answer = await ask<{ data: Values }>({
      method: "PUT",
      path,
      query,
      body: { data: bodyOf(written, components, version ? from : null, sent) as Json },
      ifMatch: etag ?? undefined,
      idempotencyKey: crypto.randomUUID(),
    });
    await afterSave(sent, answer.body.data, { path });
    return String(answer.body.data.documentId);
  };

  // create makes the document, and returns its id. The form of that id goes on with what was typed meanwhile.
  const create = async (values: Values): Promise<string> => {
    creating.current ??= { values: stringify(values), idempotencyKey: crypto.randomUUID() };
    await drafts.put(record(key)).catch(setUnkept);
    const sent = parse(creating.current.values) as Values;
    let made: Values;
    try {
      const answer = await ask<{ data: Values }>({
        method: "POST",
        path: pathOf(type),
        query,
        body: { data: bodyOf(written, components, null, sent) as Json },
        idempotencyKey: creating.current.idempotencyKey,
      });
      made = answer.body.data;
    } catch (err) {
      if (err instanceof Failure && isRefusal(err.status)) creating.current = null;
      throw err;
    }
    const id = String(made.documentId);
    await afterSave(sent, made, { path: `${pathOf(type)}/${id}` });
    isMoved.current = true;
    const now = latest.current;
    if (isChanged(written, components, now.base, now.values)) {
      await drafts.put(record({ ...key, documentId: id, form: "" })).catch(setUnkept);
    }
    await drafts.remove(key).catch(setUnkept);
    return id;
  };

  // look reads what the document is now, if it may have been changed elsewhere. A form in which nothing was typed shows it.
  const look = async (signal: AbortSignal) => {
    const found = await read(signal);
    if (!found) return lose(null);
    const now = latest.current;
    if (found.etag === now.etag) return;
    const isSame = Object.keys(attributes).every((name) => equal(now.base[name] as Json, found.values[name] as Json));
    const by = isSame ? null : await lastAuthor(access, type, path, query.locale, signal);
    if (signal.aborted) return;
    const isTyped = isChanged(attributes, components, now.base, latest.current.values);
    if (!isTyped || isSame) bring(now.base, latest.current.values, found);
    if (!isSame) setNews({ by, version: isTyped ? found : null });
  };
  useEffect(() => {
    if (stirred === 0 || state !== "ready" || conflict !== null || isGone) return;
    const leaving = new AbortController();
    look(leaving.signal).catch(() => {}); // the next save tells of it as well
    return () => leaving.abort();
  }, [stirred, state]);
  useChanges({
    access, type, documentId, locale,
    isThere: version !== null && !isGone && (documentId !== null || isSingle(type)),
    onChange: () => setStirred((count) => count + 1),
  });

  return {
    news,
    show: () => {
      if (news?.version) bring(latest.current.base, latest.current.values, news.version);
      setNews(null);
    },
    state, documentId, values, base, isGone, isNew: version === null, isDirty, isRecovered, errors, problem, unkept, conflict, request, set,
    save: () => attempt(write, true),
    act: async (action) => {
      await attempt(async () => {
        if (isDirty && action === "publish") await write();
        const verb = action === "discardDraft" ? "discard-draft" : action;
        await ask({ method: "POST", path: `${path}/actions/${verb}`, query: { locale: query.locale }, ifMatch: latest.current.etag ?? undefined });
        await after(action === "discardDraft" ? latest.current.values : latest.current.base, { path });
      });
    },
    restore: async (seq, status) => {
      await attempt(async () => {
        await ask({
          method: "POST",
          path: `${path}/actions/restore`,
          query: { locale: query.locale },
          body: { data: { seq, status } },
          ifMatch: latest.current.etag ?? undefined,
          idempotencyKey: crypto.randomUUID(),
        });
        await after(latest.current.values, { path });
      });
    },
    remove: async () => {
      const done = await attempt(async () => {
        await ask({ method: "DELETE", path, query: isLocalized(type) ? { locale: "*" } : undefined, ifMatch: latest.current.etag ?? undefined });
        await drafts.remove(key);
        return true;
      });
      return done === true;
    },
    settle: (choice) => {
      if (!conflict) return;
      take(conflict.theirs, merge(conflict.base as Merged, conflict.mine as Merged, conflict.theirs.values as Merged, choice));
      setConflict(null);
    },
    forget: async () => {
      setValues(base);
      setRecovered(false);
      setErrors(new Map());
      creating.current = null;
      await drafts.remove(key);
      if (isGone) setState("missing");
    },
    retry: () => setAttempts((count) => count + 1),
    again: async () => {
      const made = { ...key, documentId: "", form: crypto.randomUUID().slice(0, 8) };
      const text = stringify(asNew(attributes, withoutIds(latest.current.values, attributes, components)));
      await drafts.put({ ...made, base: "{}", etag: null, values: text, changedAt: Date.now() });
      isMoved.current = true;
      await drafts.remove(key);
      return made.form;
    },
  };
}

// lastAuthor returns who wrote a document last: null if it was the reader, or they may not know.
async function lastAuthor(access: Access, type: ContentType, path: string, locale: Query[string], signal: AbortSignal): Promise<string | null> {
  if (!("history" in type.actions)) return null;
  interface Past {
    data: { by: { kind: string; name?: string | null } }[];
  }
  const answer = await ask<Past>({ path: `${path}/_history`, query: { locale, pagination: { pageSize: 1 } }, signal }).catch(() => null);
  const name = answer?.body.data[0]?.by.name || null;
  return name === access.principal.name ? null : name;
}

// asNew returns the values of attributes, of which a new document can be made: there is nothing to disconnect from it.
function asNew(attributes: Attributes, values: Values): Values {
  return Object.fromEntries(Object.keys(attributes).filter((name) => values[name] !== undefined).map((name) => {
    const value = values[name];
    return [name, isLinkEdit(value) ? { ...value, disconnect: [] } : value];
  }));
}

