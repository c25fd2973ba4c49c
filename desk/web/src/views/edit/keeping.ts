// What is typed is kept on the device at each key, until the server has it.
import { useEffect, useRef } from "react";
import { stringify } from "../../api/exact.ts";
import { type Attributes, isChanged, isLinkEdit, type Values, withoutIds } from "../../form/value.ts";
import type { FormKey, Kept } from "../../keep/drafts.ts";
import type { Work } from "./work.ts";

// record returns what the device keeps of the form, under a key.
export function record({ latest, creating, isMoved }: Work, of: FormKey): Kept {
  const now = latest.current;
  const made = { ...of, base: stringify(now.base), etag: now.etag, values: stringify(now.values), changedAt: Date.now() };
  return creating.current && !isMoved.current ? { ...made, creating: creating.current } : made;
}

// useKeeping keeps the form. A form that says what the server has needs nothing kept. While the device writes, the last
// state waits, so that a fast writer does not wait for a slow disk.
export function useKeeping(work: Work): void {
  const { form, drafts, key, latest, creating, isMoved, setUnkept, state, conflict } = work;
  const keeping = useRef({ isWriting: false, isLate: false });
  const keep = () => {
    const at = keeping.current;
    if (isMoved.current) return;
    if (at.isWriting) {
      at.isLate = true;
      return;
    }
    const now = latest.current;
    const dirty = creating.current !== null || isChanged(form.written, form.components, now.base, now.values);
    const write = dirty ? drafts.put(record(work, key)) : drafts.remove(key);
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
  }, [work.values, work.base, state, conflict]);
}

// forget drops what was typed.
export async function forget(work: Work): Promise<void> {
  work.setValues(work.base);
  work.setRecovered(false);
  work.setErrors(new Map());
  work.creating.current = null;
  await work.drafts.remove(work.key);
  if (work.isGone) work.setState("missing");
}

// keepAsNew keeps what is typed as a new document, and returns the name of its form.
export async function keepAsNew({ form, drafts, key, latest, isMoved }: Work): Promise<string> {
  const made = { ...key, documentId: "", form: crypto.randomUUID().slice(0, 8) };
  const text = stringify(asNew(form.attributes, withoutIds(latest.current.values, form.attributes, form.components)));
  await drafts.put({ ...made, base: "{}", etag: null, values: text, changedAt: Date.now() });
  isMoved.current = true;
  await drafts.remove(key);
  return made.form;
}

// asNew returns the values of attributes, of which a new document can be made: there is nothing to disconnect from it.
function asNew(attributes: Attributes, values: Values): Values {
  return Object.fromEntries(Object.keys(attributes).filter((name) => values[name] !== undefined).map((name) => {
    const value = values[name];
    return [name, isLinkEdit(value) ? { ...value, disconnect: [] } : value];
  }));
}
