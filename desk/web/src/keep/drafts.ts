// What is typed is kept on this device until the server has it: a closed tab, a crash, a lost line or an expired session
// loses nothing. Each form has one record, which is written a moment after each key and removed once a save was answered.

import type { Access } from "../api/access.ts";

// FormKey names a form. documentId is empty for a document that the server does not have yet; then form tells several of
// them apart. Whoever logs in on this device sees only what they typed themselves, so user is part of the key.
export interface FormKey {
  user: string;
  uid: string;
  documentId: string;
  locale: string;
  form: string;
}

// Kept is what a form needs to go on where it was.
export interface Kept extends FormKey {
  base: string; // the document as it was opened, in JSON, whose numbers have all their digits
  etag: string | null; // the ETag of base; null for a new document
  values: string; // what the form holds, in JSON
  changedAt: number; // milliseconds since 1970
  creating?: Creating; // set while it is not known whether the server has the document
}

// Creating is a request that makes a document. It is sent again as it was, under the same key, until the server has
// answered: then it cannot make a second one.
export interface Creating {
  values: string; // what the form held, in JSON
  idempotencyKey: string;
}

// userOf returns the user of a FormKey.
export function userOf({ principal }: Access): string {
  return principal.kind === "user" ? `user ${principal.id}` : principal.kind;
}

const database = "lectern-desk";
const store = "drafts";
const keyPath = ["user", "uid", "documentId", "locale", "form"] as const;

// Drafts keeps forms in IndexedDB. Its methods reject if the device refuses, for example because its disk is full: then
// the form has to say so, since what is typed is only in memory.
export class Drafts {
  readonly #open: Promise<IDBDatabase>;
  #db: IDBDatabase | null = null; // once it is open, so that a page that is being left can still begin to write

  // prefix is the path of the desk, so that two servers behind one host keep theirs apart.
  constructor(prefix: string, factory: IDBFactory = indexedDB) {
    this.#open = new Promise((resolve, reject) => {
      const request = factory.open(`${database}:${prefix}`, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(store, { keyPath: [...keyPath] });
      request.onsuccess = () => resolve((this.#db = request.result));
      request.onerror = () => reject(request.error);
    });
    this.#open.catch(() => {}); // each method reports it
  }

  // put keeps a form in place of what was kept of it.
  async put(kept: Kept): Promise<void> {
    await this.#run("readwrite", (forms) => forms.put(kept));
  }

  // get returns what is kept of a form.
  async get(key: FormKey): Promise<Kept | undefined> {
    return this.#run("readonly", (forms) => forms.get(keyOf(key)));
  }

  // remove forgets a form. It is no error if nothing was kept.
  async remove(key: FormKey): Promise<void> {
    await this.#run("readwrite", (forms) => forms.delete(keyOf(key)));
  }

  // of returns every form that is kept of a user, the one that was changed last first.
  async of(user: string): Promise<Kept[]> {
    const range = IDBKeyRange.bound([user], [user, []]); // an array is greater than every string
    const kept: Kept[] = await this.#run("readonly", (forms) => forms.getAll(range));
    return kept.sort((a, b) => b.changedAt - a.changedAt);
  }

  async #run<T>(mode: IDBTransactionMode, ask: (forms: IDBObjectStore) => IDBRequest<T>): Promise<T> {
    const transaction = (this.#db ?? (await this.#open)).transaction(store, mode, { durability: "strict" });
    return new Promise((resolve, reject) => {
      const request = ask(transaction.objectStore(store));
      transaction.commit();
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? request.error);
    });
  }
}

function keyOf(key: FormKey): string[] {
  return keyPath.map((part) => key[part]);
}
