package openapi

import "lectern/jsontree"

var (
	refreshToken = typed("string", "description",
		"Gets the next token from `POST /auth/refresh`, once. It is sent as a cookie instead if the server or the request "+
			"says so.")
	deviceID = typed("string", "maxLength", 255, "description",
		"What you call this device. A logout can name it.")
)

// sessionAnswer returns the properties of an answer that holds the credentials of a session, with others.
func (b *builder) sessionAnswer(others ...any) *jsontree.Object {
	properties := jsontree.ObjectOf("jwt", typed("string", "description",
		"A bearer token. It is missing until the email address is confirmed, if the server asks for that."))
	if b.Sessions {
		properties.Set("refreshToken", refreshToken)
	}
	for i := 0; i < len(others); i += 2 {
		properties.Set(others[i].(string), others[i+1])
	}
	return properties
}

// optional returns a schema of an object none of whose properties must be there.
func optional(pairs ...any) *jsontree.Object {
	return typed("object", "properties", jsontree.ObjectOf(pairs...))
}

// POST /api/auth/refresh
func (b *builder) refreshSession() *operation {
	if !b.Sessions {
		return nil
	}
	op := b.operation(authTag, "refreshSession", "Get the next token of your session", "The tokens.",
		typed("object", "required", []any{"jwt"}, "properties", b.sessionAnswer()))
	op.body = jsontree.ObjectOf("content", jsonContent(optional("refreshToken", typed("string", "description",
		"The refresh token, unless a cookie holds it.")), nil))
	return op
}

// POST /api/auth/logout
func (b *builder) logout() *operation {
	if !b.Sessions {
		return nil
	}
	op := b.operation(authTag, "logout", "End your session, or others of yours", "The sessions have ended.", done())
	op.body = jsontree.ObjectOf("content", jsonContent(optional(
		"deviceId", typed("string", "description", "Ends the sessions of this device instead."),
		"scope", typed("string", "description", "`all` ends all sessions.")), nil))
	return op
}

// GET /api/auth/sessions
func (b *builder) listSessions() *operation {
	if !b.Sessions {
		return nil
	}
	return b.operation(authTag, "listSessions", "List where you are logged in",
		"The sessions: that of the request, then those that were active last.", object("data", arrayOf(b.userSession())))
}

// DELETE /api/auth/sessions/{id}
func (b *builder) revokeSession() *operation {
	if !b.Sessions {
		return nil
	}
	return b.operation(authTag, "revokeSession", "End a session of yours", "The session has ended.",
		object("data", typed("object")))
}
