// Numbers as they are written. A JSON number may have more digits than a number of JavaScript holds; such a number is
// kept as an object that JSON.stringify writes with all its digits.

// A RawNumber is what JSON.rawJSON makes.
export interface RawNumber {
  readonly rawJSON: string;
}

const raw = JSON as unknown as {
  rawJSON?: (text: string) => RawNumber;
  isRawJSON?: (value: unknown) => value is RawNumber;
};

// isRaw reports whether a value is a number that JavaScript cannot hold.
export function isRaw(value: unknown): value is RawNumber {
  return raw.isRawJSON?.(value) ?? false;
}

const grammar = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

// exactNumber returns the number that a text is, with all its digits, or null if it is none. Besides the numbers of
// JSON, it takes a plus, zeros in front, and a point at the beginning or the end.
export function exactNumber(text: string): number | RawNumber | null {
  const written = text
    .trim()
    .replace(/^\+/, "")
    .replace(/^(-?)0+(?=\d)/, "$1")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?=$|[eE])/, "");
  if (!grammar.test(written)) return null;
  const number = Number(written);
  if (Number.isFinite(number) && canonical(String(number)) === canonical(written)) return number;
  if (!raw.rawJSON) return Number.isFinite(number) ? number : null;
  return raw.rawJSON(written);
}

// numberText returns a number as a text with all its digits.
export function numberText(value: unknown): string {
  if (isRaw(value)) return value.rawJSON;
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

// parseExact parses JSON, and keeps all digits of its numbers.
export function parseExact(text: string): unknown {
  return JSON.parse(text, function (_key: string, value: unknown, context?: { source?: string }) {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return exactNumber(context.source) ?? value;
  } as (key: string, value: unknown) => unknown);
}
