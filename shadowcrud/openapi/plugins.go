package openapi

import (
	"lectern/contenttypes"
	"lectern/jsontree"
)

// routes describes the routes that belong to no content-type, by method and path below the prefix. A function returns
// nil if its reader has no use for the route.
var routes = map[string]func(*builder) *operation{
	"GET /_health":       (*builder).health,
	"GET /_openapi.json": (*builder).self,
	"GET /_changes":      (*builder).changes,
	"POST /_batch":       (*builder).batch,

	"GET /_schedules":         (*builder).listSchedules,
	"DELETE /_schedules/{id}": (*builder).cancelSchedule,
	"GET /i18n/locales":       (*builder).locales,
	"GET /_status":            (*builder).serverStatus,
	"GET /_audit":             (*builder).audit,
	"POST /_presence":         (*builder).presence,

	"GET /_tokens":                        (*builder).listTokens,
	"POST /_tokens":                       (*builder).createToken,
	"POST /_tokens/{name}/actions/rotate": (*builder).rotateToken,
	"DELETE /_tokens/{name}":              (*builder).revokeToken,
	"GET /_sessions":                      (*builder).sessionsOfUser,
	"DELETE /_sessions/{id}":              (*builder).endSession,
	"GET /_roles":                         (*builder).rolesWithRules,

	"GET /_webhooks":                        (*builder).listWebhooks,
	"GET /_webhooks/{name}/deliveries":      (*builder).listDeliveries,
	"POST /_webhooks/{name}/actions/test":   (*builder).testWebhook,
	"POST /_webhooks/{name}/actions/replay": (*builder).replayWebhook,

	"POST /upload":                 (*builder).upload,
	"GET /upload/files":            (*builder).listFiles,
	"GET /upload/files/count":      (*builder).countFiles,
	"GET /upload/files/{id}":       (*builder).oneFile,
	"GET /upload/files/{id}/usage": (*builder).fileUsage,
	"DELETE /upload/files/{id}":    (*builder).deleteFile,
	"GET /uploads/{path}":          (*builder).fileContent,

	"POST /auth/local":                   (*builder).login,
	"POST /auth/local/register":          (*builder).register,
	"POST /auth/change-password":         (*builder).changePassword,
	"POST /auth/forgot-password":         (*builder).forgotPassword,
	"POST /auth/reset-password":          (*builder).resetPassword,
	"GET /auth/email-confirmation":       (*builder).confirmEmail,
	"POST /auth/send-email-confirmation": (*builder).sendConfirmation,
	"GET /auth/{provider}/callback":      (*builder).loginByProvider,
	"POST /auth/refresh":                 (*builder).refreshSession,
	"POST /auth/logout":                  (*builder).logout,
	"GET /auth/sessions":                 (*builder).listSessions,
	"DELETE /auth/sessions/{id}":         (*builder).revokeSession,

	"GET /users":         (*builder).listUsers,
	"GET /users/count":   (*builder).countUsers,
	"GET /users/me":      (*builder).me,
	"GET /users/{id}":    (*builder).oneUser,
	"POST /users":        (*builder).createUser,
	"PUT /users/{id}":    (*builder).updateUser,
	"DELETE /users/{id}": (*builder).deleteUser,

	"GET /users-permissions/roles":         (*builder).listRoles,
	"GET /users-permissions/roles/{id}":    (*builder).oneRole,
	"POST /users-permissions/roles":        (*builder).createRole,
	"PUT /users-permissions/roles/{id}":    (*builder).updateRole,
	"DELETE /users-permissions/roles/{id}": (*builder).deleteRole,
	"GET /users-permissions/permissions":   (*builder).listPermissions,
}

// tagTexts describe the tags of the server's own operations.
var tagTexts = map[string]string{
	serverTag: "The server as a whole, and what spans content-types.",
	hooksTag:  "Webhooks: how they are doing, and sending again.",
	"Audit":   "Who changed what.",
	filesTag:  "Uploaded files.",
	authTag:   "Registration, login, sessions and passwords.",
	usersTag:  "Users who can log in.",
	rolesTag:  "Roles of users, and what they are granted.",
	tokensTag: "Keys of programs that use the API.",
}

