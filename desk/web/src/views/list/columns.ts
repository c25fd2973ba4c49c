// Which columns a list shows, and how it shows their values.
import { type Attribute, type ContentType, isLocalized, mainAttribute } from "../../api/access.ts";
import type { Json } from "../../api/json.ts";
import { language, t } from "../../text/text.ts";

export interface Document {
  id: number;
  documentId: string;
  locale?: string | null;
  publishedAt?: string | null;
  [attribute: string]: Json | undefined;
}

// shown are the types of attributes whose values fit into a cell.
const shown = new Set(["string", "text", "uid", "email", "integer", "biginteger", "float", "decimal", "boolean", "date", "time", "datetime",
  "timestamp", "enumeration", "relation", "media"]);

// sorted are those that the API sorts by.
const sorted = new Set([...shown].filter((type) => type !== "relation" && type !== "media"));

export const isSorted = (attribute: Attribute | undefined, name: string) => systemColumns.includes(name) || (attribute !== undefined && sorted.has(attribute.type));

const systemColumns = ["createdAt", "updatedAt", "publishedAt"];

// columnsOf returns all columns that a list of a type can have.
export function columnsOf(type: ContentType): string[] {
  const own = Object.entries(type.schema.attributes).filter(([, a]) => a.readable && shown.has(a.type)).map(([name]) => name);
  const seen = type.actions.find?.fields ?? [];
  const system = systemColumns.filter((name) => seen.includes(name) && (name !== "publishedAt" || type.schema.draftAndPublish));
  return [...own, ...(isLocalized(type) ? ["locale"] : []), ...system.filter((name) => !own.includes(name))];
}

// firstColumns returns the columns of a list of which the reader has said nothing.
export function firstColumns(type: ContentType): string[] {
  const main = mainAttribute(type);
  const own = columnsOf(type).filter((name) => name !== main && !systemColumns.includes(name) && name !== "locale");
  const simple = own.filter((name) => !["text", "relation", "media"].includes(type.schema.attributes[name]?.type ?? ""));
  return [...(main ? [main] : []), ...simple.slice(0, 3), ...columnsOf(type).filter((name) => name === "updatedAt")];
}

// firstSort returns how a list is sorted of which the reader has said nothing: what was changed last comes first, if they
// may know that.
export function firstSort(type: ContentType): string {
  if (columnsOf(type).includes("updatedAt")) return "updatedAt:desc";
  const main = mainAttribute(type);
  return main !== null && isSorted(type.schema.attributes[main], main) ? `${main}:asc` : "documentId:asc";
}

// populateOf returns what a list has to ask for beside fields, so that it can show its columns.
export function populateOf(type: ContentType, columns: string[], all: ContentType[]): Record<string, { fields: string[] }> {
  const populate: Record<string, { fields: string[] }> = {};
  for (const name of columns) {
    const attribute = type.schema.attributes[name];
    if (attribute?.type === "media") populate[name] = { fields: ["name"] };
    if (attribute?.type !== "relation") continue;
    const target = all.find((candidate) => candidate.uid === attribute.target);
    populate[name] = { fields: [(target && mainAttribute(target)) ?? "documentId"] };
  }
  return populate;
}

// To make a format takes longer than to show a row.
const times = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const numbers = new Intl.NumberFormat(language);

// textOf returns a value as a cell shows it.
export function textOf(attribute: Attribute | undefined, value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((one) => textOf(attribute, one)).join(", ");
  if (typeof value === "object") {
    const { id, documentId, ...rest } = value;
    const named = Object.values(rest).find((v) => typeof v === "string" && v !== "");
    return String(named ?? documentId ?? id ?? "");
  }
  if (typeof value === "boolean") return t(value ? "edit.yes" : "edit.no");
  if (typeof value === "string" && (attribute === undefined || attribute.type === "datetime" || attribute.type === "timestamp")) {
    const time = new Date(value);
    if (/^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(time.getTime())) {
      return times.format(time);
    }
  }
  return typeof value === "number" ? numbers.format(value) : value;
}
