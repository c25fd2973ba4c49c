// The texts of the desk, in the language of the browser: German if that is what it asks for first, otherwise English.
import { auditGerman } from "./audit-de.ts";
import { auditEnglish } from "./audit-en.ts";
import { de } from "./de.ts";
import { en } from "./en.ts";
import { formGerman } from "./form-de.ts";
import { formEnglish } from "./form-en.ts";
import { historyGerman } from "./history-de.ts";
import { historyEnglish } from "./history-en.ts";
import { hooksGerman } from "./hooks-de.ts";
import { hooksEnglish } from "./hooks-en.ts";
import { mediaGerman } from "./media-de.ts";
import { mediaEnglish } from "./media-en.ts";
import { serverGerman } from "./server-de.ts";
import { serverEnglish } from "./server-en.ts";
import { peopleGerman } from "./people-de.ts";
import { peopleEnglish } from "./people-en.ts";
import { rolesGerman } from "./roles-de.ts";
import { rolesEnglish } from "./roles-en.ts";
import { typesGerman } from "./types-de.ts";
import { typesEnglish } from "./types-en.ts";
import { writeGerman } from "./write-de.ts";
import { writeEnglish } from "./write-en.ts";

const english = { ...en, ...auditEnglish, ...formEnglish, ...historyEnglish, ...hooksEnglish, ...mediaEnglish, ...serverEnglish, ...peopleEnglish, ...rolesEnglish, ...typesEnglish, ...writeEnglish };
const german: Record<Key, string> = { ...de, ...auditGerman, ...formGerman, ...historyGerman, ...hooksGerman, ...mediaGerman, ...serverGerman, ...peopleGerman, ...rolesGerman, ...typesGerman, ...writeGerman };

export type Key = keyof typeof english;

const languages: Record<string, Record<Key, string>> = { en: english, de: german };

// language is that of all texts on the page.
export const language = pick(typeof navigator === "undefined" ? [] : navigator.languages);

const texts = languages[language] ?? english;

function pick(wanted: readonly string[]): string {
  for (const tag of wanted) {
    const short = tag.split("-")[0] ?? "";
    if (short in languages) return short;
  }
  return "en";
}

// t returns a text, with values in place of the names in braces.
export function t(key: Key, values: Record<string, unknown> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(language) : String(value ?? "");
  });
}