// operation returns an operation under a tag of the server's own, which answers 200.
func (b *builder) operation(tag, id, summary, description string, schema any) *operation {
	b.tags.Set(tag, tagTexts[tag])
	return &operation{id: id, tag: tag, summary: summary,
		responses: jsontree.ObjectOf("200", answer(description, schema, nil)), errors: pluginErrors}
}

// mayOne reports whether the reader may use one of some actions on some content-type.
func (b *builder) mayOne(actions ...string) bool {
	for _, t := range b.Model.Types {
		for _, action := range actions {
			if !t.BuiltIn && b.access.Allows(t, action) {
				return true
			}
		}
	}
	return false
}

const serverTag = "Server"

// GET /_health
func (b *builder) health() *operation {
	op := b.operation(serverTag, "health", "Ask whether the server works", "", nil)
	op.responses = jsontree.ObjectOf(
		"204", jsontree.ObjectOf("description", "The server works."),
		"503", answer("Something does not work.", typed("object", "required", []any{"state", "message"}, "properties",
			jsontree.ObjectOf(
				"state", typed("string"), "message", typed("string"), "action", typed("string"), "since",
				typed("string", "format", "date-time"))), nil),
	)
	op.errors = nil
	return op
}

// GET /api/_openapi.json
func (b *builder) self() *operation {
	op := b.operation(serverTag, "openapi", "Read this document", "The OpenAPI document of what you may do.",
		typed("object", "additionalProperties", true))
	op.errors = []int{401, 429, 500, 503}
	b.tag(op, op.responses.Value("200").(*jsontree.Object))
	return op
}

// GET /api/_changes
func (b *builder) changes() *operation {
	if !b.mayOne("find") {
		return nil
	}
	change := b.schema("Change", func() any {
		o := object("seq", typed("string"), "type", typed("string"), "documentId", typed("string"), "locale",
			nullable("string"),
			"change", typed("string", "enum", []any{"create", "update", "delete", "publish", "unpublish"}), "at",
			typed("string", "format", "date-time"))
		o.Value("properties").(*jsontree.Object).Set("document", typed("object", "additionalProperties", true))
		return o
	})
	o := object("results", arrayOf(change), "last_seq", typed("string"), "pending", typed("integer"))
	o.Value("properties").(*jsontree.Object).Set(
		"reset", typed("boolean", "description", "The log does not reach back to `since`: begin anew."))
	op := b.operation(serverTag, "changes", "Read what has happened to documents",
		"What has happened since a position.", b.schema("Changes", func() any { return o }))
	op.responses.Value("200").(*jsontree.Object).Value("content").(*jsontree.Object).Set("text/event-stream",
		jsontree.ObjectOf("schema", typed("string", "description", "A change in each event.")))
	milliseconds := typed("integer", "minimum", 1000, "maximum", 600000)
	op.parameters = []any{
		queryParameter("since",
			"A position that an earlier answer named; `now` for the end. Without it: from the beginning.",
			typed("string")),
		queryParameter("limit", "The most changes of an answer.",
			typed("integer", "minimum", 1, "maximum", 10000, "default", 1000)),
		queryParameter("feed", "Whether to wait for changes.",
			typed("string", "enum", []any{"normal", "longpoll", "eventsource"}, "default", "normal")),
		queryParameter("heartbeat", "Milliseconds between signs of life of an event stream.", milliseconds),
		queryParameter("timeout", "Milliseconds after which a long poll is answered.", milliseconds),
		commas("types", "The types, by plural name or uid.", arrayOf(typed("string"))),
		commas("locale", "The locales.", arrayOf(typed("string"))),
		b.status("published"),
		queryParameter("include", "Show the documents.", typed("string", "enum", []any{"document"})),
		commas("fields", "The fields to show of documents.", arrayOf(typed("string"))),
		deep("populate", "What to populate in documents.",
			anyOf(typed("string"), arrayOf(typed("string")), typed("object", "additionalProperties", true))),
		jsontree.ObjectOf("name", "Last-Event-ID", "in", "header", "schema", typed("string"),
			"description", "The id of the last event that you have: an event stream goes on behind it, whatever `since` says."),
	}
	op.errors = []int{400, 401, 403, 429, 500, 501, 503}
	return op
}

