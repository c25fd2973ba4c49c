package accounts

import (
	"net/http"
	"strconv"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/gateway/internal/server"
	"lectern/internal/etag"
	"lectern/jsontree"
	"lectern/store"
)

const roleAction = contenttypes.RoleUID + "."

func (u *routes) roleRoutes() []server.Route {
	const roles = "/users-permissions/roles"
	return []server.Route{
		u.route("GET", roles, roleAction+"find", u.listRoles),
		u.route("GET", roles+"/{id}", roleAction+"findOne", u.oneRole),
		u.keyed("POST", roles, roleAction+"createRole", u.createRole),
		matching(u.keyed("PUT", roles+"/{id}", roleAction+"updateRole", u.updateRole)),
		matching(u.keyed("DELETE", roles+"/{id}", roleAction+"deleteRole", u.deleteRole)),
		u.route("GET", "/users-permissions/permissions", "plugin::users-permissions.permissions.getPermissions",
			u.listPermissions),
	}
}

// GET /api/users-permissions/roles: the roles, each with the number of its users.
func (u *routes) listRoles(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	var body []byte
	err := u.Store.View(func(s *store.Snapshot) error {
		roles, err := u.Users.Roles(s)
		if err != nil {
			return err
		}
		body = append(body[:0], `{"roles":[`...)
		for i, role := range roles {
			if i > 0 {
				body = append(body, ',')
			}
			plain := u.plain(r.Context(), who)
			plain.Last = `"nb_users":` + strconv.Itoa(role.Users)
			if body, err = plain.Append(r.Context(), body, s, role.Record, u.role.Of); err != nil {
				return err
			}
		}
		body = append(body, "]}"...)
		return nil
	})
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, body)
}

// GET /api/users-permissions/roles/{id}: a role with all permissions, each enabled or not.
func (u *routes) oneRole(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	var body []byte
	var version string
	err := u.Store.View(func(s *store.Snapshot) error {
		role, permissions, err := u.Users.Role(s, pathID(r), who.Access)
		if err != nil {
			return err
		}
		version = u.Users.RoleVersion(s, role)
		plain := u.plain(r.Context(), who)
		plain.Last = string(jsontree.Append([]byte(`"permissions":`), permissions))
		body, err = plain.Append(r.Context(), []byte(`{"role":`), s, role, u.role.Of)
		return err
	})
	if err != nil {
		return err
	}
	body = append(body, '}')
	w.Header()["Etag"] = []string{roleTag(string(etag.AppendHash(nil, body)), version)}
	return server.SendJSON(w, http.StatusOK, body)
}

// roleTag returns the ETag of an answer that shows a role in the state of a version. What stands before the version
// tells answers apart that show the same state.
func roleTag(answer, version string) string { return `"` + answer + "." + version + `"` }

// roleAt returns the role that a request changes, in one of the states that its If-Match names, if it has one.
func roleAt(r *http.Request) auth.RoleAt {
	at := auth.RoleAt{ID: pathID(r)}
	if match := r.Header["If-Match"]; len(match) > 0 && !etag.IsAny(match) {
		at.If = func(version string) (named bool) {
			etag.Each(match, func(tag string, weak bool) bool {
				named = !weak && strings.HasSuffix(tag, "."+version+`"`)
				return !named
			})
			return named
		}
	}
	return at
}

// POST /api/users-permissions/roles: creates a role.
func (u *routes) createRole(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	once.Keep(http.StatusOK, &isDone)
	return done(w, u.Users.CreateRole(r.Context(), once, who.Access, sent))
}

// PUT /api/users-permissions/roles/{id}: changes a role.
func (u *routes) updateRole(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	once.Keep(http.StatusOK, &isDone)
	return done(w, u.Users.UpdateRole(r.Context(), once, who.Access, roleAt(r), sent))
}

// DELETE /api/users-permissions/roles/{id}: deletes a role. Its users get the public role.
func (u *routes) deleteRole(w http.ResponseWriter, r *http.Request, _ auth.Principal, once *store.Once) error {
	once.Keep(http.StatusOK, &isDone)
	return done(w, u.Users.DeleteRole(r.Context(), once, roleAt(r)))
}

// GET /api/users-permissions/permissions: all permissions that a role can have.
func (u *routes) listPermissions(w http.ResponseWriter, _ *http.Request, who auth.Principal) error {
	body := jsontree.Append([]byte(`{"permissions":`), u.Users.Permissions(who.Access))
	return server.SendJSON(w, http.StatusOK, append(body, '}'))
}
