package openapi

import "lectern/jsontree"

// POST /api/_presence
func (b *builder) presence() *operation {
	visit := b.schema("Visit", func() any {
		return object("by", object("kind", typed("string"), "name", nullable("string", "description",
			"Null for a user unless you may find users.")),
			"since", dateTime,
			"unsaved", typed("boolean", "description", "They have changed it without saving."))
	})
	op := b.operation(serverTag, "openDocument", "Say that you have a document open, and see who else has",
		"Who else has it open, those who came first at the front.", object("data", arrayOf(visit), "meta",
			object("lasts", typed("integer", "description", "The seconds for which you count as there."))))
	op.body = jsontree.ObjectOf("required", true, "content", jsonContent(object("data",
		typed("object", "required", []any{"contentType"}, "properties", jsontree.ObjectOf(
			"contentType", typed("string"), "documentId", typed("string", "description", "Not needed of a single type."),
			"locale", typed("string"), "unsaved", typed("boolean"),
			"closed", typed("boolean", "description", "You have closed it.")))),
		jsontree.ObjectOf("data", jsontree.ObjectOf("contentType", "api::article.article", "documentId",
			"ow8vyo7qa1nbdfxyc00ygv4k"))))
	return op
}
