// Package permission decides what a caller may do and see.
//
// An Access is made once from the actions that were granted to a role or token, and never changes. Everything that
// enters or leaves is held to it: a query may follow, filter and sort by what it Follows and Sees, and finds what is
// Visible; a route or write needs an action that it Allows. Any number of goroutines may use one.
//
// A Rule limits a granted action to some documents. Its conditions are filters of queries, so that indexes serve them.
// They may have variables, such as the user who asks: an Access with those is bound to the Values of each caller.
package permission

import (
	"slices"
	"strings"

	"lectern/contenttypes"
)

// An Access is a compiled set of permissions. Queries, answers and writes check it.
type Access struct {
	all     bool
	actions map[grant]bool
	rules   *rules   // nil: nothing is limited
	narrow  bool     // some type that the caller may find may have drafts that they may not read
	preview *preview // nil: it is not that of a preview
	print   fingerprint
	outline fingerprint // of what does not depend on the values of the caller
	sight   sight
}

// A grant is an action on a subject: a content-type, or the routes of a plugin, which have a uid too.
type grant struct{ subject, action string }

// grantOn returns the grant that allows an action on a content-type. Files and locales have no actions of their own:
// those of the routes that show them apply, as in the reference.
func grantOn(uid, action string) grant {
	switch {
	case uid == contenttypes.FileUID:
		return grant{"plugin::upload.content-api", action}
	case uid == contenttypes.LocaleUID && (action == "find" || action == "findOne"):
		return grant{"plugin::i18n.locales", "listLocales"}
	}
	return grant{uid, action}
}

// ActionOn returns the permission, written "uid.action", that allows an action on the content-type with this uid.
func ActionOn(uid, action string) string {
	g := grantOn(uid, action)
	return g.subject + "." + g.action
}

// parseGrant splits "uid.action" at its last dot.
func parseGrant(s string) grant {
	dot := strings.LastIndexByte(s, '.')
	return grant{s[:max(dot, 0)], s[dot+1:]}
}

// FullAccess allows every action. Private attributes and passwords stay hidden.
var FullAccess = &Access{all: true}

// NewAccess returns an Access that allows exactly these actions, each written "uid.action", within these rules of them.
func NewAccess(actions []string, limits ...*Rule) *Access {
	a := &Access{actions: make(map[grant]bool, len(actions)), rules: newRules(limits)}
	for _, x := range actions {
		a.actions[parseGrant(x)] = true
	}
	a.narrow = a.hidesDrafts()
	return a
}

// Allows reports whether the caller may use an action (find, findOne, create, update, delete, publish, …) on t.
func (a *Access) Allows(t *contenttypes.ContentType, action string) bool {
	if a.preview != nil && !slices.Contains(previewed, action) {
		return false
	}
	return a.all || a.actions[grantOn(t.UID, action)]
}

// writes are the actions that change documents of a type.
var writes = [...]string{"create", "update", "delete", "publish", "unpublish", "discardDraft", "restore"}

// Writes reports whether the caller may use an action that changes documents of t.
func (a *Access) Writes(t *contenttypes.ContentType) bool {
	return slices.ContainsFunc(writes[:], func(action string) bool { return a.Allows(t, action) })
}

// Uses reports whether the caller may read or change documents of t.
func (a *Access) Uses(t *contenttypes.ContentType) bool {
	return a.Allows(t, "find") || a.Allows(t, "findOne") || a.Writes(t)
}

// AllowsAction reports whether the caller may use an action written as "uid.action", such as
// "plugin::upload.content-api.upload". Its subject need not be a content-type.
func (a *Access) AllowsAction(action string) bool {
	g := parseGrant(action)
	if a.preview != nil && !a.preview.allows(g) {
		return false
	}
	return a.all || a.actions[g]
}

// AllowsEverything reports whether the caller may do everything, also what types bring that are added later.
func (a *Access) AllowsEverything() bool { return a.all && a.preview == nil }

// LimitsAny reports whether a rule limits what the caller does where an action ("uid.action") is used: a rule of any
// action of the same type, since actions are held to rules of one another, or one of files, which are seen through all
// types.
func (a *Access) LimitsAny(action string) bool {
	return a.rules != nil && slices.ContainsFunc(a.rules.list, func(r *Rule) bool {
		return r.Type.UID == contenttypes.FileUID || r.Type.UID == parseGrant(action).subject
	})
}

// Follows reports whether the caller may see, filter by, sort by and write the links of an attribute. Components and
// files are always allowed; documents are if the caller may find their type; private attributes are not, unless a rule
// lists them.
func (a *Access) Follows(attr *contenttypes.Attribute) bool {
	if !a.shows(attr) {
		return false
	}
	if attr.Type == contenttypes.Media || attr.Target == nil {
		return true
	}
	return attr.Name == "localizations" && attr.System || a.Allows(attr.Target, "find")
}

// Sees reports whether the caller may read, filter by and sort by the value of a scalar, component or zone: any value
// that is neither private nor a password, nor left out by a rule, nor the name of a user that the caller may not find.
// A rule may list private values.
func (a *Access) Sees(attr *contenttypes.Attribute) bool {
	return a.shows(attr) && attr.Type != contenttypes.Password && (!attr.NamesUser() || a.FindsUsers())
}

// FindsUsers reports whether the caller may see who the users are.
func (a *Access) FindsUsers() bool { return a.all || a.actions[grant{contenttypes.UserUID, "find"}] }

// Seen returns the attributes of list that the caller sees. It returns list itself if the caller sees all of them.
func (a *Access) Seen(list []*contenttypes.Attribute) []*contenttypes.Attribute {
	hidden := func(attr *contenttypes.Attribute) bool { return !a.Sees(attr) }
	if !slices.ContainsFunc(list, hidden) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), hidden)
}
