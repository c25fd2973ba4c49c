package remote

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// describe notes what the archive lacks because the content API does not show it.
func (r *reader) describe(j *joiner) {
	for _, s := range r.definitions.list {
		r.describeType(s)
	}
	for _, about := range slices.Sorted(maps.Keys(j.lost)) {
		r.note(about, "%d links lead to documents that the server does not show", j.lost[about])
	}
	if r.report.Rows[userUID] > 0 {
		r.note(userUID, "no passwords: the content API does not show their hashes. "+
			"Every user must ask for a new one (POST /api/auth/forgot-password)")
	}
	if r.report.Rows[fileUID] > 0 {
		r.note("folders of files", "not shown by the content API; all files are in the top folder")
	}
	r.note("settings", "API tokens, administrators, providers, e-mail templates and other settings of Strapi's admin "+
		"panel are not shown by the content API")
}

func (r *reader) describeType(s *schema) {
	if r.isRead(s) || s.isComponent() {
		var hidden, elsewhere []string
		for _, a := range s.attributes {
			switch {
			case a.private || a.typ == "password":
				hidden = append(hidden, a.name)
			case a.typ == "relation" && !a.isPolymorphic() && !strings.HasPrefix(a.relation, "morph") &&
				!r.definitions.isAsked(&a):
				elsewhere = append(elsewhere, a.name)
			}
		}
		if len(hidden) > 0 && s.uid != fileUID {
			r.note(s.uid, "without values, since private attributes and passwords are not shown: %s",
				strings.Join(hidden, ", "))
		}
		if len(elsewhere) > 0 && s.uid != fileUID {
			r.note(s.uid, "without links, since their targets are not shown: %s", strings.Join(elsewhere, ", "))
		}
		return
	}
	switch {
	case slices.Contains(r.o.Without, s.uid):
		r.note(s.uid, "not read, as you asked")
	case strings.HasPrefix(s.uid, "plugin::") && !slices.Contains(ownPlugins, pluginOf(s.uid)):
		r.note(s.uid, "not read: a type of a plugin has no routes for its rows")
	}
}

// ownPlugins are the plugins that come with Strapi, whose types are read otherwise or have no content.
var ownPlugins = []string{"upload", "i18n", "users-permissions", "content-releases", "review-workflows"}

func pluginOf(uid string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(uid, "plugin::"), ".")
	return name
}

// String lists what was read.
func (r *Report) String() string {
	var b strings.Builder
	for _, uid := range slices.Sorted(maps.Keys(r.Rows)) {
		fmt.Fprintf(&b, "%8d %s\n", r.Rows[uid], uid)
	}
	fmt.Fprintf(&b, "%8d links\n%8d files\n%8d requests\n", r.Links, r.Files, r.Requests)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	return b.String()
}

// Total returns the number of rows.
func (r *Report) Total() int64 {
	var n int64
	for _, rows := range r.Rows {
		n += rows
	}
	return n
}
