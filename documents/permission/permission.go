// Package permission says what a caller may do and see.
package permission

import (
	"strings"

	"lectern/contenttypes"
)

// An Access says what a caller may do and see. It is compiled once from a set of permissions; every query, answer and write
// is held to it.
type Access struct {
	all     bool
	actions map[grant]bool
}

// A grant allows an action on a subject: a content-type, or something else that has a uid, such as a plugin's routes.
type grant struct{ subject, action string }

// parseGrant cuts "uid.action" at its last dot.
func parseGrant(s string) grant {
	dot := strings.LastIndexByte(s, '.')
	return grant{s[:max(dot, 0)], s[dot+1:]}
}

// FullAccess allows every action. Private attributes and passwords stay hidden all the same.
var FullAccess = &Access{all: true}

// NewAccess returns an Access that allows exactly these actions, each written "uid.action".
func NewAccess(actions []string) *Access {
	a := &Access{actions: make(map[grant]bool, len(actions))}
	for _, x := range actions {
		a.actions[parseGrant(x)] = true
	}
	return a
}

// Allows reports whether action (find, findOne, create, update, delete, publish, …) may be used on t.
func (a *Access) Allows(t *contenttypes.ContentType, action string) bool {
	return a.all || a.actions[grant{t.UID, action}]
}

// AllowsAction is Allows for an action written "uid.action", such as "plugin::upload.content-api.upload"; its subject need not be a
// content-type.
func (a *Access) AllowsAction(action string) bool { return a.all || a.actions[parseGrant(action)] }

// Follows reports whether links of attribute attr may be seen, filtered, sorted and written: those to components and files
// always, those to documents when the action find is allowed on their type, and those of a private attribute never.
func (a *Access) Follows(attr *contenttypes.Attribute) bool {
	if attr.Private {
		return false
	}
	if attr.Type == contenttypes.Media || attr.Target == nil {
		return true
	}
	return attr.Name == "localizations" && attr.System || a.Allows(attr.Target, "find")
}

// Sees reports whether the value of a scalar, component or zone may be read, filtered by and sorted by: always, unless it is
// private or a password.
func (a *Access) Sees(attr *contenttypes.Attribute) bool {
	return !attr.Private && attr.Type != contenttypes.Password
}
