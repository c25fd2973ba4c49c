package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// CacheControl holds the headers Cache-Control of answers with documents of a type, by the role of the caller.
type CacheControl map[string][]string

// cacheDirectives are the directives that a header Cache-Control of an answer may have (RFC 9111, RFC 5861, RFC 8246),
// and whether they take seconds.
var cacheDirectives = map[string]bool{
	"public": false, "private": false, "no-cache": false, "no-store": false, "no-transform": false,
	"must-revalidate":  false,
	"proxy-revalidate": false, "must-understand": false, "immutable": false,
	"max-age": true, "s-maxage": true, "stale-while-revalidate": true, "stale-if-error": true,
}

// readCache reads how answers may be cached from config/api.yaml: {uid: {role: a header Cache-Control}}.
func (d *Definition) readCache() (problems yamlfile.Problems) {
	n := d.Settings.REST.Cache
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamlfile.Map {
		return yamlfile.Problems{n.Problem(`cache says by content-type and role how answers may be cached, such as api::article.article: {public: "public, max-age=60"}`)}
	}
	d.Cache = map[*contenttypes.ContentType]CacheControl{}
	for _, e := range n.Entries {
		t := d.Model.Type(e.Key)
		switch {
		case t == nil:
			problems = append(problems, n.EntryProblem(e, "cache: there is no content-type %q", e.Key))
			continue
		case t.BuiltIn:
			problems = append(problems,
				n.EntryProblem(e, "cache: %s is built in; only answers with types of content-types/ can be cached",
					t.UID))
			continue
		case e.Value.Kind != yamlfile.Map:
			problems.Add(e.Value,
				`cache of %s: by role, a header Cache-Control, such as {public: "public, max-age=60"}`, t.UID)
			continue
		}
		d.Cache[t] = CacheControl{}
		for _, role := range e.Value.Entries {
			if _, known := d.Settings.Roles[role.Key]; !known && role.Key != "public" && role.Key != "authenticated" {
				problems = append(problems,
					e.Value.EntryProblem(role, "cache of %s: there is no role %s in config/permissions.yaml", t.UID,
						role.Key))
			}
			if wrong, ok := wrongDirective(role.Value.Text); !ok {
				problems.Add(role.Value, "cache of %s: %q is no directive of a header Cache-Control; they are %s",
					t.UID, wrong,
					strings.Join(slices.Sorted(maps.Keys(cacheDirectives)), ", "))
			}
			d.Cache[t][role.Key] = []string{role.Value.Text}
		}
	}
	return problems
}

// wrongDirective returns the first part of a header Cache-Control that is no directive; ok is true if there is none.
func wrongDirective(header string) (part string, ok bool) {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		name, value, valued := strings.Cut(part, "=")
		seconds, known := cacheDirectives[name]
		if !known || seconds != valued {
			return part, false
		}
		if _, err := strconv.ParseUint(value, 10, 31); seconds && err != nil {
			return part, false
		}
	}
	return "", true
}
