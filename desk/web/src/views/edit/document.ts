// The document that a form shows: read, typed into, kept on the device, saved, and settled with what others saved
// meanwhile. Nothing that was typed is dropped unless its author says so.
import { useCallback } from "react";
import type { Request } from "../../api/client.ts";
import { type Change, changed } from "../../form/field.ts";
import type { Values } from "../../form/value.ts";
import { merge, type Values as Merged } from "../../keep/merge.ts";
import { forget, keepAsNew, useKeeping } from "./keeping.ts";
import { show, useNews } from "./news.ts";
import { useOpening } from "./opening.ts";
import { act, remove, restore, save } from "./saving.ts";
import { type Conflict, type News, type Options, type State, take, useWork, type Work } from "./work.ts";

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

export function useDocument(options: Options): Open {
  const work = useWork(options);
  const retry = useOpening(work);
  useKeeping(work);
  useNews(work);
  const set = useCallback((name: string, change: Change) => {
    work.setValues((old) => ({ ...old, [name]: changed(change, old[name]) }));
  }, []);
  const { state, documentId, values, base, isGone, isDirty, isRecovered, errors, problem, unkept, conflict, news } = work;
  return {
    state, documentId, values, base, isGone, isDirty, isRecovered, errors, problem, unkept, conflict, news, set, retry,
    isNew: work.version === null,
    request: { path: work.path, query: work.query },
    save: () => save(work),
    act: (action) => act(work, action),
    restore: (seq, status) => restore(work, seq, status),
    remove: () => remove(work),
    settle: (choice) => settle(work, choice),
    show: () => show(work),
    forget: () => forget(work),
    again: () => keepAsNew(work),
  };
}

// settle ends the conflict, by a choice for each attribute that both sides changed.
function settle(work: Work, choice: ReadonlyMap<string, "mine" | "theirs">): void {
  const { conflict } = work;
  if (!conflict) return;
  take(work, conflict.theirs, merge(conflict.base as Merged, conflict.mine as Merged, conflict.theirs.values as Merged, choice));
  work.setConflict(null);
}
