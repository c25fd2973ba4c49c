package auth

import (
	"reflect"
	"slices"
	"strings"

	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// bind sets what the user may do: the Access of their role, for the values of this user. If they are those of the last
// time, so is the Access.
func (b *bearer) bind(role *permission.Access, values permission.Values, last *bearer) {
	b.ofRole, b.values = role, values
	switch {
	case len(values) == 0:
		b.access = role
	case last != nil && last.ofRole == role && reflect.DeepEqual(last.values, values):
		b.access = last.access
	default:
		b.access = role.Bind(values)
	}
}

// valuesOf returns what variables of rules stand for in the requests of a user: user, and user.NAME for an attribute.
func (u *Users) valuesOf(s *store.Snapshot, user store.Record, variables []string) permission.Values {
	if len(variables) == 0 {
		return nil
	}
	values := permission.Values{}
	for _, name := range variables {
		switch attribute, ofUser := strings.CutPrefix(name, "user."); {
		case name == "user":
			values[name] = number(user.ID())
		case ofUser:
			if v := u.value(s, user, attribute); v != nil {
				values[name] = v
			}
		}
	}
	return values
}

// value returns the value of an attribute of a user, nil for none: of a scalar its own, of a relation the documents
// that it leads to.
func (u *Users) value(s *store.Snapshot, user store.Record, name string) any {
	a := u.typ.Attribute(name)
	if a == nil {
		return nil
	}
	if a.IsScalar() {
		v, _ := jsontree.Parse(user.JSON(a), 1)
		return v
	}
	var ids permission.Documents
	for _, status := range []store.Status{store.Published, store.Draft} {
		s.Related(user, a, status, func(r store.Record) bool {
			if id := r.DocumentID(); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			return true
		})
	}
	if ids == nil {
		return nil
	}
	return ids
}
