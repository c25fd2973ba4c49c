// Numbers with all their digits. A JSON number may have more digits than a number of JavaScript holds: such a number is an
// object with its text, which stays what it is when it is compared, kept on the device, or copied. parse makes these
// objects, and stringify writes them as numbers again.
import type { Json } from "./json.ts";

const mark = "\u0000digits";

export type ExactNumber = { [mark]: string };

// isExact reports whether a value is a number that JavaScript cannot hold.
export function isExact(value: unknown): value is ExactNumber {
  return typeof value === "object" && value !== null && mark in value;
}

const grammar = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

// exactNumber returns the number that a text is, with all its digits, or null if it is none. Besides the numbers of
// JSON, it takes a plus, zeros in front, and a point at the beginning or the end.
export function exactNumber(text: string): number | ExactNumber | null {
  const written = text
    .trim()
    .replace(/^\+/, "")
    .replace(/^(-?)0+(?=\d)/, "$1")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?=$|[eE])/, "");
  if (!grammar.test(written)) return null;
  const number = Number(written);
  if (Number.isFinite(number) && canonical(String(number)) === canonical(written)) return number;
  return { [mark]: written };
}

// numberText returns a number as a text with all its digits.
export function numberText(value: unknown): string {
  if (isExact(value)) return value[mark];
  return typeof value === "number" || typeof value === "string" ? String(value) : "";
}

// canonical returns the same text for all texts of a number: its digits without zeros at the ends, and its exponent.
function canonical(text: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return text;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

// parse reads JSON. A browser that does not tell how a number was written gives the nearest one that JavaScript holds.
export function parse(text: string): Json {
  return JSON.parse(text, function (_key: string, value: unknown, context?: { source?: string }) {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return exactNumber(context.source) ?? value;
  } as (key: string, value: unknown) => unknown) as Json;
}

const rawJSON = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;

// stringify writes JSON. A browser that cannot write a number by its text writes the nearest one.
export function stringify(value: unknown, indent?: number): string {
  const write = (_key: string, inner: unknown) => {
    if (!isExact(inner)) return inner;
    return rawJSON ? rawJSON(inner[mark]) : Number(inner[mark]);
  };
  return JSON.stringify(value, write, indent);
}
