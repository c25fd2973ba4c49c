package openapi

import (
	"net/http"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

const (
	authTag  = "Authentication"
	usersTag = "Users"
	rolesTag = "Roles"
)

func (b *builder) userType() *contenttypes.ContentType { return b.Model.Type(contenttypes.UserUID) }

// user returns a reference to the schema of a user.
func (b *builder) user() *jsontree.Object { return b.read(&b.userType().Schema) }

var password = typed("string", "writeOnly", true)

// session describes an operation that answers with a user and a JWT. body holds its properties.
func (b *builder) session(id, summary string, body ...any) *operation {
	session := b.schema("Session", func() any {
		return typed("object", "required", []any{"user"}, "properties", b.sessionAnswer("user", b.user()))
	})
	op := b.operation(authTag, id, summary, "The user and a token.", session)
	op.body = jsonBody(object(body...), nil)
	return op
}

// POST /api/auth/local
func (b *builder) login() *operation {
	body := object("identifier", typed("string", "description", "The username or the email address."), "password",
		password)
	if b.Sessions {
		body.Value("properties").(*jsontree.Object).Set("deviceId", deviceID)
	}
	op := b.session("login", "Log in")
	op.body = jsonBody(body, nil)
	return op
}

// GET /api/auth/{provider}/callback
func (b *builder) loginByProvider() *operation {
	if len(b.Providers) == 0 {
		return nil
	}
	op := b.session("loginByProvider", "Log in by another provider")
	op.description = "The login begins in the browser, at `GET " + b.Prefix + "/connect/{provider}`. The providers are " +
		strings.Join(b.Providers, ", ") + "."
	op.body = nil
	op.parameters = []any{
		queryParameter("access_token", "The code with which the browser came back to your page. It works once.",
			typed("string")),
		queryParameter("id_token", "Instead of a code: what an app has got from the provider, where the server allows it.",
			typed("string")),
		queryParameter("code_verifier", "That of the `code_challenge` with which the login began, if it had one.",
			typed("string")),
	}
	return op
}

// POST /api/auth/local/register
func (b *builder) register() *operation {
	op := b.session("register", "Create a user account", "username", typed("string"), "email",
		typed("string", "format", "email"), "password", password)
	op.body.Value("content").(*jsontree.Object).Value("application/json").(*jsontree.Object).Value("schema").(*jsontree.Object).Set("additionalProperties", true)
	return op
}

// POST /api/auth/change-password
func (b *builder) changePassword() *operation {
	return b.session("changePassword", "Change your password", "currentPassword", password, "password", password,
		"passwordConfirmation", password)
}

// POST /api/auth/reset-password
func (b *builder) resetPassword() *operation {
	return b.session("resetPassword", "Change a password by the code from a mail", "code", typed("string"), "password",
		password, "passwordConfirmation", password)
}

// done is the answer of operations that have nothing to show.
func done() *jsontree.Object { return object("ok", jsontree.ObjectOf("const", true)) }

// POST /api/auth/forgot-password
func (b *builder) forgotPassword() *operation {
	op := b.operation(authTag, "forgotPassword", "Ask for a mail with a code to change the password",
		"The mail is sent if there is such a user.", done())
	op.body = jsonBody(object("email", typed("string")), nil)
	return op
}

// GET /api/auth/email-confirmation
func (b *builder) confirmEmail() *operation {
	op := b.operation(authTag, "confirmEmail", "Confirm an email address by the code from a mail", "", nil)
	op.parameters = []any{queryParameter("confirmation", "The code.", typed("string"))}
	op.responses = jsontree.ObjectOf(
		"302", jsontree.ObjectOf("description", "The address is confirmed. Location leads on.",
			"content", jsontree.ObjectOf("text/plain", jsontree.NewObject())))
	return op
}

// POST /api/auth/send-email-confirmation
func (b *builder) sendConfirmation() *operation {
	op := b.operation(authTag, "sendEmailConfirmation", "Ask for the mail that confirms an email address",
		"The mail is sent if it is due.",
		object("email", typed("string"), "sent", jsontree.ObjectOf("const", true)))
	op.body = jsonBody(object("email", typed("string")), nil)
	return op
}

// GET /api/users
func (b *builder) listUsers() *operation {
	op := b.operation(usersTag, "findUsers", "List users", "The users.", arrayOf(b.user()))
	op.parameters, op.errors = b.plainList(b.userType()), readErrors
	return op
}

// GET /api/users/count
func (b *builder) countUsers() *operation {
	op := b.operation(usersTag, "countUsers", "Count users", "The number of users that match.", typed("integer"))
	op.parameters, op.errors = []any{b.filtersParameter(b.userType()), b.search()}, readErrors
	return op
}

// oneUserParameters are the parameters of a read of one user.
func (b *builder) oneUserParameters() []any { return b.plainList(b.userType())[:5] }

// GET /api/users/me
func (b *builder) me() *operation {
	op := b.operation(usersTag, "me", "Read your own user", "You.", b.user())
	op.parameters, op.errors = b.oneUserParameters(), readErrors
	return op
}

// orNone adds the answer to a request for a user who is not there.
func (op *operation) orNone() *operation {
	op.responses.Set("204", jsontree.ObjectOf("description", "There is no such user."))
	return op
}

// GET /api/users/{id}
func (b *builder) oneUser() *operation {
	op := b.operation(usersTag, "findOneUser", "Read a user", "The user.", b.user()).orNone()
	op.parameters, op.errors = b.oneUserParameters(), readErrors
	return op
}

// userBody describes the body of a write of a user, which has no envelope.
func (b *builder) userBody(required ...any) *jsontree.Object {
	o := b.inputObject(&b.userType().Schema, nil)
	if len(required) > 0 {
		o.Set("required", required)
	}
	return jsonBody(o, nil)
}

// POST /api/users
func (b *builder) createUser() *operation {
	op := b.operation(usersTag, "createUser", "Create a user", "", nil)
	op.body = b.userBody("username", "email", "password")
	op.responses = jsontree.ObjectOf("201", answer("The user.", b.user(), nil))
	return op
}

// PUT /api/users/{id}
func (b *builder) updateUser() *operation {
	op := b.operation(usersTag, "updateUser", "Change a user", "The user.", b.user())
	op.body = b.userBody()
	return op
}

// DELETE /api/users/{id}
func (b *builder) deleteUser() *operation {
	return b.operation(usersTag, "deleteUser", "Delete a user", "The user as it was.", b.user()).orNone()
}

// roleWith returns the schema of a role with a property more.
func (b *builder) roleWith(name string, schema any) *jsontree.Object {
	o := b.readObject(&b.Model.Type(contenttypes.RoleUID).Schema)
	o.Value("properties").(*jsontree.Object).Set(name, schema)
	return o
}

// granted is the schema of permissions: by plugin, controller and action.
var granted = typed("object", "description",
	"Whether each action is granted: `{uid: {controllers: {name: {action: {enabled}}}}}`.", "additionalProperties",
	true)

// GET /api/users-permissions/roles
func (b *builder) listRoles() *operation {
	op := b.operation(rolesTag, "findRoles", "List roles", "The roles, each with the number of its users.",
		object("roles", arrayOf(b.roleWith("nb_users", typed("integer")))))
	op.errors = readErrors
	return op
}

// GET /api/users-permissions/roles/{id}
func (b *builder) oneRole() *operation {
	op := b.operation(rolesTag, "findOneRole", "Read a role with its permissions", "", nil)
	ok := answer("The role.", object("role", b.roleWith("permissions", granted)), nil)
	ok.Set("headers", jsontree.ObjectOf("ETag", jsontree.ObjectOf("description", "For `If-Match` of a change.",
		"schema", typed("string"))))
	op.responses = jsontree.ObjectOf("200", ok)
	op.errors = readErrors
	return op
}

// roleBody describes the body of a write of a role.
func roleBody() *jsontree.Object {
	return jsonBody(typed("object", "properties", jsontree.ObjectOf("name", typed("string"), "description",
		nullable("string"), "permissions", granted), "additionalProperties", true), nil)
}

// ifRole adds to an operation that it may be sent with If-Match.
func (b *builder) ifRole(op *operation) *operation {
	op.parameters = append(op.parameters, b.header("ifMatchRole", "If-Match",
		"The ETag of the role as you read it. If it has changed since, the server answers 412."))
	op.fails(http.StatusPreconditionFailed)
	return op
}

// POST /api/users-permissions/roles
func (b *builder) createRole() *operation {
	op := b.operation(rolesTag, "createRole", "Create a role", "The role is made.", done())
	op.body = roleBody()
	return op
}

// PUT /api/users-permissions/roles/{id}
func (b *builder) updateRole() *operation {
	op := b.operation(rolesTag, "updateRole", "Change a role", "The role is changed.", done())
	op.description = "Afterwards it has the permissions that are enabled in the body, and no others."
	op.body = roleBody()
	return b.ifRole(op)
}

// DELETE /api/users-permissions/roles/{id}
func (b *builder) deleteRole() *operation {
	return b.ifRole(b.operation(rolesTag, "deleteRole", "Delete a role",
		"The role is deleted. Its users have the public role.", done()))
}

// GET /api/users-permissions/permissions
func (b *builder) listPermissions() *operation {
	op := b.operation(rolesTag, "findPermissions", "List the permissions that a role can have", "The permissions.",
		object("permissions", granted))
	op.errors = readErrors
	return op
}
