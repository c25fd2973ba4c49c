package answers

import (
	"net/url"
	"slices"
	"strings"

	"lectern/internal/simulation/program"
)

// A rule allows differences of one kind. Each kind stands in testdata/conformance/differences.yaml, or follows from how
// a move-in or `strapi import` works.
type rule struct {
	name string
	// in looks at a comparison, and returns a function that reports whether the rule allows one of its differences.
	in func(*Model, comparison) func(mismatch) bool
}

// each makes a rule that needs to look at nothing but single differences.
func each(name string, allows func(*Model, comparison, mismatch) bool) rule {
	return rule{name, func(m *Model, c comparison) func(mismatch) bool {
		return func(at mismatch) bool { return allows(m, c, at) }
	}}
}

// allowedDifferences returns the names of the rules that allow the differences of a comparison, and the first
// difference that no rule allows.
func allowedDifferences(m *Model, c comparison) (names []string, left *mismatch) {
	checks := make([]func(mismatch) bool, len(rules))
	for _, at := range c.mismatches {
		i := 0
		for ; i < len(rules); i++ {
			if checks[i] == nil {
				checks[i] = rules[i].in(m, c)
			}
			if checks[i](at) {
				break
			}
		}
		if i == len(rules) {
			return names, &at
		}
		if !slices.Contains(names, rules[i].name) {
			names = append(names, rules[i].name)
		}
	}
	return names, nil
}

var rules = []rule{
	// A filter that the reference cannot express in SQL, for example. Lectern answers it, or refuses it.
	each("the reference answers 500",
		func(_ *Model, c comparison, _ mismatch) bool { return c.Status == 500 && c.other.Status < 500 }),
	// A project with rest.strictParams, as Strapi makes them now. The generator asks for a status that is none.
	each("the reference is strict about parameters", func(_ *Model, c comparison, _ mismatch) bool {
		return c.Status == 400 && c.other.Status < 500 &&
			strings.Contains(string(c.Body), "Invalid parameter at 'status'")
	}),
	{"errors below an object that is null may be missing", onlyErrorsBelowNull},
	each("the reference hides polymorphic relations beside fields, and those written on the other side", hiddenMorph),
	each("polymorphic relations show the version that was linked", linkedVersion),
	// The reference adds the key to what it shows by a database query of its own.
	each("what morphMany shows has a locale of null", func(m *Model, _ comparison, at mismatch) bool {
		return at.want == nil && at.got == nothing && strings.HasSuffix(at.path, ".locale") &&
			m.throughMorph(at.path, func(x Morph) bool { return x.Mapped })
	}),
	// Only the routes of users show drafts beside published versions: each relation of ours is a part of theirs.
	each("users populate drafts", func(_ *Model, c comparison, at mismatch) bool {
		return isUsersRoute(c.Path) && isPart(at.got, at.want)
	}),
	// They come from config/permissions.yaml and config/plugins.yaml, where they have neither documentIds nor times.
	each("roles and locales are made anew", func(_ *Model, c comparison, at mismatch) bool {
		_, key, _ := cutLast(at.path, ".")
		made := strings.HasPrefix(c.Path, "/api/i18n/locales") ||
			strings.HasPrefix(c.Path, "/api/users-permissions/roles") ||
			strings.Contains(at.path, ".role.") || strings.Contains(at.path, ".i18NLocales[]")
		return made && slices.Contains([]string{"documentId", "createdAt", "updatedAt", "publishedAt"}, key)
	}),
	// Lectern lacks actions of Strapi, none of which a role has. It has actions that publish, for which Strapi has its
	// panel.
	each("roles list the actions that a server has", func(_ *Model, c comparison, at mismatch) bool {
		if !strings.HasPrefix(c.Path, "/api/users-permissions/roles/") ||
			!strings.HasPrefix(at.path, ".role.permissions.") {
			return false
		}
		_, key, _ := cutLast(at.path, ".")
		off := !strings.Contains(program.JSON(at.want), `"enabled":true`)
		return at.got == nothing && off ||
			at.want == nothing && slices.Contains([]string{"publish", "unpublish", "discardDraft"}, key)
	}),
	{"relations of components are checked for permission", checkedRelation},
	// The reference names the first in the order of the schema, Lectern the first in that of the query.
	each("another one of several forbidden keys is named", func(_ *Model, c comparison, at mismatch) bool {
		const key = `"message":"Invalid key `
		return c.Query != "" && strings.HasPrefix(at.path, ".errors[]") && strings.Contains(string(c.Body), key) &&
			strings.Contains(string(c.other.Body), key)
	}),
	// `strapi import` gives roles new ids, so the route finds another role or none.
	each("ids of roles are made anew", func(_ *Model, c comparison, _ mismatch) bool {
		return *newIDs && strings.HasPrefix(c.Path, "/api/users-permissions/roles/")
	}),
	{"sort leaves the order of equal keys open", equalKeys},
}

