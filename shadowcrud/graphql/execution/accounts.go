package execution

import (
	"context"
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// me prints the calling user.
func (x *execution) me(f *plan.Field) bool {
	begin := len(x.Buf)
	if x.user.ID == 0 || x.engine.users == nil {
		x.AddError(f.Name, binding.ErrForbidden)
		return x.orNull(f, begin)
	}
	row := x.engine.users.Row(x.loader.Snapshot, x.user.ID)
	if !row.Exists() {
		x.Null()
		return true
	}
	x.printsCaller, x.loader.Status = true, store.Published
	to := x.top(f, []store.Record{row})
	if x.Failed != nil {
		return false
	}
	x.Push(f.Name)
	ok := x.object(to.Levels[0], 0)
	x.Pop()
	x.printsCaller = false
	return ok || x.Failed == nil && x.orNull(f, begin)
}

// rateLimited maps each rate-limited mutation to the REST route that does the same. Calls of either count against one
// limit.
var rateLimited = map[schema.Kind]string{
	schema.Login: "/auth/local", schema.Register: "/auth/local/register",
	schema.ChangePassword: "/auth/change-password",
	schema.ForgotPassword: "/auth/forgot-password", schema.ResetPassword: "/auth/reset-password",
	schema.EmailConfirmation: "/auth/email-confirmation",
}

// account runs a mutation of users, roles, login, registration or passwords.
func (m *mutation) account() error {
	kind, users := m.field.Spec.Kind, m.engine.users
	if name := rateLimited[kind]; name != "" && m.countCall != nil {
		if err := m.countCall(name); err != nil {
			return err
		}
	}
	switch kind {
	case schema.CreateRole:
		return m.ok(users.CreateRole(m.Ctx, m.keptBy(m.printOK), m.access, m.body("data")))
	case schema.UpdateRole:
		return m.ok(users.UpdateRole(m.Ctx, m.keptBy(m.printOK), m.access, auth.RoleAt{ID: m.id()}, m.body("data")))
	case schema.DeleteRole:
		return m.ok(users.DeleteRole(m.Ctx, m.keptBy(m.printOK), auth.RoleAt{ID: m.id()}))
	case schema.CreateUser:
		return m.user(func(once *store.Once, show auth.Show) (auth.Credentials, error) {
			return auth.Credentials{}, users.Create(m.Ctx, once, m.userBody(), show)
		})
	case schema.UpdateUser:
		return m.user(func(once *store.Once, show auth.Show) (auth.Credentials, error) {
			return auth.Credentials{}, users.Update(m.Ctx, once, m.id(), m.userBody(), show, m.access)
		})
	case schema.DeleteUser:
		return m.user(func(once *store.Once, show auth.Show) (auth.Credentials, error) {
			return auth.Credentials{}, users.Delete(m.Ctx, once, m.id(), show, m.access)
		})
	case schema.Login:
		body := m.body("input")
		if provider := body.Text("provider"); provider != "local" {
			return auth.ErrProvider
		}
		return m.session(users.Login, without(body, "provider"))
	case schema.Register:
		return m.session(users.Register, m.body("input"))
	case schema.ResetPassword:
		return m.session(users.ResetPassword, m.texts("password", "passwordConfirmation", "code"))
	case schema.ChangePassword:
		body := m.texts("currentPassword", "password", "passwordConfirmation")
		return m.user(func(_ *store.Once, show auth.Show) (auth.Credentials, error) {
			return users.ChangePassword(m.Ctx, m.execution.user.ID, body, show)
		})
	case schema.ForgotPassword:
		return m.ok(users.ForgotPassword(m.texts("email")))
	case schema.EmailConfirmation:
		return m.session(users.ConfirmEmail, m.texts("confirmation"))
	}
	return answer.Unrepresentable("This field cannot be answered yet")
}

// id parses the argument id as the id of a row. It returns 0 if the argument is not such an id.
func (m *mutation) id() uint64 {
	id, _ := auth.ParseID(m.args.Text("id"))
	return id
}

// body converts an argument to the form of a REST body, without ignored fields.
func (m *mutation) body(argument string) *jsontree.Object {
	o := jsontree.NewObject()
	in, given := m.field.Spec.Input, m.args.Object(argument)
	if given == nil {
		return o
	}
	for _, key := range given.Keys {
		if f := in.Field(key); f != nil && f.Kind != schema.InputIgnored && f.Kind != schema.InputCustom {
			o.Set(key, given.Value(key))
		}
	}
	return o
}

// userBody returns the data of a user in the form of a REST body. The role is identified by the id of its row.
func (m *mutation) userBody() *jsontree.Object {
	in, given := m.field.Spec.Input, m.args.Object("data")
	o := inputTree(in, given)
	for _, key := range o.Keys {
		if f := in.Field(key); f.Kind == schema.InputRelation || f.Kind == schema.InputRelationList {
			o.Set(key, given.Value(key))
		}
	}
	if role, ok := o.Get("role"); ok {
		o.Set("role", componentID(role))
	}
	return o
}

// without returns a copy of an object that lacks the member key.
func without(o *jsontree.Object, key string) *jsontree.Object {
	rest := jsontree.NewObject()
	for _, k := range o.Keys {
		if k != key {
			rest.Set(k, o.Value(k))
		}
	}
	return rest
}

// texts returns string arguments in the form of a REST body.
func (m *mutation) texts(names ...string) *jsontree.Object {
	o := jsontree.NewObject()
	for _, name := range names {
		o.Set(name, m.args.Text(name))
	}
	return o
}

// ok returns err, or prints {ok: true} if it is nil.
func (m *mutation) ok(err error) error {
	if err == nil {
		m.printOK()
	}
	return err
}

func (m *mutation) printOK() {
	m.takeBack()
	if m.captured != nil {
		m.captured.value = map[string]any{"ok": true}
		return
	}
	m.payload(func(f *plan.Field) bool { return m.unsupported(f) })
}

// session runs an operation that answers with a JWT.
func (m *mutation) session(begin func(context.Context, any, auth.Show) (auth.Credentials, error),
	body *jsontree.Object) error {
	return m.user(func(_ *store.Once, show auth.Show) (auth.Credentials, error) { return begin(m.Ctx, body, show) })
}

var errNoUser = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "User not found"}

