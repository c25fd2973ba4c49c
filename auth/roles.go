package auth

import "lectern/documents/permission"

// PublicRole is the role of requests without credential.
const PublicRole = "public"

// Roles are the compiled permissions of roles.
type Roles struct {
	access map[string]*permission.Access
	nobody *permission.Access // of a role that no permission was granted to
}

// CompileRoles compiles the permissions ("uid.action") of each role, and their rules. Actions must have checked the
// permissions before.
func CompileRoles(granted map[string][]string, rules map[string]Rules, r RuleReader) *Roles {
	roles := &Roles{access: map[string]*permission.Access{}, nobody: r.access(nil, nil)}
	for role, permissions := range granted {
		roles.access[role] = r.access(permissions, rules[role]).Bind(permission.Values{"role": role})
	}
	return roles
}

// Access returns what a role may do: nothing if no permission was granted to it.
func (r *Roles) Access(role string) *permission.Access {
	switch {
	case r == nil:
		return permission.NewAccess(nil)
	case r.access[role] != nil:
		return r.access[role]
	}
	return r.nobody
}
