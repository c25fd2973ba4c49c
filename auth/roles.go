package auth

import "lectern/documents/permission"

// PublicRole is the role of a request without credential.
const PublicRole = "public"

// Roles holds what each role may do, compiled.
type Roles map[string]*permission.Access

// nobody may do nothing.
var nobody = permission.NewAccess(nil)

// CompileRoles makes the Access of each role out of the permissions ("uid.action") that it was granted. They must have
// been checked by Actions.
func CompileRoles(granted map[string][]string) Roles {
	roles := Roles{}
	for role, permissions := range granted {
		roles[role] = permission.NewAccess(permissions)
	}
	return roles
}

// Access returns what a role may do: nothing when the role was granted nothing.
func (r Roles) Access(role string) *permission.Access {
	if a := r[role]; a != nil {
		return a
	}
	return nobody
}
