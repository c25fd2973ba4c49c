package documents

import (
	"strings"

	"lectern/contenttypes"
)

// An Access says what a caller may do and see, compiled once per Model and set of permissions. Everything that leaves or
// enters is held to it.
type Access struct {
	all     bool
	actions map[permission]bool
}

// A permission allows an action on a subject: a content-type, or something else that has a uid, such as a plugin's routes.
type permission struct{ subject, action string }

// parsePermission cuts "uid.action" at its last dot.
func parsePermission(s string) permission {
	dot := strings.LastIndexByte(s, '.')
	return permission{s[:max(dot, 0)], s[dot+1:]}
}

// FullAccess may do everything; private attributes and passwords stay hidden all the same.
var FullAccess = &Access{all: true}

// NewAccess returns the Access of someone who has exactly these actions, each "uid.action".
func NewAccess(actions []string) *Access {
	a := &Access{actions: make(map[permission]bool, len(actions))}
	for _, x := range actions {
		a.actions[parsePermission(x)] = true
	}
	return a
}

// Allows reports whether action (find, findOne, create, update, delete, publish, …) may be used on t.
func (a *Access) Allows(t *contenttypes.ContentType, action string) bool {
	return a.all || a.actions[permission{t.UID, action}]
}

// AllowsAction is Allows for a whole permission, as "plugin::upload.content-api.upload", whose subject need be no content-type.
func (a *Access) AllowsAction(action string) bool { return a.all || a.actions[parsePermission(action)] }

// Follows reports whether links of attribute attr may be seen, filtered, sorted and written: components and files always,
// documents when their type may be found. What is private is not followed by anybody.
func (a *Access) Follows(attr *contenttypes.Attribute) bool {
	if attr.Private {
		return false
	}
	if attr.Type == contenttypes.Media || attr.Target == nil {
		return true
	}
	return attr.Name == "localizations" && attr.System || a.Allows(attr.Target, "find")
}

// Sees reports whether the value of a scalar, component or zone may be read, filtered and sorted by: not when it is private
// or a password.
func (a *Access) Sees(attr *contenttypes.Attribute) bool {
	return !attr.Private && attr.Type != contenttypes.Password
}
