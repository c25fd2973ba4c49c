package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ComparableExport returns an export with the positions of links in the lists of their targets replaced by ranks 0, 1,
// 2 …, because an import assigns new positions.
func ComparableExport(t TB, exported []byte) string {
	t.Helper()
	entries := map[string][]map[string]any{}
	var collect func(at string, v any)
	collect = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				collect(at, x)
			}
		case map[string]any:
			if _, ok := v["order"]; ok {
				key, err := json.Marshal([]any{at, v["documentId"], v["type"], v["locale"], v["plane"]})
				if err != nil {
					t.Fatal(err)
				}
				entries[string(key)] = append(entries[string(key)], v)
			}
			for name, x := range v {
				collect(at+"."+name, x)
			}
		}
	}
	var lines []map[string]any
	for line := range strings.SplitSeq(strings.TrimSpace(string(exported)), "\n") {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err, "in", line)
		}
		if v["status"] == "published" {
			v["data"] = InBothSets(v["data"])
		}
		lines = append(lines, v)
		typ, _ := v["type"].(string)
		status, _ := v["status"].(string)
		collect(typ+" "+status, v["data"])
	}
	for _, list := range entries {
		slices.SortStableFunc(
			list, func(a, b map[string]any) int { return cmp.Compare(a["order"].(float64), b["order"].(float64)) })
		for i := range list {
			list[i]["order"] = i
		}
	}
	var out strings.Builder
	for _, l := range lines {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	return out.String()
}

// InBothSets names the link set of each link in data. A link that does not name one is in both. Exports name the sets
// only where they differ, and that includes positions, which an import assigns anew.
func InBothSets(v any) any {
	isLink := func(v any) bool {
		o, _ := v.(map[string]any)
		return o != nil && o["documentId"] != nil
	}
	switch x := v.(type) {
	case []any:
		if len(x) == 0 || !isLink(x[0]) {
			for i := range x {
				x[i] = InBothSets(x[i])
			}
			return x
		}
		var list []any
		for _, set := range []string{"published", "draft"} {
			for _, l := range x {
				if named := l.(map[string]any)["plane"]; named == nil || named == set {
					l := maps.Clone(l.(map[string]any))
					l["plane"] = set
					list = append(list, l)
				}
			}
		}
		return list
	case map[string]any:
		if isLink(x) {
			return InBothSets([]any{x})
		}
		for name := range x {
			x[name] = InBothSets(x[name])
		}
	}
	return v
}

// Difference shows the first lines that differ.
func Difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return "one is longer"
}
