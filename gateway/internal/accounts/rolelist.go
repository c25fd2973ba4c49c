package accounts

import (
	"net/http"
	"strconv"

	"lectern/auth"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/store"
)

// roleRuleRoutes returns the route by which those who look after roles see them with their rules.
func (u *routes) roleRuleRoutes() []server.Route {
	return []server.Route{u.route("GET", "/_roles", "lectern::role.find", u.rolesWithRules)}
}

// GET /api/_roles: the roles with what they are granted and what permissions.yaml says of them; in meta the permissions
// that a role can have.
func (u *routes) rolesWithRules(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	var list []auth.DescribedRole
	err := u.Store.View(func(s *store.Snapshot) (err error) {
		s.Within(r.Context(), 0)
		list, err = u.Users.DescribedRoles(s)
		return err
	})
	if err != nil {
		return err
	}
	data := make([]any, len(list))
	for i := range list {
		data[i] = describeRole(&list[i])
	}
	meta := jsontree.ObjectOf("permissions", jsontree.ListOf(u.Users.AllPermissions()))
	return u.Limits.SendJSON(w, r, http.StatusOK, jsontree.Append(nil, jsontree.ObjectOf("data", data, "meta", meta)))
}

func describeRole(r *auth.DescribedRole) *jsontree.Object {
	rules := jsontree.NewObject()
	for _, p := range r.InFile {
		if rule := r.Rules[p]; rule != nil {
			rules.Set(p, rule)
		}
	}
	return jsontree.ObjectOf("id", jsontree.Number(strconv.FormatUint(r.ID, 10)), "name", r.Name,
		"description", r.Description, "type", r.Type, "users", jsontree.Number(strconv.Itoa(r.Users)),
		"declared", r.Declared, "permissions", jsontree.ListOf(r.Permissions),
		"declaredPermissions", jsontree.ListOf(r.InFile), "rules", rules, "etag", roleTag("role", r.Version))
}
