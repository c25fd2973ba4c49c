package answers

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strconv"

	"lectern/internal/simulation/program"
)

// difference compares a response with the expected one and returns the first difference, or "". It takes generated
// values from the first response that shows them.
func difference(path string, want, got any) string {
	switch want := want.(type) {
	case *Generated:
		return want.meet(path, got)
	case map[string]any:
		return differentObject(path, want, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s: wanted a list of %d, got one of %d", path, len(want), len(list))
		}
		for i := range want {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); d != "" {
				return d
			}
		}
		return ""
	case JSONText:
		if program.JSON(program.Decode([]byte(want))) == program.JSON(got) {
			return ""
		}
	case int64:
		if s, ok := got.(string); ok && s == strconv.FormatInt(want, 10) {
			return ""
		}
	case float64:
		if n, ok := got.(json.Number); ok {
			if f, err := n.Float64(); err == nil && f == want {
				return ""
			}
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s: wanted %s, got %s", path, printed(want), printed(got))
}

func differentObject(path string, want map[string]any, got any) string {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: wanted an object, got %s", path, printed(got))
	}
	var keys []string
	for k := range want {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		v, ok := object[k]
		if !ok {
			return fmt.Sprintf("%s: key %s is missing", path, k)
		}
		if d := difference(path+"."+k, want[k], v); d != "" {
			return d
		}
	}
	for k := range object {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("%s: key %s should not be there", path, k)
		}
	}
	return ""
}

var (
	documentIDForm = regexp.MustCompile(`^[a-z0-9]{24}$`)
	timeForm       = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// meet compares a generated value with a response. A value that is not known yet is taken from the response.
func (g *Generated) meet(path string, got any) string {
	var v any
	switch got := got.(type) {
	case json.Number:
		if f, err := got.Float64(); err == nil && g.Kind == "id" && f > 0 {
			v = f
		}
	case string:
		if g.Kind == "documentId" && documentIDForm.MatchString(got) || g.Kind == "time" && timeForm.MatchString(got) {
			v = got
		}
	}
	switch {
	case v == nil:
		return fmt.Sprintf("%s: %s is no %s", path, printed(got), g.Kind)
	case g.Value == nil:
		g.Value = v
	case g.Value != v:
		return fmt.Sprintf("%s: %s %v became %v", path, g.Kind, g.Value, v)
	}
	return ""
}

// printed returns an expected or actual value as JSON.
func printed(v any) string { return program.JSON(plain(v)) }

func plain(v any) any {
	switch v := v.(type) {
	case *Generated:
		if v.Value == nil {
			return "<" + v.Kind + ">"
		}
		return v.Value
	case JSONText:
		return program.Decode([]byte(v))
	case int64:
		return strconv.FormatInt(v, 10)
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plain(x)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, plain(x))
		}
		return out
	}
	return v
}
