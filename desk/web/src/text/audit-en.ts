// English texts of the audit.
export const auditEnglish = {
  "audit.title": "Who changed what",
  "audit.type": "Type",
  "audit.all": "All",
  "audit.by": "By",
  "audit.show": "Show",
  "audit.allDocuments": "All documents",
  "audit.none": "Nothing was changed.",
  "audit.definitions": "changed the definitions",
  "audit.epoch": "began a new log",
  "audit.moreChanges": "and {n} more",
};
