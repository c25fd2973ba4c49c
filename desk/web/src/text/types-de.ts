// German texts of the types and the reference of the API.
import type { typesEnglish } from "./types-en.ts";

export const typesGerman: Record<keyof typeof typesEnglish, string> = {
  "types.title": "Typen und API",
  "types.all": "Alle Typen",
  "types.picture": "Zeichnung der Typen; die Liste darunter sagt dasselbe",
  "types.components": "Komponenten",
  "types.single": "Einzelseite",
  "types.collection": "Sammlung",
  "types.drafts": "mit Entwürfen",
  "types.localized": "in mehreren Sprachen",
  "types.required": "nötig",
  "types.unique": "eindeutig",
  "types.writeOnly": "wird nicht gezeigt",
  "types.token": "Die Befehle senden das Token aus der Variablen TOKEN: ein API-Token oder die Antwort einer Anmeldung. Hier steht, was Sie dürfen.",
  "types.noOperations": "Mit diesem Typ dürfen Sie über REST nichts tun.",
  "types.parameters": "Parameter",
  "types.body": "Inhalt",
  "types.answer": "Antwort {status}",
  "types.noAnswer": "(kein Beispiel)",
  "types.copy": "Kopieren",
  "types.copyOf": "Kopieren: {name}",
  "types.query": "Abfrage",
  "types.mutation": "Änderung",
  "types.variables": "Variablen",
};
