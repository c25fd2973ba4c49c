package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/internal/spelling"
)

// Actions lists all permissions that can be granted in a model, as actions of each uid. An action names something that
// a route or a GraphQL field does.
type Actions struct {
	names map[string][]string // uid → action names, in the order of documentation
	uids  []string            // sorted

	partial bool // some types are not known: see ActionsOfOutline
}

// These are the actions of generated routes, by kind of type.
var (
	collectionActions  = []string{"find", "findOne", "create", "update", "delete"}
	singleActions      = []string{"find", "update", "delete"}
	publicationActions = []string{"publish", "unpublish", "discardDraft", permission.FindDrafts,
		permission.PreviewAction}
	historyActions = []string{"history", "restore"}
	streamActions  = []string{"stream"} // of collections
)

// pluginActions lists the actions of routes that are not generated, with their uid and the built-in type that they
// need, if any.
var pluginActions = []struct {
	needs, uid string
	names      []string
}{
	{"", "plugin::content-type-builder.content-types", []string{"getContentTypes", "getContentType"}},
	{"", "plugin::content-type-builder.components", []string{"getComponents", "getComponent"}},
	{contenttypes.LocaleUID, "plugin::i18n.locales", []string{"listLocales"}},
	{contenttypes.FileUID, "plugin::upload.content-api", []string{"find", "findOne", "upload", "destroy",
		"findUsage"}},
	{contenttypes.UserUID, authActions, []string{"callback", "connect", "register", "forgotPassword",
		"resetPassword", "changePassword", "emailConfirmation", "sendEmailConfirmation", "refresh", "logout",
		"getSessions", "revokeSession"}},
	{contenttypes.UserUID, contenttypes.UserUID, []string{"find", "findOne", "count", "me", "create", "update",
		"destroy"}},
	{contenttypes.UserUID, contenttypes.RoleUID, []string{"find", "findOne", "createRole", "updateRole", "deleteRole"}},
	{contenttypes.UserUID, "plugin::users-permissions.permissions", []string{"getPermissions"}},
	{contenttypes.UserUID, "lectern::desk", []string{"use"}},
	{"", "lectern::webhook", []string{"find", "replay"}},
	{"", "lectern::server", []string{"status", "explain"}},
	{"", "lectern::audit", []string{"find"}},
	{contenttypes.UserUID, "lectern::session", []string{"find", "revoke"}},
	{contenttypes.UserUID, "lectern::role", []string{"find"}},
	{"", "lectern::api-token", []string{"find", "create", "rotate", "revoke"}},
}

// StatusAction is the permission to see how the server is, and what it has done in the last day.
const StatusAction = "lectern::server.status"

// ExplainAction is the permission to see how the store found what an answer has. The work that it counts tells of
// documents that a caller may not see.
const ExplainAction = "lectern::server.explain"

// FollowAction is the permission to make a replica of the server. It hands out all content and the hashes of all
// passwords and keys, so only API tokens can have it, and no role.
const FollowAction = "lectern::replica.follow"

// tokenActions lists the permissions that only API tokens can have.
var tokenActions = []string{FollowAction}

// ActionsOfOutline returns the actions of definitions that have problems. It allows every action that may exist once
// the problems are solved.
func ActionsOfOutline(o contenttypes.Outline) *Actions {
	a := ActionsOf(o.Model)
	a.partial = !o.Complete
	for _, t := range o.Model.Types {
		if uid := t.UID; o.HasProblem(uid) && !t.BuiltIn {
			a.names[uid] = slices.Concat(collectionActions, publicationActions, historyActions, streamActions)
		}
	}
	return a
}

