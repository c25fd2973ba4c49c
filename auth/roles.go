package auth

import "lectern/documents/permission"

// PublicRole is the role of requests without credential.
const PublicRole = "public"

// Roles maps each role to its compiled permissions.
type Roles map[string]*permission.Access

// nobody is the Access that allows nothing.
var nobody = permission.NewAccess(nil)

// CompileRoles compiles the permissions ("uid.action") of each role, and their rules. Actions must have checked the
// permissions before.
func CompileRoles(granted map[string][]string, rules map[string]Rules, r RuleReader) Roles {
	roles := Roles{}
	for role, permissions := range granted {
		roles[role] = r.access(permissions, rules[role]).Bind(permission.Values{"role": role})
	}
	return roles
}

// Access returns what a role may do: nothing if no permission was granted to it.
func (r Roles) Access(role string) *permission.Access {
	if a := r[role]; a != nil {
		return a
	}
	return nobody
}
