import { expect, test, vi } from "vitest";
import type { ContentType } from "../../api/access.ts";

vi.stubGlobal("document", { baseURI: "http://127.0.0.1/desk/", getElementById: () => null });
const { columnsOf, firstColumns, firstSort } = await import("./columns.ts");

const type = (...fields: string[]): ContentType => ({
  uid: "api::note.note",
  apiID: "note",
  schema: {
    displayName: "Note", singularName: "note", pluralName: "notes", kind: "collectionType", draftAndPublish: true,
    attributes: { title: { type: "string", readable: true }, secret: { type: "string", readable: false } },
  },
  preview: false,
  actions: { find: { limited: true, fields } },
});

test("a list shows and sorts by what its reader may see", () => {
  const all = type("id", "documentId", "title", "createdAt", "updatedAt", "publishedAt");
  expect([columnsOf(all), firstColumns(all), firstSort(all)]).toEqual([
    ["title", "createdAt", "updatedAt", "publishedAt"], ["title", "updatedAt"], "updatedAt:desc"]);
  const few = type("id", "documentId", "title");
  expect([columnsOf(few), firstColumns(few), firstSort(few)]).toEqual([["title"], ["title"], "title:asc"]);
});
