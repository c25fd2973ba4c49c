// What a form knows of its document, from what the user may do.
import { type Access, type ContentType, isLocalized, writtenBy } from "../api/access.ts";
import { fileURL } from "../files/library.ts";
import { hrefOf } from "../place.ts";
import { type FormContext, labelOf } from "./field.ts";
import { Server } from "./server.ts";

// Version says which version of a document a form shows; documentId is null for a new document.
export interface Version {
  documentId: string | null;
  locale: string | null;
  status: "draft" | "published";
}

// formOf returns the context of a form. Keep it, as by useMemo, for as long as its arguments stay the same: the form
// renders all fields for a new one.
export function formOf(access: Access, type: ContentType, version: Version, isReadOnly = false): FormContext {
  const types = Object.fromEntries(access.contentTypes.map((one) => [one.uid, one]));
  const components = Object.fromEntries(access.components.map((one) => [one.uid, one.schema]));
  const action = type.actions[version.documentId === null ? "create" : "update"] ?? type.actions.update;
  return {
    uid: type.uid,
    ...version,
    attributes: type.schema.attributes,
    components: Object.fromEntries(access.components.map((one) => [one.uid, one.schema.attributes])),
    componentName: (uid) => components[uid]?.displayName ?? labelOf(uid),
    isReadOnly: isReadOnly || !action,
    isLocalized: isLocalized(type),
    written: writtenBy(type, action),
    server: new Server(types),
    hrefOf: (uid, documentId) => hrefOf(["content", types[uid]?.apiID ?? uid, documentId]),
    fileURL,
  };
}
