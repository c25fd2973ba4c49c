package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestOperatorsFoldCase filters and searches for texts that differ in case alone, over REST and GraphQL: in a final
// sigma, and in letters whose fold is longer than they are.
func TestOperatorsFoldCase(t *testing.T) {
	dir := writeProject(t, map[string]string{
		"content-types/tag.yaml":  "kind: collectionType\ninfo: {singularName: tag, pluralName: tags, displayName: T}\nattributes: {name: {type: string}, slow: {type: text}}\n",
		"config/permissions.yaml": "roles: {public: {'api::tag.tag': [find, create]}}\n",
	})
	r, _ := run(t, dir, gateway.Options{}, nil)
	for _, name := range []string{"ΑΣ", "Ας", "ασ", "ας", "ΟΔΟΣ ΑΘΗΝΩΝ", "Η ΟΔΟΣ", "Straße", "other"} {
		if status, answer := send(t, "POST", r.Base+"/api/tags", "",
			fmt.Sprintf(`{"data":{"name":%q,"slow":%[1]q}}`, name)); status != 201 {
			t.Fatal(status, answer)
		}
	}
	for _, c := range []struct{ op, text, want string }{
		{"eqi", "ΑΣ", "ΑΣ,Ας,ασ,ας"},
		{"nei", "ας", "ΟΔΟΣ ΑΘΗΝΩΝ,Η ΟΔΟΣ,Straße,other"},
		{"containsi", "οδος", "ΟΔΟΣ ΑΘΗΝΩΝ,Η ΟΔΟΣ"},
		{"notContainsi", "σ", "Straße,other"},
		{"startsWithi", "οδος", "ΟΔΟΣ ΑΘΗΝΩΝ"},
		{"endsWithi", "οδος", "Η ΟΔΟΣ"},
		{"containsi", "STRASS", "Straße"},
		{"", "οδος", "ΟΔΟΣ ΑΘΗΝΩΝ,Η ΟΔΟΣ"},
		{"", "strasse", "Straße"},
	} {
		for _, attr := range []string{"name", "slow"} { // the second has no index
			query := fmt.Sprintf("filters[%s][$%s]=%s", attr, c.op, url.QueryEscape(c.text))
			if c.op == "" {
				query = "_q=" + url.QueryEscape(c.text)
			}
			_, answer := get(t, r.Base+"/api/tags?sort=id&"+query, "")
			if got := namesIn(t, answer); got != c.want {
				t.Errorf("%s: %s, want %s", query, got, c.want)
			}
			if c.op == "" || strings.HasSuffix(c.op, "Withi") { // GraphQL has neither
				continue
			}
			body, err := json.Marshal(
				map[string]string{"query": fmt.Sprintf(`{data: tags(sort: "createdAt", filters: {%s: {%s: %q}}) {name}}`, attr, c.op, c.text)})
			if err != nil {
				t.Fatal(err)
			}
			_, answer = send(t, "POST", r.Base+"/graphql", "", string(body))
			if got := namesIn(t, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(answer), `{"data":`),
				"}")); got != c.want {
				t.Errorf("GraphQL %s %s: %s, want %s", c.op, c.text, answer, c.want)
			}
		}
	}
}

// namesIn lists the names in the member data of an answer.
func namesIn(t *testing.T, answer string) string {
	t.Helper()
	var a struct{ Data []struct{ Name string } }
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatal(answer, err)
	}
	var names []string
	for _, d := range a.Data {
		names = append(names, d.Name)
	}
	return strings.Join(names, ",")
}
