package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/spelling"
)

// Actions are all that can be granted in a model: a name per thing that a route or a field of the APIs does.
type Actions struct {
	names map[string][]string // uid → action names, in the order of documentation
	uids  []string            // sorted

	partial bool // some types are not known: see ActionsOfOutline
}

// Actions of generated routes, by kind of type.
var (
	collectionActions  = []string{"find", "findOne", "create", "update", "delete"}
	singleActions      = []string{"find", "update", "delete"}
	publicationActions = []string{"publish", "unpublish", "discardDraft"}
)

// pluginActions are those of routes that are not generated: what their uid is, and the built-in type without which they do not exist.
var pluginActions = []struct {
	needs, uid string
	names      []string
}{
	{contenttypes.LocaleUID, "plugin::i18n.locales", []string{"listLocales"}},
	{contenttypes.FileUID, "plugin::upload.content-api", []string{"find", "findOne", "upload", "destroy"}},
	{contenttypes.UserUID, authActions, []string{"callback", "connect", "register", "forgotPassword",
		"resetPassword", "changePassword", "emailConfirmation", "sendEmailConfirmation", "refresh", "logout"}},
	{contenttypes.UserUID, contenttypes.UserUID, []string{"find", "findOne", "count", "me", "create", "update", "destroy"}},
	{contenttypes.UserUID, contenttypes.RoleUID, []string{"find", "findOne", "createRole", "updateRole", "deleteRole"}},
	{contenttypes.UserUID, "plugin::users-permissions.permissions", []string{"getPermissions"}},
}

// ActionsOfOutline are the actions that can be granted as far as definitions with problems tell: what may be granted once they are mended
// is not refused.
func ActionsOfOutline(o contenttypes.Outline) *Actions {
	a := ActionsOf(o.Model)
	a.partial = !o.Complete
	for _, t := range o.Model.Types {
		if uid := t.UID; o.HasProblem(uid) && !t.BuiltIn {
			a.names[uid] = slices.Concat(collectionActions, publicationActions)
		}
	}
	return a
}

// ActionsOf lists what can be granted in a model.
func ActionsOf(model *contenttypes.Model) *Actions {
	a := &Actions{names: map[string][]string{}}
	for _, t := range model.Types {
		if t.BuiltIn || t.Internal {
			continue
		}
		names := collectionActions
		if t.Kind == contenttypes.SingleType {
			names = singleActions
		}
		if t.DraftAndPublish {
			names = slices.Concat(names, publicationActions)
		}
		a.names[t.UID] = names
	}
	for _, p := range pluginActions {
		if model.Type(p.needs) != nil {
			a.names[p.uid] = p.names
		}
	}
	for uid := range a.names {
		a.uids = append(a.uids, uid)
	}
	slices.Sort(a.uids)
	return a
}

// Add adds what a route of a program's own is granted by: an action of a content-type, or of something that has a uid of its
// own, such as api::stats.stats.
func (a *Actions) Add(permission string) error {
	uid, action, ok := splitPermission(permission)
	if !ok || !ownAction.MatchString(permission) {
		return fmt.Errorf("%q is no permission; write it as <uid>.<action>, for example %s", permission, a.example())
	}
	if a.names[uid] == nil {
		a.uids = append(a.uids, uid)
		slices.Sort(a.uids)
	}
	if !slices.Contains(a.names[uid], action) {
		a.names[uid] = append(slices.Clip(a.names[uid]), action)
	}
	return nil
}

// ownAction is what permissions of a program's own look like.
var ownAction = regexp.MustCompile(`^[a-z]+::[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// CheckUID returns an error that says what would be right when nothing of that uid can be granted.
func (a *Actions) CheckUID(uid string) error {
	if a.names[uid] != nil || a.partial && strings.HasPrefix(uid, "api::") {
		return nil
	}
	if near := nearest(uid, a.uids); near != "" {
		return fmt.Errorf("nothing is called %q; did you mean %q?", uid, near)
	}
	return fmt.Errorf("nothing is called %q; there are %s", uid, strings.Join(a.uids, ", "))
}

// Check returns an error that says what would be right when action is none of those of uid.
func (a *Actions) Check(uid, action string) error {
	if err := a.CheckUID(uid); err != nil {
		return err
	}
	if names := a.names[uid]; names != nil && !slices.Contains(names, action) {
		return fmt.Errorf("%s has no action %q; its actions are %s", uid, action, strings.Join(a.names[uid], ", "))
	}
	return nil
}

// CheckPermission is Check for "uid.action" in one word.
func (a *Actions) CheckPermission(permission string) error {
	uid, action, ok := splitPermission(permission)
	if !ok {
		return fmt.Errorf("%q is no permission; write it as <uid>.<action>, for example %s", permission, a.example())
	}
	return a.Check(uid, action)
}

// splitPermission cuts "uid.action" at its last dot.
func splitPermission(permission string) (uid, action string, ok bool) {
	i := strings.LastIndexByte(permission, '.')
	if i <= 0 || i == len(permission)-1 || !strings.Contains(permission, "::") {
		return "", "", false
	}
	return permission[:i], permission[i+1:], true
}

// named returns every permission whose action has one of these names.
func (a *Actions) named(names ...string) []string {
	var out []string
	for _, uid := range a.uids {
		for _, n := range a.names[uid] {
			if slices.Contains(names, n) {
				out = append(out, uid+"."+n)
			}
		}
	}
	return out
}

func (a *Actions) example() string {
	for _, uid := range a.uids {
		if strings.HasPrefix(uid, "api::") {
			return uid + ".find"
		}
	}
	return "api::article.article.find"
}

// nearest returns the candidate that differs from s in the fewest letters, "" when none comes close.
func nearest(s string, candidates []string) string {
	best, least := "", len(s)/3+1
	for _, c := range candidates {
		if d := spelling.Distance(s, c, least); d < least {
			best, least = c, d
		}
	}
	return best
}