// user prints {jwt, user} or {data} of the user that do changes or finds. The user is printed in the callback of do,
// while the row can be read; the JWT is known only when do returns. A do without a JWT has its answer kept by the Once,
// which is nil for a request without an idempotency key.
func (m *mutation) user(do func(*store.Once, auth.Show) (auth.Credentials, error)) error {
	var parts [][]byte
	shown, kept := false, false
	once := m.keptBy(func() {
		m.userPayload("", parts)
		kept = true
	})
	c, err := do(once, func(s *store.Snapshot, row store.Record) error {
		m.takeBack()
		m.loader.Snapshot, m.loader.Status, shown = s, store.Published, true
		if m.captured != nil {
			m.captured.value = m.capture(row)
		} else {
			parts = m.userParts(row)
		}
		return m.Failed
	})
	if err != nil {
		return err
	}
	if !shown {
		return errNoUser
	}
	if m.field.Spec.Kind == schema.CreateUser {
		m.code = http.StatusCreated
	}
	if m.captured != nil {
		payload := map[string]any{"ok": true, "user": m.captured.value, "data": m.captured.value}
		if c.JWT != "" {
			payload["jwt"] = c.JWT
		}
		m.captured.value = payload
		return nil
	}
	if !kept {
		m.userPayload(c.JWT, parts)
	}
	return nil
}

// userParts prints each selection of the user in the payload, indexed by field.sub; nil where the user cannot be
// printed.
func (m *mutation) userParts(row store.Record) [][]byte {
	parts := make([][]byte, len(m.field.Subs))
	to := m.top(m.field, []store.Record{row})
	m.Push(m.field.Name)
	for _, f := range m.field.Parts.Fields {
		if f.As != plan.AsPart || m.Failed != nil {
			continue
		}
		begin := len(m.Buf)
		m.Push(f.Name)
		if m.object(to.Levels[f.Sub], 0) {
			parts[f.Sub] = append([]byte{}, m.Buf[begin:]...)
		}
		m.Pop()
		m.Buf = m.Buf[:begin]
	}
	m.Pop()
	return parts
}

// userPayload prints the payload of a mutation that returns a user; an empty jwt is printed as null.
func (m *mutation) userPayload(jwt string, parts [][]byte) {
	m.payload(func(f *plan.Field) bool {
		switch {
		case f.As == plan.AsJWT && jwt == "":
			m.Null()
		case f.As == plan.AsJWT:
			m.String(jwt)
		case f.As == plan.AsPart && parts[f.Sub] == nil:
			return false
		case f.As == plan.AsPart:
			m.Buf = append(m.Buf, parts[f.Sub]...)
		default:
			return m.unsupported(f)
		}
		return true
	})
}
