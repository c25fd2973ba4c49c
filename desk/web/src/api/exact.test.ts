import { expect, test } from "vitest";
import { exactNumber, numberText, parse, stringify } from "./exact.ts";

test.each([
  ["0", "0"],
  ["7", "7"],
  ["-7.50", "-7.5"],
  ["+3", "3"],
  ["007", "7"],
  [".5", "0.5"],
  ["5.", "5"],
  ["1e3", "1000"],
  ["9007199254740993", "9007199254740993"],
  ["0.1234567890123456789", "0.1234567890123456789"],
  ["1e400", "1e400"],
  ["123456789012345678901234567890.25", "123456789012345678901234567890.25"],
  ["100000000000000000000000", "1e+23"],
])("%s is read as %s", (text, want) => {
  const value = exactNumber(text);
  expect(numberText(value)).toBe(want);
});

test.each(["", "x", "1,5", "0x10", "1e", "--1", "Infinity", "NaN", "1 2"])("%s is no number", (text) => {
  expect(exactNumber(text)).toBeNull();
});

test("what is parsed is written again, with all digits where the platform can", () => {
  const text = '{"a":[12345678901234567890,0.1,-7],"b":{"c":1e400}}';
  const value = parse(text);
  if ("rawJSON" in JSON) expect(stringify(structuredClone(value))).toBe(text);
  else expect(stringify(value)).toBe('{"a":[12345678901234567000,0.1,-7],"b":{"c":null}}');
});
