// What the form of a document holds while it is open, and how it goes on from what the server has.
import { useMemo, useRef, useState } from "react";
import { type Access, type ContentType, isLocalized, isSingle, pathOf, readsDrafts } from "../../api/access.ts";
import { ask, Failure } from "../../api/client.ts";
import type { Query } from "../../api/query.ts";
import { adopted } from "../../compare/values.ts";
import { type FormContext, isShared } from "../../form/field.ts";
import { populateOf } from "../../form/query.ts";
import { keysFrom } from "../../form/saved.ts";
import { isChanged, type Values } from "../../form/value.ts";
import { type Creating, type Drafts, type FormKey, userOf } from "../../keep/drafts.ts";
import { fates, merge, type Values as Merged } from "../../keep/merge.ts";

// A Version is a document as the server had it, and the ETag that a save of it must still find.
export interface Version {
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

export interface Options {
  access: Access;
  type: ContentType;
  form: FormContext;
  drafts: Drafts;
  documentId: string | null;
  locale: string;
  name: string; // tells several new documents apart
}

// Work is a form and all that it holds, as of one rendering.
export type Work = ReturnType<typeof useWork>;

export function useWork(options: Options) {
  const place = usePlace(options);
  const held = useHeld();
  const fresh = useRef<Values>({}); // what the form of a version that is not there yet begins with
  const creating = useRef<Creating | null>(null); // the document is perhaps there already
  const isMoved = useRef(false); // it has an id now, and another form goes on with it
  const base = held.version?.values ?? fresh.current;
  const latest = useRef({ values: held.values, base, etag: null as string | null }); // what requests that are under way go on with
  latest.current = { values: held.values, base, etag: held.version?.etag ?? null };
  const { written, components } = options.form;
  const isDirty = held.state !== "loading" && isChanged(written, components, base, held.values);
  return { ...options, ...place, ...held, fresh, creating, isMoved, base, latest, isDirty };
}

// useHeld is all that a change of it renders the form anew.
function useHeld() {
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
  return {
    state, setState, version, setVersion, values, setValues, errors, setErrors, problem, setProblem, unkept, setUnkept,
    conflict, setConflict, isRecovered, setRecovered, isGone, setGone, news, setNews,
  };
}

// usePlace returns where the document is: on the device, and below the address of the API.
function usePlace({ access, type, form, documentId, locale, name }: Options) {
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
    populate: populateOf(form.attributes, form.components, form.server.types) as Query,
  }), [access, type, locale, form]);
  return { key, path, query };
}

// read returns what the server has; null if there is no version in this language.
export async function read({ path, query }: Work, signal?: AbortSignal): Promise<Version | null> {
  try {
    const answer = await ask<{ data: Values | null }>({ path, query, signal });
    return answer.body.data ? { values: answer.body.data, etag: answer.etag } : null;
  } catch (err) {
    if (err instanceof Failure && err.status === 404) return null;
    throw err;
  }
}

// shared returns the values that a new language of the document begins with, which all of its languages share; null if
// there is none.
export async function shared({ access, type, form, path, query }: Work): Promise<Values | null> {
  if (!isLocalized(type)) return null;
  for (const other of access.locales) {
    try {
      const { body } = await ask<{ data: Values }>({ path, query: { ...query, locale: other } });
      return Object.fromEntries(Object.entries(form.attributes).flatMap(([name, a]): [string, unknown][] =>
        isShared(a) && name in body.data ? [[name, adopted(a, form.components, body.data[name])]] : []));
    } catch (err) {
      if (!(err instanceof Failure && err.status === 404)) throw err;
    }
  }
  return null;
}

// bring goes on with what the server has now: at once where only one side changed an attribute, otherwise by asking. It
// reports whether it did not have to ask.
export function bring(work: Work, before: Values, mine: Values, found: Version): boolean {
  const { attributes, components } = work.form;
  const from = keysFrom(mine, attributes, components, before);
  const theirs = { ...found, values: keysFrom(mine, attributes, components, found.values) };
  const all = fates(from as Merged, mine as Merged, theirs.values as Merged);
  if ([...all.values()].includes("conflict")) {
    work.setConflict({ base: from, mine, theirs });
    return false;
  }
  take(work, theirs, merge(from as Merged, mine as Merged, theirs.values as Merged, new Map()));
  return true;
}

// take has the form show next, which goes on from found.
export function take(work: Work, found: Version, next: Values): void {
  work.setNews(null);
  work.setVersion(found);
  work.setValues(next);
  work.latest.current = { values: next, base: found.values, etag: found.etag };
}

// lose tells why the document could not be written: because it is no longer there, or by the error.
export async function lose(work: Work, err: unknown): Promise<void> {
  const isThere = (await read(work).catch(() => work.version)) !== null || (await shared(work).catch(() => ({}))) !== null;
  if (isThere) work.setProblem(err);
  else work.setGone(true);
}
