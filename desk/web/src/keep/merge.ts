// Three-way comparison of a document: what it was when the form opened it, what was typed since, and what the server
// has now. It knows values only; a caller says which attributes there are.

import type { Json } from "../api/json.ts";

export type { Json };

// Values are the attributes of a document as the form holds them. An attribute that is not there was not read.
export type Values = { [attribute: string]: Json };

// Fate says who changed an attribute since the form opened the document.
//   same:     nobody, or both to the same value
//   mine:     the form alone
//   theirs:   the server alone
//   conflict: both, to different values
export type Fate = "same" | "mine" | "theirs" | "conflict";

// equal reports whether two values are the same JSON. The order of an object's keys does not matter.
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((value, i) => equal(value, b[i]));
  }
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

// fates compares every attribute of any of the three.
export function fates(base: Values, mine: Values, theirs: Values): Map<string, Fate> {
  const result = new Map<string, Fate>();
  for (const name of new Set([base, mine, theirs].flatMap(Object.keys))) {
    const changedHere = !equal(base[name], mine[name]);
    const changedThere = !equal(base[name], theirs[name]);
    if (equal(mine[name], theirs[name]) || (!changedHere && !changedThere)) result.set(name, "same");
    else if (!changedThere) result.set(name, "mine");
    else if (!changedHere) result.set(name, "theirs");
    else result.set(name, "conflict");
  }
  return result;
}

// merge returns the values that a form goes on with: of each attribute what its only author made of it. Where both
// changed it, choice decides. It throws if choice says nothing of a conflict, so that none is settled unseen.
export function merge(base: Values, mine: Values, theirs: Values, choice: ReadonlyMap<string, "mine" | "theirs">): Values {
  const result: Values = {};
  for (const [name, fate] of fates(base, mine, theirs)) {
    const author = fate === "conflict" ? choice.get(name) : fate === "mine" ? "mine" : "theirs";
    if (author === undefined) throw new Error(`nobody chose between the two values of ${name}`);
    const value = (author === "mine" ? mine : theirs)[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}

// changes returns the attributes whose values differ from base: what a save has to send.
export function changes(base: Values, mine: Values): Values {
  return Object.fromEntries(Object.entries(mine).filter(([name, value]) => !equal(base[name], value)));
}
