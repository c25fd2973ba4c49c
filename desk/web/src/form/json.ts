// Values of json attributes as texts that people edit.
import { parse, stringify } from "../api/exact.ts";

// jsonText returns a value as indented JSON; null, which is no value, is the empty text.
export function jsonText(value: unknown): string {
  return value === null || value === undefined ? "" : stringify(value, 2);
}

export type Read = { value: unknown } | { from: number; message: string };

// readJSON returns the value of a text, or what is wrong with it and where.
export function readJSON(text: string): Read {
  if (text.trim() === "") return { value: null };
  try {
    return { value: parse(text) };
  } catch (error) {
    return { from: placeOfError(text), message: (error as Error).message.replace(/^JSON\.parse: /, "") };
  }
}

// placeOfError returns the place of the first character with which a text can be no JSON. Messages of browsers do not
// all say it.
export function placeOfError(text: string): number {
  let at = 0;
  const blank = () => {
    while (/[ \t\n\r]/.test(text[at] ?? "")) at++;
  };
  const word = (token: string) => {
    for (const c of token) {
      if (text[at] !== c) return false;
      at++;
    }
    return true;
  };
  const string = (): boolean => {
    if (text[at] !== '"') return false;
    for (at++; at < text.length; at++) {
      const c = text[at]!;
      if (c === '"') return (at++, true);
      if (c < " ") return false;
      if (c !== "\\") continue;
      const escape = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(at + 1, at + 6));
      if (!escape) return (at++, false);
      at += escape[0].length;
    }
    return false;
  };
  const number = (): boolean => {
    const found = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/.exec(text.slice(at, at + 1000));
    if (!found) return false;
    at += found[0].length;
    return true;
  };
  const list = (close: string, item: () => boolean): boolean => {
    at++;
    blank();
    if (text[at] === close) return (at++, true);
    for (;;) {
      if (!item()) return false;
      blank();
      if (text[at] === close) return (at++, true);
      if (text[at] !== ",") return false;
      at++;
      blank();
    }
  };
  const value = (): boolean => {
    blank();
    switch (text[at]) {
      case "{":
        return list("}", () => {
          if (!string()) return false;
          blank();
          if (text[at] !== ":") return false;
          at++;
          return value();
        });
      case "[":
        return list("]", value);
      case '"':
        return string();
      case "t":
        return word("true");
      case "f":
        return word("false");
      case "n":
        return word("null");
    }
    return number();
  };
  if (value()) blank();
  return at;
}
