package execution

import (
	"context"
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// me prints the calling user.
func (x *execution) me(f *field) bool {
	begin := len(x.buf)
	if x.user.ID == 0 || x.engine.users == nil {
		x.fault(f.name, errForbidden)
		return x.orNull(f, begin)
	}
	row := x.engine.users.Row(x.loader.Snapshot, x.user.ID)
	if !row.Exists() {
		x.null()
		return true
	}
	x.printsCaller, x.loader.Status = true, store.Published
	to := x.top(f, []store.Record{row})
	if x.failed != nil {
		return false
	}
	x.push(f.name)
	ok := x.object(to.Levels[0], 0)
	x.pop()
	x.printsCaller = false
	return ok || x.failed == nil && x.orNull(f, begin)
}

// counted names the mutations that are limited by rate, by the REST routes that do the same. Both are counted together.
var counted = map[schema.Kind]string{
	schema.Login: "/auth/local", schema.Register: "/auth/local/register", schema.ChangePassword: "/auth/change-password",
	schema.ForgotPassword: "/auth/forgot-password", schema.ResetPassword: "/auth/reset-password",
	schema.EmailConfirmation: "/auth/email-confirmation",
}

// account runs a mutation of users, roles, login, registration or passwords.
func (m *mutation) account() error {
	kind, users := m.field.spec.Kind, m.engine.users
	if name := counted[kind]; name != "" && m.often != nil {
		if err := m.often(name); err != nil {
			return err
		}
	}
	switch kind {
	case schema.CreateRole:
		return m.ok(users.CreateRole(m.ctx, m.body("data")))
	case schema.UpdateRole:
		return m.ok(users.UpdateRole(m.ctx, m.id(), m.body("data")))
	case schema.DeleteRole:
		return m.ok(users.DeleteRole(m.ctx, m.id()))
	case schema.CreateUser:
		return m.user(func(show auth.Show) (string, error) { return "", users.Create(m.ctx, m.userBody(), show) })
	case schema.UpdateUser:
		return m.user(func(show auth.Show) (string, error) { return "", users.Update(m.ctx, m.id(), m.userBody(), show) })
	case schema.DeleteUser:
		return m.user(func(show auth.Show) (string, error) { return "", users.Delete(m.ctx, m.id(), show) })
	case schema.Login:
		body := m.body("input")
		if provider, _ := body.Value("provider").(string); provider != "local" {
			return auth.ErrProvider
		}
		return m.session(users.Login, without(body, "provider"))
	case schema.Register:
		return m.session(users.Register, m.body("input"))
	case schema.ResetPassword:
		return m.session(users.ResetPassword, m.texts("password", "passwordConfirmation", "code"))
	case schema.ChangePassword:
		body := m.texts("currentPassword", "password", "passwordConfirmation")
		return m.user(func(show auth.Show) (string, error) {
			return users.ChangePassword(m.ctx, m.execution.user.ID, body, show)
		})
	case schema.ForgotPassword:
		return m.ok(users.ForgotPassword(m.texts("email")))
	case schema.EmailConfirmation:
		return m.session(users.ConfirmEmail, m.texts("confirmation"))
	}
	return errOutput("This field cannot be answered yet")
}

// id returns the argument id as the number of a row, 0 where it is none.
func (m *mutation) id() uint64 {
	id, _ := auth.ParseID(m.given.text("id"))
	return id
}

// body converts an argument to the form of REST bodies, without ignored fields.
func (m *mutation) body(argument string) *jsontree.Object {
	o := jsontree.NewObject()
	in, given := m.field.spec.Input, m.given.object(argument)
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

// userBody returns the data of a user. The role is named by the id of its row, other related documents as in REST bodies.
func (m *mutation) userBody() *jsontree.Object {
	in, given := m.field.spec.Input, m.given.object("data")
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
		o.Set(name, m.given.text(name))
	}
	return o
}

// ok prints {ok: true}, unless there is an error.
func (m *mutation) ok(err error) error {
	if err != nil {
		return err
	}
	m.takeBack()
	if m.kept != nil {
		m.kept.value = map[string]any{"ok": true}
		return nil
	}
	m.payload(func(f *field) bool { return m.unsupported(f) })
	return nil
}

// session runs an operation that answers with a JWT.
func (m *mutation) session(begin func(context.Context, any, auth.Show) (string, error), body *jsontree.Object) error {
	return m.user(func(show auth.Show) (string, error) { return begin(m.ctx, body, show) })
}

var errNoUser = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "User not found"}

// user calls do, which changes or finds a user and shows the row, and prints {jwt, user} or {data}. It prints the parts that show the user
// while the row can be read, before it knows whether there is a JWT.
func (m *mutation) user(do func(auth.Show) (jwt string, err error)) error {
	var parts [][]byte
	shown := false
	jwt, err := do(func(s *store.Snapshot, row store.Record) error {
		m.takeBack()
		m.loader.Snapshot, m.loader.Status, shown = s, store.Published, true
		if m.kept != nil {
			m.kept.value = m.keep(row)
		} else {
			parts = m.userParts(row)
		}
		return m.failed
	})
	if err != nil {
		return err
	}
	if !shown {
		return errNoUser
	}
	if m.field.spec.Kind == schema.CreateUser {
		m.code = http.StatusCreated
	}
	if m.kept != nil {
		payload := map[string]any{"ok": true, "user": m.kept.value, "data": m.kept.value}
		if jwt != "" {
			payload["jwt"] = jwt
		}
		m.kept.value = payload
		return nil
	}
	m.userPayload(jwt, parts)
	return nil
}

// userParts prints the selections of a user, by the sub of each field; nil where a user cannot be shown.
func (m *mutation) userParts(row store.Record) [][]byte {
	parts := make([][]byte, len(m.field.subs))
	to := m.top(m.field, []store.Record{row})
	m.push(m.field.name)
	for _, f := range m.field.of.fields {
		if f.as != asPart || m.failed != nil {
			continue
		}
		begin := len(m.buf)
		m.push(f.name)
		if m.object(to.Levels[f.sub], 0) {
			parts[f.sub] = append([]byte{}, m.buf[begin:]...)
		}
		m.pop()
		m.buf = m.buf[:begin]
	}
	m.pop()
	return parts
}

// userPayload prints the answer of a mutation that shows a user; jwt is "" where there is none.
func (m *mutation) userPayload(jwt string, parts [][]byte) {
	m.payload(func(f *field) bool {
		switch {
		case f.as == asJWT && jwt == "":
			m.null()
		case f.as == asJWT:
			m.str(jwt)
		case f.as == asPart && parts[f.sub] == nil:
			return false
		case f.as == asPart:
			m.buf = append(m.buf, parts[f.sub]...)
		default:
			return m.unsupported(f)
		}
		return true
	})
}
