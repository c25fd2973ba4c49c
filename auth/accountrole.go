package auth

import (
	"fmt"
	"slices"
	"strconv"

	"lectern/internal/spelling"
	"lectern/jsontree"
	"lectern/store"
)

// readRole reads the role of a user from a body: an id, the name of a role, or an object as relations have it. It adds
// an issue to the form if the user would have no role, or if there is no role of that name.
func (u *Users) readRole(form *form, create bool) (any, error) {
	path := []string{"role"}
	v := form.value("role")
	switch v := v.(type) {
	case *jsontree.Object:
		readRoleLinks(form, v, create)
		return u.withRoleIDs(v)
	case jsontree.Number:
		if _, err := strconv.ParseUint(string(v), 10, 64); err != nil {
			form.wrongType(path, "strapiID", v)
		}
	case string:
		if _, err := strconv.ParseUint(v, 10, 64); err == nil {
			return jsontree.Number(v), nil
		}
		id, names, err := u.roleNamed(v)
		if id == 0 && err == nil {
			form.issue(path, fmt.Sprintf("there is no role %q; %s", v, spelling.Suggest(v, names)), v)
		}
		return number(id), err
	case nil, []any:
		if create && !form.has("role") {
			form.missing(path)
		} else {
			form.wrongType(path, "object", v)
		}
	default:
		form.wrongType(path, "strapiID", v)
	}
	return v, nil
}

func readRoleLinks(form *form, role *jsontree.Object, create bool) {
	path := []string{"role", "connect"}
	v, given := role.Get("connect")
	connect, isList := v.([]any)
	switch {
	case given && !isList:
		form.wrongType(path, "array", v)
	case create && !given:
		form.missing(path)
	case create && len(connect) == 0:
		form.issue(path, "Users must have a role", v)
	}
	if list, isList := role.Value("disconnect").([]any); isList && len(list) > 0 {
		form.issue([]string{"role", "disconnect"}, "Cannot remove role", list)
	}
	if set, given := role.Get("set"); given {
		if list, isList := set.([]any); !isList || len(list) == 0 {
			form.issue([]string{"role", "set"}, "Cannot remove role", set)
		}
	}
}

// withRoleIDs returns a role as relations have it, with ids in place of the names of roles.
func (u *Users) withRoleIDs(role *jsontree.Object) (*jsontree.Object, error) {
	with := jsontree.NewObject()
	for _, key := range role.Keys {
		list, isList := role.Value(key).([]any)
		if !isList {
			with.Set(key, role.Value(key))
			continue
		}
		list = slices.Clone(list)
		for i, v := range list {
			name, isText := v.(string)
			if !isText {
				continue
			}
			id, _, err := u.roleNamed(name)
			if err != nil {
				return nil, err
			}
			if id != 0 {
				list[i] = number(id)
			}
		}
		with.Set(key, list)
	}
	return with, nil
}

// roleNamed returns the id of the role of this type, such as author, or else of this name; 0 if there is none. names
// are the types of all roles.
func (u *Users) roleNamed(name string) (id uint64, names []string, err error) {
	err = u.o.Store.View(func(s *store.Snapshot) error {
		id, names = 0, nil
		roles, err := u.Roles(s)
		if err != nil {
			return err
		}
		for _, r := range roles {
			kind := textOf(r.Record, u.roles.roleType)
			names = append(names, kind)
			if kind == name || id == 0 && u.roleName(r.Record) == name {
				id = r.ID()
			}
		}
		return nil
	})
	return id, names, err
}
