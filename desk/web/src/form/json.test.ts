import { expect, test } from "vitest";
import { randomBlocks, randomSource } from "../blocks/random.ts";
import { jsonText, placeOfError, readJSON } from "./json.ts";

test.each([
  ["{", 1],
  ['{"a"}', 4],
  ['{"a":1,}', 7],
  ["[1 2]", 3],
  ["tru", 3],
  ["nope", 1],
  ['"a\nb"', 2],
  ['"\\x"', 2],
  ["01", 1],
  ["[1]]", 3],
  ['{"a": [1, {"b": x}]}', 16],
])("%s is wrong at %d", (text, at) => {
  expect(() => JSON.parse(text)).toThrow();
  expect(placeOfError(text)).toBe(at);
  expect(readJSON(text)).toMatchObject({ from: at });
});

test("texts of values are read as these values", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const value = randomBlocks(randomSource(seed));
    expect(readJSON(jsonText(value))).toEqual({ value });
    expect(placeOfError(jsonText(value))).toBe(jsonText(value).length);
  }
  expect(readJSON(" ")).toEqual({ value: null });
});
