package openapi

import "lectern/jsontree"

// audit describes GET /_audit.
func (b *builder) audit() *operation {
	entry := b.schema("AuditEntry", func() any {
		return object("seq", typed("integer"), "at", typed("string", "format", "date-time"),
			"by", object("kind", typed("string"), "name", nullable("string")),
			"kind", typed("string", "enum", []any{"changes", "definitions", "epoch"}),
			"changes", arrayOf(object("type", typed("string"), "documentId", typed("string"),
				"locale", nullable("string"), "status", nullable("string", "enum", []any{"draft", "published", nil}),
				"action", typed("string"))),
			"hash", typed("string"))
	})
	op := b.operation("Audit", "findAudit", "Read who changed what, the newest first", "A page of the log.",
		object("data", arrayOf(entry), "meta", object("next", nullable("integer", "description",
			"What to send as `before` for older entries; null: there are none."))))
	text := jsontree.ObjectOf("type", "string")
	number := jsontree.ObjectOf("type", "integer", "minimum", jsontree.Number("1"))
	op.parameters = []any{
		queryParameter("since", "A time or the number of an entry: later entries alone.", text),
		queryParameter("until", "A time or the number of an entry: entries up to it.", text),
		queryParameter("type", "The uid of a content-type that was changed.", text),
		queryParameter("document", "The documentId of a document that was changed.", text),
		queryParameter("by", "Who made the change: a kind, or a kind and a name as in `user:ann`.", text),
		queryParameter("limit", "How many entries, 50 by default and 500 at most.", number),
		queryParameter("before", "`meta.next` of the page that goes before.", number),
	}
	op.errors = readErrors
	return op
}
