// The texts of what is beside saving: previews, times, and others who write.
export const writeEnglish = {
  "write.preview": "Preview",
  "write.previewOf": "Preview of the saved draft",
  "write.previewTab": "Open in a tab",
  "write.previewNone": "An attribute that the address of the preview names is not there, or you may not see it.",
  "write.later": "Later …",
  "write.laterLead": "What is saved at that time is published then. Times are those of this device.",
  "write.publishAt": "Publish at",
  "write.unpublishAt": "Unpublish at",
  "write.plan": "Plan this",
  "write.willpublish": "Will be published {time}",
  "write.willunpublish": "Will be taken off {time}",
  "write.failedpublish": "Could not be published {time}: {message}",
  "write.failedunpublish": "Could not be taken off {time}: {message}",
  "write.cancelPlan": "Cancel this",
} as const;
