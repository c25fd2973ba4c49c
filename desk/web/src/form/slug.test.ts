import { expect, test } from "vitest";
import { numbered, slugOf } from "./slug.ts";

test.each([
  ["Déjà vu", "deja-vu"],
  ["Привет, мир", "privet-mir"],
  ["APIGateway", "api-gateway"],
  ["fooBar HTML5", "foo-bar-html-5"],
  ["Größe & Maß", "groesse-and-mass"],
  ["  ", ""],
  ["日本", ""],
])("%s", (text, want) => expect(slugOf(text)).toBe(want));

test("long slugs are cut after a word, and numbers fit", () => {
  expect(slugOf("one two three", 9)).toBe("one-two");
  expect(numbered("one-two", 3, 8)).toBe("one-3");
  expect(numbered("one", 0)).toBe("one");
});
