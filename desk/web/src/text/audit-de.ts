// German texts of the audit.
import type { auditEnglish } from "./audit-en.ts";

export const auditGerman: Record<keyof typeof auditEnglish, string> = {
  "audit.title": "Wer was geändert hat",
  "audit.type": "Typ",
  "audit.all": "Alle",
  "audit.by": "Von",
  "audit.show": "Zeigen",
  "audit.allDocuments": "Alle Dokumente",
  "audit.none": "Nichts wurde geändert.",
  "audit.definitions": "hat die Definitionen geändert",
  "audit.epoch": "hat ein neues Protokoll begonnen",
  "audit.moreChanges": "und {n} weitere",
};
