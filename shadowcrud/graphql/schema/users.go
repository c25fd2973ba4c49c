package schema

import (
	"slices"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
	"lectern/documents/permission"
)

const authUID = "plugin::users-permissions.auth"

// dataArg makes a required argument whose type is an input.
func (b *builder) dataArg(name string, in *Input) *argument {
	return &argument{name: name, typ: graphql.NewNonNull(in.in.graphql)}
}

// declareUsers declares the inputs and payloads of registration and login.
func (b *builder) declareUsers() {
	user, role := b.Model.Type(contenttypes.UserUID), b.Model.Type(contenttypes.RoleUID)
	if user == nil || role == nil {
		return
	}
	me, meRole := b.object("UsersPermissionsMe", generated), b.object("UsersPermissionsMeRole", generated)
	b.shows(me, &user.Schema, []string{"id", "documentId", "username"}, "email", "confirmed", "blocked")
	b.field(me, &FieldSpec{Kind: MeRole, Name: "role", Attr: user.Attribute("role"), Type: role, Object: meRole})
	b.shows(meRole, &role.Schema, []string{"id", "name"}, "description", "type")
	me.Schema, meRole.Schema = &user.Schema, &role.Schema

	b.textInput("UsersPermissionsRegisterInput", "username", "email", "password")
	login := b.textInput("UsersPermissionsLoginInput", "identifier", "password", "provider")
	login.value, login.literal = "local", `"local"`

	ok := func() *FieldSpec { return &FieldSpec{Kind: OK, Name: "ok", Scalar: b.Scalar("Boolean"), NonNull: true} }
	b.plainObject("UsersPermissionsPasswordPayload", ok())
	b.plainObject("UsersPermissionsLoginPayload",
		&FieldSpec{Kind: JWT, Name: "jwt", Scalar: b.Scalar("String")},
		&FieldSpec{Kind: LoginUser, Name: "user", Type: user, Object: me, NonNull: true})
	for _, action := range []string{"Create", "Update", "Delete"} {
		b.plainObject("UsersPermissions"+action+"RolePayload", ok())
	}
}

// shows adds fields for attributes of s to an object type: first the required ones, then the optional ones.
func (b *builder) shows(o *Object, s *contenttypes.Schema, required []string, optional ...string) {
	for i, name := range slices.Concat(required, optional) {
		a := s.Attribute(name)
		b.field(o, &FieldSpec{Kind: Value, Name: name, Attr: a, Scalar: b.Scalar(a.Type.GraphQL()),
			NonNull: i < len(required)})
	}
}

// textInput declares an input of required strings, and returns its last field.
func (b *builder) textInput(name string, fields ...string) (last *argument) {
	in, text := b.newInput(name, generated), b.Scalar("String")
	for _, field := range fields {
		last = in.field(&InputField{Kind: InputArgument, Name: field, Scalar: text}, graphql.NewNonNull(text.GraphQL))
	}
	return last
}

// queryMe adds the field of Query that shows the calling user. It needs no permission, as in the reference: it shows
// what a login answers, and the role.
func (b *builder) queryMe() {
	if me := b.Object("UsersPermissionsMe"); me != nil {
		b.field(b.Query, &FieldSpec{Kind: Me, Name: "me", Type: b.Model.Type(contenttypes.UserUID), Object: me})
	}
}

// mutateFiles adds the fields that change files.
func (b *builder) mutateFiles() {
	t := b.Model.Type(contenttypes.FileUID)
	if t == nil || b.shapes[&t.Schema] == nil {
		return
	}
	s, info := b.shapes[&t.Schema], b.Input("FileInfoInput")
	if s.off.allows("update") {
		b.field(b.Mutation, &FieldSpec{Kind: UpdateFile, Name: "updateUploadFile", Type: t, Object: s.object,
			NonNull: true, Input: info,
			Scope: permission.ActionOn(t.UID, "upload"),
			args:  []*argument{b.idArg("id"), {name: "info", typ: info.in.graphql}}})
	}
	if s.off.allows("delete") {
		b.field(b.Mutation, &FieldSpec{Kind: DeleteFile, Name: "deleteUploadFile", Type: t, Object: s.object,
			Scope: permission.ActionOn(t.UID, "destroy"), args: []*argument{b.idArg("id")}})
	}
}

