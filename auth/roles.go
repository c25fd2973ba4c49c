package auth

import "lectern/documents"

// PublicRole is the role of a request without credential.
const PublicRole = "public"

// Roles holds what each role may do, compiled.
type Roles map[string]*documents.Access

// nobody may do nothing.
var nobody = documents.NewAccess(nil)

// CompileRoles makes the Access of each role out of the permissions ("uid.action") that it was granted. They must have
// been checked by Actions.
func CompileRoles(granted map[string][]string) Roles {
	roles := Roles{}
	for role, permissions := range granted {
		roles[role] = documents.NewAccess(permissions)
	}
	return roles
}

// Access returns what a role may do: nothing when the role was granted nothing.
func (r Roles) Access(role string) *documents.Access {
	if a := r[role]; a != nil {
		return a
	}
	return nobody
}