// ActionsOf returns the actions of a model.
func ActionsOf(model *contenttypes.Model) *Actions {
	a := &Actions{names: map[string][]string{}}
	for _, t := range model.Types {
		if t.BuiltIn || t.Internal {
			continue
		}
		names, more := collectionActions, streamActions
		if t.Kind == contenttypes.SingleType {
			names, more = singleActions, nil
		}
		if t.DraftAndPublish {
			names = slices.Concat(names, publicationActions)
		}
		a.names[t.UID] = slices.Concat(names, historyActions, more)
	}
	for _, p := range pluginActions {
		if p.needs == "" || model.Type(p.needs) != nil {
			a.names[p.uid] = p.names
		}
	}
	for uid := range a.names {
		a.uids = append(a.uids, uid)
	}
	slices.Sort(a.uids)
	return a
}

// Add adds the permission for a route of an extension: an action of a content-type, or of a uid of the extension's own,
// such as api::stats.stats.
func (a *Actions) Add(permission string) error {
	uid, action, ok := splitPermission(permission)
	if !ok || !extensionAction.MatchString(permission) {
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

// extensionAction matches a permission that extensions may add.
var extensionAction = regexp.MustCompile(`^[a-z]+::[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// All returns all permissions that roles can have, sorted by their uids.
func (a *Actions) All() (permissions []string) {
	for _, uid := range a.uids {
		for _, name := range a.names[uid] {
			permissions = append(permissions, uid+"."+name)
		}
	}
	return permissions
}

// Of returns the names of the actions of a uid.
func (a *Actions) Of(uid string) []string { return a.names[uid] }

// CheckUID returns an error with a suggestion if there are no actions of this uid.
func (a *Actions) CheckUID(uid string) error {
	if a.names[uid] != nil || a.partial && strings.HasPrefix(uid, "api::") {
		return nil
	}
	if near := nearest(uid, a.uids); near != "" {
		return fmt.Errorf("nothing is called %q; did you mean %q?", uid, near)
	}
	return fmt.Errorf("nothing is called %q; there are %s", uid, strings.Join(a.uids, ", "))
}

// Check returns an error with a suggestion if uid has no such action.
func (a *Actions) Check(uid, action string) error {
	if err := a.CheckUID(uid); err != nil {
		return err
	}
	if names := a.names[uid]; names != nil && !slices.Contains(names, action) {
		return fmt.Errorf("%s has no action %q; its actions are %s", uid, action, strings.Join(a.names[uid], ", "))
	}
	return nil
}

// CheckPermission does the work of Check for a permission, "uid.action".
func (a *Actions) CheckPermission(permission string) error {
	if slices.Contains(tokenActions, permission) {
		return fmt.Errorf("%s is a permission of API tokens only", permission)
	}
	uid, action, ok := splitPermission(permission)
	if !ok {
		return fmt.Errorf("%q is no permission; write it as <uid>.<action>, for example %s", permission, a.example())
	}
	return a.Check(uid, action)
}

// CheckTokenPermission does the work of CheckPermission for a permission of an API token.
func (a *Actions) CheckTokenPermission(permission string) error {
	if slices.Contains(tokenActions, permission) {
		return nil
	}
	return a.CheckPermission(permission)
}

// splitPermission splits "uid.action" at its last dot.
func splitPermission(permission string) (uid, action string, ok bool) {
	i := strings.LastIndexByte(permission, '.')
	if i <= 0 || i == len(permission)-1 || !strings.Contains(permission, "::") {
		return "", "", false
	}
	return permission[:i], permission[i+1:], true
}

// named returns the permissions whose action has one of these names, without those of the server itself: who reads all
// content need not see who logs in, nor which tokens there are.
func (a *Actions) named(names ...string) []string {
	var out []string
	for _, uid := range a.uids {
		if strings.HasPrefix(uid, "lectern::") {
			continue
		}
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

// nearest returns the candidate with the fewest letters different from s, "" if none is similar.
func nearest(s string, candidates []string) string {
	best, least := "", len(s)/3+1
	for _, c := range candidates {
		if d := spelling.Distance(s, c, least); d < least {
			best, least = c, d
		}
	}
	return best
}
