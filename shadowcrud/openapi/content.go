package openapi

import (
	"cmp"
	"net/http"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// content describes a route of a content-type.
func (b *builder) content(r *Route) *operation {
	t := r.Type
	one, many := contenttypes.GraphQLName(t.Singular), contenttypes.GraphQLName(t.Plural)
	op := &operation{tag: cmp.Or(t.DisplayName, one)}
	b.tags.Set(op.tag, cmp.Or(t.Description, "Documents of the type "+t.UID+"."))
	single := t.Kind == contenttypes.SingleType
	switch r.Action {
	case "find":
		if single {
			b.findOne(op, t, "find"+one)
		} else {
			b.find(op, t, "find"+many)
		}
	case "findOne":
		b.findOne(op, t, "findOne"+one)
	case "create":
		b.save(op, t, "create"+one, http.StatusCreated)
	case "update":
		b.save(op, t, "update"+one, http.StatusOK)
	case "delete":
		b.delete(op, t, "delete"+one)
	case "history":
		if strings.HasSuffix(r.Path, "/_deleted") {
			b.deleted(op, t, "deleted"+many)
		} else {
			b.history(op, t, "history"+one)
		}
	case "restore":
		b.restore(op, t, "restore"+one)
	case "preview":
		b.preview(op, t, "preview"+one)
	default: // publish, unpublish, discardDraft
		b.publication(op, t, r.Action, one)
	}
	return op
}

// called returns what a type is called in a summary.
func called(t *contenttypes.ContentType) string { return cmp.Or(t.DisplayName, t.Singular) }

// find describes the list of the documents of a type.
func (b *builder) find(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "List documents of "+called(t)
	op.parameters = append(b.selecting(t), b.pagination(), b.filtersParameter(t), b.sortParameter(), b.search())
	if t.Localized {
		op.parameters = append(op.parameters, b.locale(true))
	}
	op.parameters = append(op.parameters, b.publicationFilters(t)...)
	content := b.schema(b.names.of[&t.Schema]+"List", func() any {
		return object("data", arrayOf(b.read(&t.Schema)), "meta", object("pagination", b.paginationAnswer()))
	})
	ok := answer("A page of documents.", content, jsontree.ObjectOf("data", []any{b.example(&t.Schema)}, "meta",
		paginationExample()))
	if b.access.Allows(t, "stream") {
		op.description = "With `Accept: application/x-ndjson` the answer has all documents that match, " +
			"one on each line, without a limit."
		ok.Value("content").(*jsontree.Object).Set("application/x-ndjson", jsontree.ObjectOf("schema", typed("string",
			"description", "A document on each line. If the server breaks the stream off, "+
				"the last line says why: `{\"error\": …}`.")))
	}
	op.errors = readErrors
	b.tag(op, ok)
}

// findOne describes the read of one document.
func (b *builder) findOne(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "Read a document of "+called(t)
	op.parameters = b.selecting(t)
	if t.Localized {
		op.parameters = append(op.parameters, b.locale(false))
	}
	op.parameters = append(append(op.parameters, b.filtersParameter(t), b.sortParameter(), b.search()),
		b.publicationFilters(t)...)
	if b.access.Allows(t, "history") {
		op.parameters = append(op.parameters, b.asOf())
		op.errors = pastErrors
	} else {
		op.errors = readErrors
	}
	b.tag(op, b.oneAnswer(t))
}

// oneAnswer describes the answer with one document of a type.
func (b *builder) oneAnswer(t *contenttypes.ContentType) *jsontree.Object {
	return answer("The document.", b.one(t),
		jsontree.ObjectOf("data", b.example(&t.Schema), "meta", jsontree.NewObject()))
}

// one returns a reference to the schema of an answer with one document.
func (b *builder) one(t *contenttypes.ContentType) *jsontree.Object {
	return b.schema(b.names.of[&t.Schema]+"Answer", func() any {
		meta := typed("object", "properties", jsontree.NewObject())
		if schedule := b.Model.Type(contenttypes.ScheduleUID); t.DraftAndPublish && schedule != nil {
			meta = typed("object", "properties", jsontree.ObjectOf("schedules", arrayOf(b.read(&schedule.Schema))))
		}
		return object("data", b.read(&t.Schema), "meta", meta)
	})
}

// save describes the creation or change of a document.
func (b *builder) save(op *operation, t *contenttypes.ContentType, id string, status int) {
	data := b.input(&t.Schema)
	example := any(jsontree.ObjectOf("data", b.inputExample(&t.Schema, b.limit(&t.Schema, "update"))))
	op.id, op.summary = id, "Change a document of "+called(t)
	if status == http.StatusCreated {
		data, example = b.create(t), b.createExample(t)
		op.summary = "Create a document of " + called(t)
	} else if t.Kind == contenttypes.SingleType {
		op.summary = "Create or change the document of " + called(t)
	}
	op.parameters = b.written(t)
	op.body = jsonBody(object("data", data), example)
	op.responses = jsontree.ObjectOf(statusText(status), b.oneAnswer(t))
	op.errors = writeErrors
}

// written returns the parameters of a write that answers with a document.
func (b *builder) written(t *contenttypes.ContentType) []any {
	return b.onLocale(t, b.selecting(t))
}

// acted returns the parameters of an action, which decides itself what version it writes and shows.
func (b *builder) acted(t *contenttypes.ContentType) []any {
	return b.onLocale(t, b.showing(t))
}

// onLocale appends to the parameters of a write which locale it is about, and on what condition it is carried out.
func (b *builder) onLocale(t *contenttypes.ContentType, list []any) []any {
	if t.Localized {
		list = append(list, b.locale(false))
	}
	return append(list, b.onCondition()...)
}

// delete describes the removal of a document.
func (b *builder) delete(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "Delete a document of "+called(t)
	if t.Localized {
		op.description = "Without `locale`, the version in the default locale is deleted; with `locale=*` all versions are."
		op.parameters = []any{b.locale(true)}
	}
	op.parameters = append(op.parameters, b.onCondition()...)
	op.responses = jsontree.ObjectOf("204", jsontree.ObjectOf("description", "The document is deleted."))
	op.errors = writeErrors
}

// publication describes publish, unpublish and discard-draft.
func (b *builder) publication(op *operation, t *contenttypes.ContentType, action, name string) {
	op.id = action + name
	op.parameters = b.acted(t)
	op.responses = jsontree.ObjectOf("200", b.oneAnswer(t))
	op.errors = writeErrors
	var times []string
	switch action {
	case "publish":
		op.summary, times = "Publish a document of "+called(t), []string{"publishAt", "unpublishAt"}
	case "unpublish":
		op.summary, times = "Take back the published version of a document of "+called(t), []string{"unpublishAt"}
	default:
		op.summary = "Replace the draft of a document of " + called(t) + " by its published version"
		return
	}
	properties := jsontree.NewObject()
	for _, name := range times {
		properties.Set(name, nullable("string", "format", "date-time"))
	}
	op.description = "With a time in the body it is scheduled."
	scheduled := b.oneAnswer(t)
	scheduled.Set("description", "The draft: it is to happen at the time in the body.")
	op.responses.Set("202", scheduled)
	op.body = jsonBody(typed("object", "properties",
		jsontree.ObjectOf("data", jsontree.ObjectOf("type", "object", "properties", properties, "additionalProperties",
			false))), nil)
	op.body.Set("required", false)
}

// preview describes the making of a preview.
func (b *builder) preview(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "Make a preview of the draft of a document of "+called(t)
	op.description = "The token reads the draft of this document and what it populates, and nothing else. " +
		"Send it as `Authorization: Bearer`."
	if t.Localized {
		op.parameters = []any{b.locale(false)}
	}
	made := b.schema("Preview", func() any {
		return object("data", object("token", typed("string"), "expiresAt", typed("string", "format", "date-time"),
			"url", nullable("string", "format", "uri", "description", "The page that shows the draft.")),
			"meta", typed("object", "properties", jsontree.NewObject()))
	})
	op.responses = jsontree.ObjectOf("200", answer("The preview.", made, nil))
	op.errors = readErrors
}

// history describes the list of what was done to a document.
func (b *builder) history(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "List what was done to a document of "+called(t)
	b.ofVersions(op, t, "Only what was done in this locale; `*`: in any, as without it.")
	item := b.schema("HistoryItem", func() any {
		return object(
			"seq", typed("string", "description", "The position in the log, for `asOf` and `restore`."),
			"at", typed("string", "format", "date-time"),
			"by", writer(),
			"action", typed("string"),
			"locale", nullable("string"),
			"status", typed("string", "enum", []any{"draft", "published"}),
			"changed", arrayOf(typed("string")),
		)
	})
	op.responses = jsontree.ObjectOf("200", answer("What was done, the newest first.",
		object("data", arrayOf(item), "meta", object("pagination", b.paginationAnswer())), nil))
	op.errors = readErrors
}

// ofVersions adds the parameters that choose versions.
func (b *builder) ofVersions(op *operation, t *contenttypes.ContentType, locale string) {
	if t.Localized {
		op.parameters = append(op.parameters,
			queryParameter("locale", locale, typed("string", "enum", append(jsontree.ListOf(b.Locales), "*"))))
	}
	op.parameters = append(op.parameters, b.status(""), b.pagination())
}

// writer describes who has written something.
func writer() *jsontree.Object { return object("kind", typed("string"), "name", typed("string")) }

// deleted describes the list of the documents that were deleted.
func (b *builder) deleted(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "List the documents of "+called(t)+" that were deleted"
	b.ofVersions(op, t, "Only documents with a version in this locale; `*`: in any, as without it.")
	item := b.schema("DeletedItem", func() any {
		return object(
			"documentId", typed("string"),
			"seq", typed("string", "description", "The position in the log, behind the deletion."),
			"before", typed("string", "description", "The position before it, for `asOf` and `restore`."),
			"at", typed("string", "format", "date-time"),
			"by", writer(),
			"versions", arrayOf(object("locale", nullable("string"), "status", typed("string", "enum",
				[]any{"draft", "published"}))),
		)
	})
	op.responses = jsontree.ObjectOf("200", answer("What was deleted, the last one first.",
		object("data", arrayOf(item), "meta", object("pagination", b.paginationAnswer())), nil))
	op.errors = readErrors
}

// restore describes the action that writes a former version as the draft.
func (b *builder) restore(op *operation, t *contenttypes.ContentType, id string) {
	op.id, op.summary = id, "Write a former version of a document of "+called(t)+" as its draft"
	op.parameters = b.acted(t)
	op.body = jsonBody(object("data", jsontree.ObjectOf("type", "object", "required", []any{"seq"},
		"additionalProperties", false,
		"properties", jsontree.ObjectOf("seq", typed("string", "description", "From the history of the document."),
			"status", typed("string", "enum", []any{"draft", "published"})))), nil)
	op.responses = jsontree.ObjectOf("200", b.oneAnswer(t))
	op.errors = restoreErrors
}
