import { expect, test, vi } from "vitest";
import type { Access, Attribute, ContentType } from "../../api/access.ts";

vi.stubGlobal("document", { baseURI: "http://127.0.0.1/desk/", getElementById: () => null });
const { stepsOf } = await import("./filter.ts");

const readable = true;
const type = (name: string, attributes: Record<string, Attribute>): ContentType => ({
  uid: name, apiID: name, preview: false, actions: { find: { limited: false, fields: Object.keys(attributes) } },
  schema: { displayName: name, singularName: name, pluralName: name, kind: "collectionType", draftAndPublish: false, attributes },
});
const relation = (target: string): Attribute => ({ type: "relation", relation: "manyToOne", target, readable });
const article = type("article", { author: relation("author"), title: { type: "string", readable }, hidden: relation("secret") });
const author = type("author", { name: { type: "string", readable }, city: relation("city") });
const city = type("city", { zip: { type: "component", component: "zip", readable } });
const access = {
  contentTypes: [article, author, city], components: [{ uid: "zip", schema: { displayName: "Zip", attributes: { code: { type: "integer", readable } } } }],
} as unknown as Access;

test.each<[string[], string[]]>([
  [[], ["title"]],
  [["author"], ["author", "name"]],
  [["author", "city", "zip"], ["author", "city", "zip", "code"]],
  [["author", "gone"], ["author", "name"]],
  [["hidden"], ["title"]],
])("a path of %j is led on to %j", (asked, path) => {
  const found = stepsOf(access, article, asked);
  expect(found.path).toEqual(path);
  expect(found.steps.length).toBe(path.length);
});