// POST /api/_batch
func (b *builder) batch() *operation {
	if !b.mayOne("create", "update", "delete", "publish", "unpublish", "discardDraft") {
		return nil
	}
	// Many tools take a property that is named $ref for a reference, so that it is not among the properties.
	id := anyOf(typed("string"),
		typed("object", "description", "`{\"$ref\": NAME}`: the document that an earlier operation made `as` NAME.",
			"additionalProperties", typed("string"), "minProperties", 1, "maxProperties", 1))
	one := jsontree.ObjectOf("type", "object", "required", []any{"op", "type"}, "additionalProperties", false,
		"properties", jsontree.ObjectOf(
			"op", typed("string", "enum", []any{"create", "update", "delete", "publish", "unpublish", "discardDraft"}),
			"type", typed("string", "description",
				"The plural name of the type, the singular name of a single type, or the uid."),
			"as", typed("string"), "documentId", id, "data", typed("object", "additionalProperties", true), "locale",
			typed("string"),
			"status", typed("string", "enum", []any{"draft", "published"}),
			"fields", anyOf(typed("string"), arrayOf(typed("string"))),
			"populate", jsontree.NewObject(),
			"ifMatch", typed("string", "description", "The ETag that the document must have before the batch."),
			"publishAt", nullable("string", "format", "date-time"), "unpublishAt",
			nullable("string", "format", "date-time"),
		))
	result := typed("object", "required", []any{"status"}, "properties", jsontree.ObjectOf(
		"status", typed("integer"), "data", jsontree.ObjectOf("type", []any{"object", "null"}, "additionalProperties",
			true), "error", typed("object", "additionalProperties", true), "meta",
		typed("object", "additionalProperties", true)))
	op := b.operation(serverTag, "batch", "Write many documents in one transaction",
		"A result for each operation, in order.",
		object("data", arrayOf(result), "meta",
			typed("object", "properties", jsontree.ObjectOf("failed", typed("integer")))))
	body := object("operations", arrayOf(one))
	body.Value("properties").(*jsontree.Object).Set(
		"atomic", typed("boolean", "default", true, "description", "Whether all operations are carried out or none."))
	op.body = jsonBody(body,
		jsontree.ObjectOf("operations",
			[]any{jsontree.ObjectOf("op", "create", "type", "articles", "as", "first", "data",
				jsontree.ObjectOf("title", "Ink"))}))
	op.errors = batchErrors
	return op
}

// GET /api/_schedules
func (b *builder) listSchedules() *operation {
	t := b.Model.Type(contenttypes.ScheduleUID)
	if t == nil || !b.mayOne("publish", "unpublish") {
		return nil
	}
	op := b.operation(serverTag, "findSchedules", "List what is to be published and unpublished later",
		"A page of schedules.",
		object("data", arrayOf(b.read(&t.Schema)), "meta", object("pagination", b.paginationAnswer())))
	op.parameters = []any{commas("fields", "The fields to show.", b.fields(&t.Schema)), b.filtersParameter(t),
		b.sortParameter(), b.pagination()}
	op.errors = readErrors
	b.tag(op, op.responses.Value("200").(*jsontree.Object))
	return op
}

// DELETE /api/_schedules/{id}
func (b *builder) cancelSchedule() *operation {
	if !b.mayOne("publish", "unpublish") {
		return nil
	}
	op := b.operation(serverTag, "cancelSchedule", "Cancel a schedule", "", nil)
	op.responses = jsontree.ObjectOf("204", jsontree.ObjectOf("description", "The schedule is cancelled."))
	op.errors = []int{400, 401, 403, 404, 409, 429, 500, 503, 507}
	return op
}

// GET /api/i18n/locales
func (b *builder) locales() *operation {
	t := b.Model.Type(contenttypes.LocaleUID)
	locale := b.schema(b.names.of[&t.Schema], func() any {
		o := b.readObject(&t.Schema)
		o.Value("properties").(*jsontree.Object).Set("isDefault", typed("boolean"))
		return o
	})
	op := b.operation(serverTag, "findLocales", "List the locales", "The locales.", arrayOf(locale))
	op.errors = readErrors
	return op
}
