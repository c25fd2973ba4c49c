// The texts of the desk, in the language of the browser.
import { formGerman } from "./form-de.ts";
import { formEnglish } from "./form-en.ts";

const english = formEnglish;
const german: Record<Key, string> = formGerman;

export type Key = keyof typeof english;

const language = typeof navigator === "undefined" ? "en" : navigator.language;
const texts: Record<Key, string> = /^de\b/.test(language) ? german : english;

// t returns a text, with values in place of the names in braces.
export function t(key: Key, values: Record<string, unknown> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}
