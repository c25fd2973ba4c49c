// What a form gives to each of its fields.
import { createContext, useContext } from "react";
import type { Server } from "./server.ts";
import type { Attribute, Attributes, Components, Values } from "./value.ts";

// A Change is a new value, or how to make it of the present one.
export type Change<T = unknown> = T | ((old: T) => T);

export function changed<T>(change: Change<T>, old: T): T {
  return typeof change === "function" ? (change as (old: T) => T)(old) : change;
}

// FieldProps are the same for the fields of all types. They are compared to know what to render anew, so a form passes
// the same onChange and siblings for as long as it is open.
export interface FieldProps {
  name: string;
  // path is the place of the value in the document, as in "sections.0.title".
  path: string;
  attribute: Attribute;
  value: unknown;
  onChange: (name: string, change: Change) => void;
  // siblings returns the values beside this one.
  siblings: () => Values;
}

// A FormContext is what all fields of a form know of it.
export interface FormContext {
  uid: string;
  // documentId is null while the document is new.
  documentId: string | null;
  locale: string | null;
  // status is the version that the form shows.
  status: "draft" | "published";
  attributes: Attributes;
  components: Components;
  componentName: (uid: string) => string;
  isReadOnly: boolean;
  // written are the attributes of the document that the user may write.
  written: Attributes;
  // isLocalized is set for a document that has versions in several languages.
  isLocalized: boolean;
  server: Server;
  // hrefOf returns the address of a document in the desk, and fileURL that of a file.
  hrefOf: (uid: string, documentId: string) => string;
  fileURL: (url: string) => string;
}

export const Form = createContext<FormContext | null>(null);

export function useForm(): FormContext {
  const form = useContext(Form);
  if (!form) throw new Error("a field outside of a form");
  return form;
}

// Errors has the messages of the last refused save by the path of their field.
export const Errors = createContext<Map<string, string[]>>(new Map());

// useErrors returns the messages for a field. One without fields below it, as for blocks, also shows what is wrong within
// its value.
export function useErrors(path: string, hasFields: boolean): string[] {
  const errors = useContext(Errors);
  const own = errors.get(path) ?? [];
  if (hasFields || errors.size === 0) return own;
  return [...own, ...[...errors].flatMap(([key, messages]) => (key.startsWith(`${path}.`) ? messages : []))];
}

// useErrorsBelow reports whether a field below a path has an error.
export function useErrorsBelow(path: string): boolean {
  const errors = useContext(Errors);
  return errors.size > 0 && [...errors.keys()].some((key) => key.startsWith(`${path}.`));
}

// isShared reports whether all languages of a document have the same value of an attribute.
export function isShared(a: Attribute): boolean {
  return a.pluginOptions?.i18n?.localized !== true && a.type !== "relation" && a.type !== "uid";
}

// labelOf returns the label of an attribute: "publishedOn" is "Published on".
export function labelOf(name: string): string {
  const words = name
    .replace(/[_-]+/g, " ")
    .replace(/([a-z\d])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
