package simulation

import (
	"slices"
	"strings"
)

// A rule names differences that are allowed. Each stands in testdata/conformance/differences.yaml.
type rule struct {
	name   string
	allows func(*Model, comparison) bool
}

var rules = []rule{
	{"the reference answers 500", func(_ *Model, c comparison) bool { return c.Status == 500 }},
	{"errors beside one that makes their object null may be missing", func(_ *Model, c comparison) bool {
		data, want := answerOf(c.Body)
		otherData, got := answerOf(c.other.Body)
		return data == otherData && len(want) > 0 && len(got) > 0 && agree(want, got)
	}},
	{"the reference hides polymorphic relations beside fields, and those written on the other side", func(m *Model, c comparison) bool {
		empty := c.mismatch.want == nil || jsonOf(c.mismatch.want) == "[]"
		return empty && slices.ContainsFunc(m.Morphs, func(x Morph) bool { return strings.HasSuffix(c.mismatch.path, "."+x.Name) })
	}},
	{"polymorphic relations show the version that was linked", func(m *Model, c comparison) bool {
		drafts := strings.Contains(c.Path, "status=draft") || strings.Contains(c.Query+jsonOf(c.Variables), "DRAFT")
		return drafts && slices.ContainsFunc(m.Morphs, func(x Morph) bool { return !x.Mapped && strings.Contains(c.mismatch.path, "."+x.Name) })
	}},
	{"what morphMany shows has a locale of null", func(m *Model, c comparison) bool {
		return c.mismatch.want == nil && c.mismatch.got == nothing && strings.HasSuffix(c.mismatch.path, ".locale") &&
			slices.ContainsFunc(m.Morphs, func(x Morph) bool { return x.Mapped && strings.Contains(c.mismatch.path, "."+x.Name) })
	}},
	{"users populate drafts", func(_ *Model, c comparison) bool {
		return strings.HasPrefix(c.Path, "/api/users") && strings.Contains(c.Path, "populate=*")
	}},
	{"roles and locales are made anew", func(_ *Model, c comparison) bool { // from config/permissions.yaml and config/plugins.yaml
		made := strings.HasPrefix(c.Path, "/api/i18n/locales") || strings.Contains(c.mismatch.path, "role")
		_, key, _ := cutLast(c.mismatch.path, ".")
		return made && slices.Contains([]string{"documentId", "createdAt", "updatedAt", "publishedAt", "description", "name"}, key)
	}},
	{"relations of components are checked for permission", func(_ *Model, c comparison) bool {
		return c.As != "full" && c.Query != "" && strings.Contains(string(c.other.Body), "Forbidden access") && !strings.Contains(string(c.Body), "Forbidden access")
	}},
	{"another one of several forbidden keys is named", func(_ *Model, c comparison) bool {
		const key = `"message":"Invalid key `
		return c.Query != "" && strings.Contains(string(c.Body), key) && strings.Contains(string(c.other.Body), key)
	}},
	{"ids of roles are made anew", func(_ *Model, c comparison) bool {
		return *newIDs && strings.HasPrefix(c.Path, "/api/users-permissions/roles/")
	}},
	{"sort leaves the order of equal keys open", func(_ *Model, c comparison) bool {
		sorts := strings.Contains(c.Path, "sort") || strings.Contains(c.Query, "sort")
		return sorts && c.Status == c.other.Status && jsonOf(unordered(decode(c.Body))) == jsonOf(unordered(decode(c.other.Body)))
	}},
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
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(jsonOf(a), jsonOf(b)) })
	}
	return v
}

// answerOf returns the data of an answer to a GraphQL query, and its errors by their paths.
func answerOf(body []byte) (data string, errors map[string]string) {
	answer, ok := decode(body).(map[string]any)
	if !ok {
		return "", nil
	}
	errors = map[string]string{}
	list, _ := answer["errors"].([]any)
	for _, e := range list {
		if object, ok := e.(map[string]any); ok {
			errors[jsonOf(object["path"])] = jsonOf(e)
		}
	}
	return jsonOf(answer["data"]), errors
}

// agree reports whether no path has different errors in two answers.
func agree(a, b map[string]string) bool {
	for path, e := range a {
		if other, ok := b[path]; ok && other != e {
			return false
		}
	}
	return true
}

// exceptionFor returns the name of the rule that allows a difference, or "".
func exceptionFor(m *Model, c comparison) string {
	for _, r := range rules {
		if r.allows(m, c) {
			return r.name
		}
	}
	return ""
}