// onlyErrorsBelowNull allows errors of GraphQL that one server leaves out, where both answer null above the place of
// the error, and the data are the same: a resolver that ends after another one has failed is not waited for.
func onlyErrorsBelowNull(_ *Model, c comparison) func(mismatch) bool {
	want, got := answerOf(c.Body), answerOf(c.other.Body)
	allowed := program.JSON(want.data) == program.JSON(got.data) && len(want.errors) > 0 && len(got.errors) > 0
	for path, e := range want.errors {
		other, both := got.errors[path]
		allowed = allowed && (both && program.JSON(other) == program.JSON(e) || !both && nullAbove(want.data, e))
	}
	for path, e := range got.errors {
		_, both := want.errors[path]
		allowed = allowed && (both || nullAbove(want.data, e))
	}
	return func(at mismatch) bool { return allowed && strings.HasPrefix(at.path, ".errors") }
}

// A graphQLAnswer is an answer to a query: its data, and its errors by their paths.
type graphQLAnswer struct {
	data   any
	errors map[string]map[string]any
}

func answerOf(body []byte) graphQLAnswer {
	answer, _ := program.Decode(body).(map[string]any)
	a := graphQLAnswer{answer["data"], map[string]map[string]any{}}
	list, _ := answer["errors"].([]any)
	for _, e := range list {
		if object, ok := e.(map[string]any); ok {
			a.errors[program.JSON(object["path"])] = object
		}
	}
	return a
}

// nullAbove reports whether data are null above the place of an error.
func nullAbove(data any, e map[string]any) bool {
	path, _ := e["path"].([]any)
	for _, step := range path {
		if data == nil {
			return true
		}
		data = child(data, step)
	}
	return false
}

// child returns a value of an object by its key, or one of a list by its index; nil if there is none.
func child(v, step any) any {
	switch v := v.(type) {
	case map[string]any:
		return v[jsonText(step)]
	case []any:
		for i := range v {
			if program.JSON(i) == program.JSON(step) {
				return v[i]
			}
		}
	}
	return nil
}

func jsonText(v any) string {
	s, _ := v.(string)
	return s
}

// hiddenMorph allows a polymorphic relation that the reference shows as empty: over GraphQL, with an internal error,
// over REST if it leads to a single document and the read has `fields`, and on the side with morphBy, which lacks the
// links written on the other side.
func hiddenMorph(m *Model, c comparison, at mismatch) bool {
	if at.path == ".errors" && at.got == nothing {
		list, _ := at.want.([]any)
		return !slices.ContainsFunc(
			list, func(e any) bool { return child(e, "message") != "Missing schema in validateQuery" })
	}
	if at.want != nil && program.JSON(at.want) != "[]" {
		return false
	}
	return slices.ContainsFunc(m.Morphs, func(x Morph) bool {
		besideFields := c.Query != "" || !x.Many && strings.Contains(c.Path, "fields")
		return strings.HasSuffix(at.path, "."+x.Name) && (x.Mapped || besideFields)
	})
}

// linkedVersion allows another version of a document in a polymorphic relation of a read that asks for drafts. It must
// be the same document, unless Lectern leaves out one that has no draft.
func linkedVersion(m *Model, c comparison, at mismatch) bool {
	if !asksForDrafts(c.read) || !m.throughMorph(at.path, func(x Morph) bool { return !x.Mapped }) {
		return false
	}
	_, key, _ := cutLast(at.path, ".")
	return key != "documentId" && key != "__type" && key != "__typename"
}

