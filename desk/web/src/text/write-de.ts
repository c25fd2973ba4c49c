// The texts of what is beside saving, in German.
import type { writeEnglish } from "./write-en.ts";

export const writeGerman: Record<keyof typeof writeEnglish, string> = {
  "list.attributeOf": "Attribut von {name}",
  "list.set": "Attribut setzen",
  "list.setOf": "Ein Attribut von {n} Dokumenten setzen",
  "list.setThis": "So setzen",
  "list.unknown": "Ob der letzte Versuch gelang, ist nicht bekannt. Noch einmal dasselbe geschieht nur einmal.",
  "write.preview": "Vorschau",
  "write.previewOf": "Vorschau des gesicherten Entwurfs",
  "write.previewTab": "In einem Tab öffnen",
  "write.previewNone": "Ein Attribut, das in der Adresse der Vorschau steht, ist nicht da oder nicht sichtbar.",
  "write.later": "Später …",
  "write.laterLead": "Veröffentlicht wird, was dann gesichert ist. Die Zeiten sind die dieses Geräts.",
  "write.publishAt": "Veröffentlichen am",
  "write.unpublishAt": "Zurückziehen am",
  "write.plan": "So planen",
  "write.willpublish": "Wird am {time} veröffentlicht",
  "write.willunpublish": "Wird am {time} zurückgezogen",
  "write.failedpublish": "Konnte am {time} nicht veröffentlicht werden: {message}",
  "write.failedunpublish": "Konnte am {time} nicht zurückgezogen werden: {message}",
  "write.cancelPlan": "Doch nicht",
};
