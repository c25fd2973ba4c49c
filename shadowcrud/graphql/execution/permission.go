package execution

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/schema"
)

// mayUse reports whether a caller may use a field of Query, Mutation or Subscription. Every root field is held to it before any code of a
// program runs for the field. isUser says that the caller is a user: users may use the fields that extensions add, and so may callers with
// full access.
//
// Only the documents that a caller may see are found, whatever root field they use: see params.Parser.Rows.
func (e *Engine) mayUse(m *schema.FieldSpec, access *permission.Access, isUser bool) bool {
	switch {
	case m.Auth.IsSet():
		return allows(access, m.Auth)
	case m.Kind == schema.Custom:
		return isUser || access.AllowsAction(m.Of.Name+"."+m.Name)
	case m.Type != nil && m.Type.UID == contenttypes.ScheduleUID:
		_, some := documents.VisibleSchedules(e.schema.Model, access)
		return some
	}
	return m.Scope == "" || access.AllowsAction(m.Scope)
}

// allows reports whether a caller has the permissions that an extension demands.
func allows(access *permission.Access, a schema.Auth) bool {
	for _, scope := range a.Scopes() {
		if !access.AllowsAction(scope) {
			return false
		}
	}
	return true
}
