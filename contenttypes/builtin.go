package contenttypes

import (
	"embed"
	"sync"

	"lectern/internal/yamlfile"
)

//go:embed builtin/*.yaml
var builtInFiles embed.FS

// Uids of the built-in content-types.
const (
	UserUID       = "plugin::users-permissions.user"
	RoleUID       = "plugin::users-permissions.role"
	PermissionUID = "plugin::users-permissions.permission"
	FileUID       = "plugin::upload.file"
	LocaleUID     = "plugin::i18n.locale"
	TokenUID      = "lectern::api-token"
	ScheduleUID   = "lectern::schedule"
	SessionUID    = "lectern::session"
)

// A builtIn is a content-type that comes with the server. A file of builtin/ defines it, in the same form as a
// project's files.
type builtIn struct {
	uid      string
	file     string
	plugin   string // the type exists only while this plugin is on; empty for types that always exist
	internal bool
}

var builtIns = []builtIn{
	{uid: UserUID, file: "user", plugin: "users-permissions"},
	{uid: RoleUID, file: "role", plugin: "users-permissions"},
	{uid: PermissionUID, file: "permission", plugin: "users-permissions", internal: true},
	{uid: FileUID, file: "file", plugin: "upload"},
	{uid: LocaleUID, file: "locale", plugin: "i18n"},
	{uid: TokenUID, file: "api-token", internal: true},
	{uid: ScheduleUID, file: "schedule", internal: true},
	{uid: SessionUID, file: "session", plugin: "users-permissions", internal: true},
}

// builtIns reads the built-in types of the plugins that are on.
func (l *loader) builtIns() {
	roots, problems := readBuiltIns()
	l.problems = append(l.problems, problems...)
	for i, b := range builtIns {
		if roots[i] != nil && !l.isOff(b.plugin) {
			l.contentType(roots[i], b)
		}
	}
}

// isOff reports whether a plugin is switched off.
func (l *loader) isOff(plugin string) bool {
	switch plugin {
	case "users-permissions":
		return l.opts.WithoutUsersPermissions
	case "upload":
		return l.opts.WithoutUpload
	case "i18n":
		return l.opts.WithoutI18N
	}
	return false
}

// readBuiltIns reads the embedded files once, because in development the model is loaded again after every change.
var readBuiltIns = sync.OnceValues(func() (roots []*yamlfile.Node, problems yamlfile.Problems) {
	for _, b := range builtIns {
		root, found := yamlfile.Read(builtInFiles, "builtin/"+b.file+".yaml", nil)
		roots, problems = append(roots, root), append(problems, found...)
	}
	return roots, problems
})

// builtInPlugin returns the plugin that a built-in type belongs to. It is empty for a type that needs none and for any
// other uid.
func builtInPlugin(uid string) string {
	for _, b := range builtIns {
		if b.uid == uid {
			return b.plugin
		}
	}
	return ""
}