// mutateUsers adds the fields that change users and roles, and those of login and registration.
func (b *builder) mutateUsers() {
	if b.Object("UsersPermissionsMe") == nil {
		return
	}
	user, role := b.Model.Type(contenttypes.UserUID), b.Model.Type(contenttypes.RoleUID)
	b.administer(role, []administered{
		{CreateRole, "create", "createRole", "UsersPermissionsCreateRolePayload", "Make a role."},
		{UpdateRole, "update", "updateRole", "UsersPermissionsUpdateRolePayload", "Change a role."},
		{DeleteRole, "delete", "deleteRole", "UsersPermissionsDeleteRolePayload",
			"Delete a role; its users get the public one."},
	})
	const response = "UsersPermissionsUserEntityResponse"
	b.administer(user, []administered{
		{CreateUser, "create", "create", response, "Make a user."},
		{UpdateUser, "update", "update", response, "Change a user."},
		{DeleteUser, "delete", "destroy", response, "Delete a user."},
	})
	b.authenticate(user)
}

// An administered operation is a generated mutation of users or roles.
type administered struct {
	kind               Kind
	action, permission string
	payload            string
	description        string
}

// administer adds the operations that change users or roles.
func (b *builder) administer(t *contenttypes.ContentType, operations []administered) {
	s := b.shapes[&t.Schema]
	if s == nil {
		return
	}
	for _, op := range operations {
		if !s.off.allows(op.action) {
			continue
		}
		m := &FieldSpec{Kind: op.kind, Name: mutationName(op.action, s.name), Type: t, Object: b.Object(op.payload),
			NonNull: t.UID == contenttypes.UserUID,
			Scope:   permission.ActionOn(t.UID, op.permission), description: op.description}
		if op.action != "create" {
			m.args = append(m.args, b.idArg("id"))
		}
		if op.action != "delete" {
			m.Input = s.input
			m.args = append(m.args, b.dataArg("data", s.input))
		}
		b.field(b.Mutation, m)
	}
}

// authenticate adds the operations of login, registration and passwords.
func (b *builder) authenticate(user *contenttypes.ContentType) {
	texts := func(names ...string) (args []*argument) {
		for _, name := range names {
			args = append(args, &argument{name: name, typ: graphql.NewNonNull(graphql.String)})
		}
		return args
	}
	payload := b.Object("UsersPermissionsLoginPayload")
	login, register := b.Input("UsersPermissionsLoginInput"), b.Input("UsersPermissionsRegisterInput")
	for _, m := range []*FieldSpec{
		{Kind: Login, Name: "login", Object: payload, NonNull: true, Input: login,
			args: []*argument{b.dataArg("input", login)}},
		{Kind: Register, Name: "register", Object: payload, NonNull: true, Input: register,
			args:        []*argument{b.dataArg("input", register)},
			description: "Register a user with the default role."},
		{Kind: ForgotPassword, Name: "forgotPassword", Object: b.Object("UsersPermissionsPasswordPayload"),
			args:        texts("email"),
			description: "Ask for a mail with the code that resets the password."},
		{Kind: ResetPassword, Name: "resetPassword", Object: payload,
			args:        texts("password", "passwordConfirmation", "code"),
			description: "Set a new password with the code from the mail."},
		{Kind: ChangePassword, Name: "changePassword", Object: payload,
			args:  texts("currentPassword", "password", "passwordConfirmation"),
			Scope: authUID + ".changePassword", description: "Change one's own password."},
		{Kind: EmailConfirmation, Name: "emailConfirmation", Object: payload, args: texts("confirmation"),
			description: "Confirm the address with the code from the mail."},
	} {
		m.Type = user
		b.field(b.Mutation, m)
	}
}
