package openapi

import "lectern/jsontree"

const tokensTag = "API tokens"

// permissionsList returns the schema of a list of permissions.
func permissionsList(description string) *jsontree.Object {
	return typed("array", "items", typed("string"), "description", description)
}

// rulesOf is the schema of the rules of some permissions.
var rulesOf = typed("object", "description", "By permission, its rule in `permissions.yaml`.",
	"additionalProperties", typed("object", "additionalProperties", true))

// tokenAnswer returns the schema of a token.
func (b *builder) tokenAnswer() *jsontree.Object {
	return b.schema("ApiToken", func() any { return object(tokenProperties()...) })
}

func tokenProperties() []any {
	time := nullable("string", "format", "date-time")
	return []any{"name", typed("string"), "description", typed("string"),
		"type", typed("string", "enum", []any{"full-access", "read-only", "custom"}),
		"permissions", permissionsList("Those of a custom token."), "rules", rulesOf,
		"declared", typed("boolean", "description", "`permissions.yaml` says what it may do."),
		"hasKey", typed("boolean", "description", "Without a key, nobody can use it."),
		"lifespan", nullable("integer", "description", "In seconds; null: it does not end."),
		"createdAt", time, "lastUsedAt", time, "expiresAt", time,
		"formerUntil", nullable("string", "format", "date-time", "description", "Until when the former key works.")}
}

// keyAnswer returns the schema of a token with its key.
func (b *builder) keyAnswer() *jsontree.Object {
	return enveloped(b.schema("ApiTokenWithKey", func() any {
		return object(append(tokenProperties(), "key",
			typed("string", "description", "No other answer has it."))...)
	}))
}

// GET /api/_tokens
func (b *builder) listTokens() *operation {
	op := b.operation(tokensTag, "findApiTokens", "List the API tokens",
		"The tokens in the order in which they were made, then those of `permissions.yaml` that have no key yet.",
		enveloped(arrayOf(b.tokenAnswer())))
	op.errors = readErrors
	return op
}

// POST /api/_tokens
func (b *builder) createToken() *operation {
	op := b.operation(tokensTag, "createApiToken", "Make an API token", "", nil)
	op.description = "A token may do no more than you. For one of `permissions.yaml`, `name` is enough."
	op.responses = jsontree.ObjectOf("201", answer("The token with its key.", b.keyAnswer(), nil))
	data := typed("object", "required", []any{"name"}, "properties", jsontree.ObjectOf("name", typed("string"),
		"description", typed("string"), "type", typed("string", "enum", []any{"full-access", "read-only", "custom"}),
		"permissions", permissionsList("What a custom token may do."),
		"lifespan", lifespan("After which it ends; without one it does not.")))
	op.body = jsonBody(object("data", data), jsontree.ObjectOf("data", jsontree.ObjectOf("name", "newsletter",
		"permissions", []any{"api::article.article.find"}, "lifespan", "90d")))
	return op
}

// lifespan returns the schema of a time that passes.
func lifespan(description string) *jsontree.Object {
	return jsontree.ObjectOf("type", []any{"string", "integer"}, "description",
		description+" A time such as `90d` or `12h`, or a number of seconds.")
}

// POST /api/_tokens/{name}/actions/rotate
func (b *builder) rotateToken() *operation {
	op := b.operation(tokensTag, "rotateApiToken", "Give an API token a new key", "The token with its key.", b.keyAnswer())
	op.body = jsontree.ObjectOf("content", jsonContent(object("data", optional("grace",
		lifespan("For which the former key works; an hour without it, and `0` ends it at once."))),
		jsontree.ObjectOf("data", jsontree.ObjectOf("grace", "1h"))))
	return op
}

// DELETE /api/_tokens/{name}
func (b *builder) revokeToken() *operation {
	op := b.operation(tokensTag, "revokeApiToken", "End an API token", "", nil)
	op.responses = jsontree.ObjectOf("204", jsontree.ObjectOf("description", "Its key is refused from now on."))
	return op
}

// userSession returns the schema of a session.
func (b *builder) userSession() *jsontree.Object {
	return b.schema("UserSession", func() any {
		return object("id", typed("string"), "deviceId", nullable("string"),
			"current", typed("boolean", "description", "It is the session of this request."),
			"loginAt", dateTime, "lastActiveAt", dateTime)
	})
}

// GET /api/_sessions
func (b *builder) sessionsOfUser() *operation {
	op := b.operation(usersTag, "findUserSessions", "List where a user is logged in",
		"The sessions: those first that were active last.", enveloped(arrayOf(b.userSession())))
	op.parameters = []any{jsontree.ObjectOf("name", "user", "in", "query", "required", true, "schema", typed("string"),
		"description", "The id, name or address of the user.")}
	op.errors = readErrors
	return op
}

// DELETE /api/_sessions/{id}
func (b *builder) endSession() *operation {
	op := b.operation(usersTag, "endUserSession", "End a session of a user", "", nil)
	op.responses = jsontree.ObjectOf("204", jsontree.ObjectOf("description",
		"The session has ended. JWTs of it work until they expire."))
	return op
}

// GET /api/_roles
func (b *builder) rolesWithRules() *operation {
	role := b.schema("RoleWithRules", func() any {
		return object("id", typed("integer"), "name", typed("string"), "description", nullable("string"),
			"type", typed("string"), "users", typed("integer", "description", "How many users have it."),
			"declared", typed("boolean", "description", "It is a role of `permissions.yaml`."),
			"permissions", permissionsList("What it is granted."),
			"declaredPermissions", permissionsList("What `permissions.yaml` grants it."), "rules", rulesOf,
			"etag", typed("string", "description", "For `If-Match` of a change."))
	})
	op := b.operation(rolesTag, "findRolesWithRules", "List roles with their permissions and rules", "The roles.",
		object("data", arrayOf(role), "meta", object("permissions", permissionsList("All that a role can have."))))
	op.errors = readErrors
	return op
}
