package openapi

import (
	"net/http"
	"slices"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
)

// queryParameter describes a parameter in the query string, with further members.
func queryParameter(name, description string, schema any, more ...any) *jsontree.Object {
	return jsontree.ObjectOf(append([]any{"name", name, "in", "query", "description", description, "schema", schema},
		more...)...)
}

// deep makes a parameter an object whose members are parameters of their own: filters[title][$eq]=a.
func deep(name, description string, schema any) *jsontree.Object {
	return queryParameter(name, description, schema, "style", "deepObject", "explode", true)
}

// commas makes a parameter a list that is written with commas: fields=title,body.
func commas(name, description string, schema any) *jsontree.Object {
	return queryParameter(name, description, schema, "style", "form", "explode", false)
}

// selecting returns the parameters that say which version of documents is shown, and what of it.
func (b *builder) selecting(t *contenttypes.ContentType) []any {
	// Types without drafts have status too: it chooses the versions of what they lead to.
	return append(b.showing(t), b.status("published"))
}

// showing returns the parameters that say what of documents is shown.
func (b *builder) showing(t *contenttypes.ContentType) []any {
	return []any{
		commas("fields", "The fields to show; ids are always shown. Without it: all.", b.fields(&t.Schema)),
		deep("populate", "The relations, media, components and zones to show, with options. Without it: none.",
			b.populate(&t.Schema)),
	}
}

// status returns the parameter status. otherwise is its default; "" if there is none.
func (b *builder) status(otherwise string) *jsontree.Object {
	schema := typed("string", "enum", []any{"draft", "published"})
	if otherwise == "" {
		return queryParameter("status", "Only what was done to these versions.", schema)
	}
	schema.Set("default", otherwise)
	return b.parameter("status", func() *jsontree.Object {
		return queryParameter("status", "Which version to read or write. Drafts are read with the permission findDrafts, "+
			"unless the server lets everybody read them.", schema)
	})
}

// locale returns the parameter locale. several says whether it may name several locales, and `*` all of them.
func (b *builder) locale(several bool) *jsontree.Object {
	codes := jsontree.ListOf(b.Locales)
	if !several {
		return b.parameter("locale", func() *jsontree.Object {
			return queryParameter("locale", "The locale to read or write.",
				typed("string", "enum", codes, "default", b.Locales[0]))
		})
	}
	return b.parameter("locales", func() *jsontree.Object {
		schema := anyOf(typed("string", "enum", append(slices.Clip(codes), "*")),
			arrayOf(typed("string", "enum", codes)))
		schema.Set("default", b.Locales[0])
		return queryParameter("locale", "The locale, or several, or `*` for all.", schema)
	})
}

func (b *builder) filtersParameter(t *contenttypes.ContentType) *jsontree.Object {
	return deep("filters", "Conditions that documents must meet, such as `filters[id][$gt]=1`.", b.filters(&t.Schema))
}

func (b *builder) sortParameter() *jsontree.Object {
	return b.parameter("sort", func() *jsontree.Object {
		return commas("sort",
			"The fields to sort by, each with `:asc` or `:desc`; a dot leads through relations: `owner.name:desc`.",
			arrayOf(typed("string", "pattern", `^\s*[A-Za-z0-9_.]+(:\s*([aA][sS][cC]|[dD][eE][sS][cC]))?\s*$`)))
	})
}

func (b *builder) search() *jsontree.Object {
	return b.parameter("search", func() *jsontree.Object {
		return queryParameter("_q", "A text that some field of a document must contain.", typed("string"))
	})
}

func (b *builder) pagination() *jsontree.Object {
	return b.parameter("pagination", func() *jsontree.Object {
		size := typed("integer", "minimum", 1, "default", b.DefaultLimit)
		if b.MaxLimit > 0 {
			size.Set("description", "More than the limit of the server counts as the limit.")
		}
		parameter := deep("pagination",
			"The page: by `page` and `pageSize`, or by `start` and `limit`, but not by both.",
			jsontree.ObjectOf("type", "object", "additionalProperties", false, "properties", jsontree.ObjectOf(
				"page", typed("integer", "minimum", 1, "default", 1), "pageSize", size,
				"start", typed("integer", "minimum", 0), "limit", size,
				"withCount", typed("boolean", "description", "Whether the answer has the total."),
			)))
		parameter.Set("example", jsontree.ObjectOf("page", 1, "pageSize", b.DefaultLimit))
		return parameter
	})
}

// publicationFilters returns the parameters that choose documents by the state of their publication.
func (b *builder) publicationFilters(*contenttypes.ContentType) []any {
	return []any{
		b.parameter("publicationFilter", func() *jsontree.Object {
			return queryParameter("publicationFilter", "The state of publication that documents must have.",
				typed("string", "enum", jsontree.ListOf(params.PublicationFilters())))
		}),
		b.parameter("hasPublishedVersion", func() *jsontree.Object {
			return queryParameter("hasPublishedVersion",
				"Whether documents must have a published version, in any locale.", typed("boolean"))
		}),
	}
}

func (b *builder) asOf() *jsontree.Object {
	return b.parameter("asOf", func() *jsontree.Object {
		return queryParameter("asOf", "A time, or a `seq` of the history: the document is shown as it was then.",
			typed("string"),
			"examples", jsontree.ObjectOf("time", jsontree.ObjectOf("value", "2030-01-01T09:00:00Z")))
	})
}

// header returns a reference to a parameter in a header, which is a text. more are further keys of its schema.
func (b *builder) header(key, name, description string, more ...any) *jsontree.Object {
	return b.parameter(key, func() *jsontree.Object {
		return jsontree.ObjectOf("name", name, "in", "header", "schema", typed("string", more...),
			"description", description)
	})
}

func (b *builder) ifNoneMatch() *jsontree.Object {
	return b.header("ifNoneMatch", "If-None-Match",
		"The ETag of an answer that you have. If it would be the same, the server answers 304 without a body.")
}

func (b *builder) ifMatchAnswer() *jsontree.Object {
	return b.header("ifMatchAnswer", "If-Match",
		"The ETag of an answer that you have. If the answer would be another, the server answers 412.")
}

// onCondition returns the headers that say when a write of one document is carried out.
func (b *builder) onCondition() []any {
	return []any{
		b.header("ifMatch", "If-Match",
			"The ETag of the document as you read it, or `*`. If the document has changed since, "+
				"the server answers 412. If there is none, it answers 404 or 412."),
		b.header("ifNone", "If-None-Match",
			"With `*`: if there is such a document, the server answers 412."),
		b.idempotencyKey(),
	}
}

// takesKeys adds to an operation that it may be sent with an idempotency key.
func (b *builder) takesKeys(op *operation) {
	op.parameters = append(op.parameters, b.idempotencyKey())
	op.fails(http.StatusConflict, http.StatusUnprocessableEntity)
}

// fails adds statuses of errors to an operation.
func (op *operation) fails(statuses ...int) {
	op.errors = slices.Compact(slices.Sorted(slices.Values(append(statuses, op.errors...))))
}

func (b *builder) idempotencyKey() *jsontree.Object {
	return b.header("idempotencyKey", "Idempotency-Key",
		"A text of your own for this request. The write is carried out once, "+
			"however often you send it with this key.", "minLength", 1)
}
