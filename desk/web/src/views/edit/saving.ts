// What a form has the server do with its document, and how it goes on afterwards.
import { isLocalized, isSingle, pathOf } from "../../api/access.ts";
import { ask, Failure, isRefusal } from "../../api/client.ts";
import { parse, stringify } from "../../api/exact.ts";
import type { Json } from "../../api/json.ts";
import { errorsAt } from "../../form/errors.ts";
import { idsFrom, keysFromSent } from "../../form/saved.ts";
import { bodyOf, hasUnparsed, isChanged, type Values } from "../../form/value.ts";
import { equal } from "../../keep/merge.ts";
import { t } from "../../text/text.ts";
import { record } from "./keeping.ts";
import { bring, lose, read, take, type Work } from "./work.ts";

// save saves the document and returns its id; null if it was not saved.
export const save = (work: Work) => attempt(work, () => write(work), true);

export async function act(work: Work, action: "publish" | "unpublish" | "discardDraft"): Promise<void> {
  const { path, query, latest } = work;
  await attempt(work, async () => {
    if (work.isDirty && action === "publish") await write(work);
    const verb = action === "discardDraft" ? "discard-draft" : action;
    await ask({ method: "POST", path: `${path}/actions/${verb}`, query: { locale: query.locale }, ifMatch: latest.current.etag ?? undefined });
    await after(work, action === "discardDraft" ? latest.current.values : latest.current.base);
  });
}

// restore makes a former version the draft.
export async function restore(work: Work, seq: string, status: "draft" | "published"): Promise<void> {
  const { path, query, latest } = work;
  await attempt(work, async () => {
    await ask({
      method: "POST",
      path: `${path}/actions/restore`,
      query: { locale: query.locale },
      body: { data: { seq, status } },
      ifMatch: latest.current.etag ?? undefined,
      idempotencyKey: crypto.randomUUID(),
    });
    await after(work, latest.current.values);
  });
}

// remove deletes the document, and reports whether it did.
export async function remove(work: Work): Promise<boolean> {
  const { type, path, latest, drafts, key } = work;
  const done = await attempt(work, async () => {
    await ask({ method: "DELETE", path, query: isLocalized(type) ? { locale: "*" } : undefined, ifMatch: latest.current.etag ?? undefined });
    await drafts.remove(key);
    return true;
  });
  return done === true;
}

// attempt runs a request, and shows why it failed; a version that somebody else has saved meanwhile becomes a conflict.
// A save goes on by itself if what was changed there and here can be put together.
async function attempt<T>(work: Work, run: () => Promise<T>, isSave = false): Promise<T | null> {
  const { latest } = work;
  work.setState("saving");
  work.setProblem(null);
  work.setErrors(new Map());
  try {
    return await run();
  } catch (err) {
    if (err instanceof Failure && err.status === 412) {
      const theirs = await read(work).catch(() => null);
      if (!theirs) await lose(work, err);
      else if (bring(work, latest.current.base, latest.current.values, theirs) && isSave) return attempt(work, run, true);
    } else if (err instanceof Failure && err.status === 404 && work.documentId !== null) {
      await lose(work, err);
    } else {
      if (err instanceof Failure && err.issues.length > 0) work.setErrors(errorsAt(err));
      work.setProblem(err);
    }
    return null;
  } finally {
    work.setState("ready");
  }
}

async function write(work: Work): Promise<string> {
  const { type, form, path, query } = work;
  const { values: sent, base: from, etag } = work.latest.current;
  if (hasUnparsed(sent)) throw new Error(t("field.unparsed"));
  if (work.documentId === null && !isSingle(type)) return create(work, sent);
  const answer = await ask<{ data: Values }>({
    method: "PUT",
    path,
    query,
    body: { data: bodyOf(form.written, form.components, work.version ? from : null, sent) as Json },
    ifMatch: etag ?? undefined,
    idempotencyKey: crypto.randomUUID(),
  });
  await afterSave(work, sent, answer.body.data, path);
  return String(answer.body.data.documentId);
}

// create makes the document, and returns its id. The form of that id goes on with what was typed meanwhile.
async function create(work: Work, values: Values): Promise<string> {
  const { type, form, drafts, key, creating, isMoved, setUnkept } = work;
  creating.current ??= { values: stringify(values), idempotencyKey: crypto.randomUUID() };
  await drafts.put(record(work, key)).catch(setUnkept);
  const sent = parse(creating.current.values) as Values;
  let made: Values;
  try {
    const answer = await ask<{ data: Values }>({
      method: "POST",
      path: pathOf(type),
      query: work.query,
      body: { data: bodyOf(form.written, form.components, null, sent) as Json },
      idempotencyKey: creating.current.idempotencyKey,
    });
    made = answer.body.data;
  } catch (err) {
    if (err instanceof Failure && isRefusal(err.status)) creating.current = null;
    throw err;
  }
  const id = String(made.documentId);
  await afterSave(work, sent, made, `${pathOf(type)}/${id}`);
  isMoved.current = true;
  const now = work.latest.current;
  if (isChanged(form.written, form.components, now.base, now.values)) {
    await drafts.put(record(work, { ...key, documentId: id, form: "" })).catch(setUnkept);
  }
  await drafts.remove(key).catch(setUnkept);
  return id;
}

// after takes over what the server has once a request has changed it from what the form held.
async function after(work: Work, before: Values): Promise<void> {
  const answer = await ask<{ data: Values }>({ path: work.path, query: work.query });
  bring(work, before, work.latest.current.values, { values: answer.body.data, etag: answer.etag });
  work.setRecovered(false);
}

// afterSave does so after a save, which has written what was sent. What was typed while it ran stays, and goes on from
// what was written.
async function afterSave(work: Work, sent: Values, answered: Values, path: string): Promise<void> {
  const { attributes, components } = work.form;
  const stored = keysFromSent(sent, attributes, components, answered);
  const found = await ask<{ data: Values }>({ path, query: work.query }).catch(() => null);
  const now = work.latest.current;
  const mine = { ...stored };
  for (const [name, value] of Object.entries(idsFrom(stored, attributes, components, now.values))) {
    if (name in attributes && !equal(now.values[name] as Json, sent[name] as Json)) mine[name] = value;
  }
  // Without the new ETag the next save is refused, and goes on from what was written.
  if (found) bring(work, stored, mine, { values: found.body.data, etag: found.etag });
  else take(work, { values: stored, etag: now.etag }, mine);
  work.setRecovered(false);
}
