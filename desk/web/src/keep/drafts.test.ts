import "fake-indexeddb/auto";
import { IDBFactory } from "fake-indexeddb";
import { expect, test } from "vitest";
import { Drafts, type Kept } from "./drafts.ts";

function kept(part: Partial<Kept>): Kept {
  return {
    user: "ada", uid: "api::article.article", documentId: "a", locale: "en", form: "",
    base: `{"title":"before"}`, etag: '"1"', values: `{"title":"after"}`, changedAt: 1,
    ...part,
  };
}

test("a form that is opened again goes on where it was, until its save was answered", async () => {
  const device = new IDBFactory();
  await new Drafts("/desk/", device).put(kept({}));
  await new Drafts("/desk/", device).put(kept({ values: `{"title":"later"}` }));
  const opened = new Drafts("/desk/", device); // as after a crash
  expect(await opened.get(kept({}))).toEqual(kept({ values: `{"title":"later"}` }));
  await opened.remove(kept({}));
  await opened.remove(kept({}));
  expect(await opened.get(kept({}))).toBeUndefined();
});

test("forms, users and servers are kept apart", async () => {
  const device = new IDBFactory();
  const drafts = new Drafts("/desk/", device);
  const other: Partial<Kept>[] = [
    { user: "ben" }, { user: "adaline" }, { uid: "api::page.page" }, { documentId: "b" }, { locale: "de" }, { documentId: "", form: "1" },
    { documentId: "", form: "2" },
  ];
  for (const part of other) await drafts.put(kept({ ...part, changedAt: 2 }));
  expect(await drafts.get(kept({}))).toBeUndefined();
  expect(await new Drafts("/blog/desk/", device).of("ada")).toEqual([]);
  await drafts.put(kept({ changedAt: 3 }));
  const mine = await drafts.of("ada");
  expect(mine).toHaveLength(6);
  expect(mine[0]).toEqual(kept({ changedAt: 3 }));
});

test("what the device refuses is reported", async () => {
  const drafts = new Drafts("/desk/", new IDBFactory());
  await expect(drafts.put(kept({ values: (() => 1) as never }))).rejects.toThrow();
});