// asksForDrafts reports whether a read asks for drafts. In REST every status but published does.
func asksForDrafts(r read) bool {
	if r.Query != "" {
		return strings.Contains(r.Query+program.JSON(r.Variables), "DRAFT")
	}
	_, query, _ := strings.Cut(r.Path, "?")
	values, err := url.ParseQuery(query)
	return err == nil && values.Has("status") && values.Get("status") != "published"
}

// throughMorph reports whether a path leads to or through a polymorphic relation of a kind.
func (m *Model) throughMorph(path string, kind func(Morph) bool) bool {
	keys := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
	return slices.ContainsFunc(m.Morphs, func(x Morph) bool { return kind(x) && slices.Contains(keys, x.Name) })
}

func isUsersRoute(path string) bool {
	route, query, _ := strings.Cut(path, "?")
	return (route == "/api/users" || strings.HasPrefix(route, "/api/users/")) && strings.Contains(query, "populate=*")
}

// isPart reports whether all elements of a list are in another one.
func isPart(got, want any) bool {
	some, ok := got.([]any)
	all, isList := want.([]any)
	return ok && isList && !slices.ContainsFunc(some, func(x any) bool {
		return !slices.ContainsFunc(all, func(y any) bool { return program.JSON(x) == program.JSON(y) })
	})
}

// checkedRelation allows GraphQL to forbid a relation that the reference shows to a caller with limited permissions: an
// error Forbidden access of Lectern alone, where Lectern answers null and the reference does not.
func checkedRelation(_ *Model, c comparison) func(mismatch) bool {
	want, got := answerOf(c.Body), answerOf(c.other.Body)
	allowed, more := c.As != "full" && c.Query != "", false
	for path, e := range want.errors {
		_, both := got.errors[path]
		allowed = allowed && (both || nullAbove(got.data, e))
	}
	for path, e := range got.errors {
		if _, both := want.errors[path]; !both {
			more = true
			allowed = allowed && e["message"] == "Forbidden access" && !nullAbove(want.data, e)
		}
	}
	return func(at mismatch) bool {
		return allowed && more && (at.got == nil || at.got == nothing || strings.HasPrefix(at.path, ".errors"))
	}
}

// equalKeys allows the elements of sorted lists in another order. Where a REST list is sorted by attributes that it
// shows, the values of these come in the same order.
func equalKeys(_ *Model, c comparison) func(mismatch) bool {
	sorts := strings.Contains(c.Path, "sort") || strings.Contains(c.Query, "sort")
	allowed := sorts && c.Status == c.other.Status && program.JSON(unordered(program.Decode(c.Body))) == program.JSON(
		unordered(program.Decode(c.other.Body)))
	for _, key := range sortKeys(c.Path) {
		values := valuesOf(c.Body, key)
		allowed = allowed && program.JSON(values) == program.JSON(valuesOf(c.other.Body, key))
		if len(values) == 0 {
			break // the later keys order the elements that are equal by one that is not shown
		}
	}
	return func(mismatch) bool { return allowed }
}

// sortKeys returns the attributes that a REST list is sorted by, up to the first that is a path.
func sortKeys(path string) (keys []string) {
	_, query, _ := strings.Cut(path, "?")
	for _, pair := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name != "sort" && !strings.HasPrefix(name, "sort[") {
			continue
		}
		for _, key := range strings.Split(value, ",") {
			key, _, _ = strings.Cut(key, ":")
			if name != "sort" && !strings.ContainsAny(name[len("sort["):len(name)-1], "0123456789") ||
				strings.Contains(key, ".") {
				return keys
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// valuesOf returns the values of an attribute in a list of documents, in order.
func valuesOf(body []byte, key string) (values []any) {
	answer, _ := program.Decode(body).(map[string]any)
	list, _ := answer["data"].([]any)
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			if v, shown := object[key]; shown {
				values = append(values, v)
			}
		}
	}
	return values
}

// cutLast cuts s around the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// unordered sorts all lists in a decoded answer.
func unordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = unordered(x)
		}
	case []any:
		for i := range v {
			v[i] = unordered(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(program.JSON(a), program.JSON(b)) })
	}
	return v
}
