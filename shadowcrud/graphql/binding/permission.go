package binding

import (
	"net/http"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/schema"
)

// ErrForbidden is the error of a field that the caller may not use.
var ErrForbidden = &apierror.Error{
	Status: http.StatusForbidden, Name: "ForbiddenError", Message: "Forbidden access", Reason: apierror.Permission,
}

// MayUse reports whether a caller may use a field of Query, Mutation or Subscription. Every root field is held to it
// before any code of a program runs for the field. isUser says that the caller is a user: users may use the fields that
// extensions add, and so may callers with full access.
//
// Only the documents that a caller may see are found, whatever root field they use: see params.Parser.Rows.
func (b *Binder) MayUse(m *schema.FieldSpec, access *permission.Access, isUser bool) bool {
	switch {
	case access.IsPreview() && (m.Type == nil || !access.Previews(m.Type) || m.Of.Name != "Query"):
		return false
	case m.Auth.IsSet():
		return Allows(access, m.Auth)
	case m.Kind == schema.Custom:
		return isUser || access.AllowsAction(m.Of.Name+"."+m.Name)
	case m.Type != nil && m.Type.UID == contenttypes.ScheduleUID:
		_, some := documents.VisibleSchedules(b.schema.Model, access)
		return some
	}
	return m.Scope == "" || access.AllowsAction(m.Scope)
}

// Allows reports whether a caller has the permissions that an extension demands.
func Allows(access *permission.Access, a schema.Auth) bool {
	for _, scope := range a.Scopes() {
		if !access.AllowsAction(scope) {
			return false
		}
	}
	return true
}
