package auth

import (
	"slices"

	"lectern/internal/etag"
	"lectern/jsontree"
	"lectern/store"
)

// A DescribedRole is a role with its permissions ("uid.action"), and what permissions.yaml says of it.
type DescribedRole struct {
	ID          uint64
	Name, Type  string
	Description any // a string or nil
	Users       int // number of users who have it
	Version     string
	Permissions []string // sorted
	// Declared is set for a role of permissions.yaml. InFile are its permissions there and Rules their rules, whether
	// they are granted at present or not.
	Declared bool
	InFile   []string
	Rules    Rules
}

// DescribedRoles returns all roles in the order of their creation.
func (u *Users) DescribedRoles(s *store.Snapshot) ([]DescribedRole, error) {
	roles, err := u.Roles(s)
	if err != nil {
		return nil, err
	}
	list := make([]DescribedRole, len(roles))
	for i, r := range roles {
		kind := textOf(r.Record, u.roles.roleType)
		inFile, declared := u.o.Granted[kind]
		list[i] = DescribedRole{ID: r.ID(), Name: u.roleName(r.Record), Type: kind,
			Description: u.roleValue(r.Record, "description"), Users: r.Users, Version: u.RoleVersion(s, r.Record),
			Permissions: u.permissionsOf(s, r.Record), Declared: declared, InFile: inFile, Rules: u.o.Rules[kind]}
	}
	return list, nil
}

// RoleVersion returns a text that names the state of a role: what it is called, and which permissions it has.
func (u *Users) RoleVersion(s *store.Snapshot, role store.Record) string {
	state := jsontree.ListOf(u.permissionsOf(s, role))
	for _, name := range []string{"name", "description", "type"} {
		state = append(state, u.roleValue(role, name))
	}
	return string(etag.AppendHash(nil, jsontree.Append(nil, state)))
}

// permissionsOf returns the permissions of a role, sorted.
func (u *Users) permissionsOf(s *store.Snapshot, role store.Record) []string {
	list, _ := u.roles.granted(s, role)
	slices.Sort(list)
	return slices.Compact(list)
}

// roleValue returns a scalar of a role, nil for none.
func (u *Users) roleValue(role store.Record, name string) any {
	v, _ := jsontree.Parse(role.JSON(u.roles.role.Attribute(name)), 1)
	return v
}

// AllPermissions returns all permissions that a role can have, sorted by their uids.
func (u *Users) AllPermissions() []string { return u.actions.All() }
