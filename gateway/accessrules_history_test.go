package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// ruledHistory lets the public read the history of the comments that they may read, and users that of their own.
var ruledHistory = map[string]string{"config/permissions.yaml": `
roles:
  public:
    api::comment.comment:
      find: {where: {state: approved}}
      findOne: true
      history: true
      restore: true
  authenticated:
    api::comment.comment: {find: {where: {author: $user}}, findOne: true, history: true}
  named: {}
  team: {}
  others: {}
  role: {}
  later: {}
  hidden: {}
  moderator: {}
tokens:
  - {name: desk, type: custom, permissions: {api::comment.comment: {find: {where: {name: $token}}}}}
`}

// past returns the items of a history, newest first, as texts, and their positions.
func (m *museum) past(id, as string) (list string, seqs []string) {
	m.t.Helper()
	r := m.want(200, "GET", "/api/comments/"+id+"/_history", as, nil)
	var items []string
	for _, v := range r.at("data").([]any) {
		o := v.(object)
		items = append(items, fmt.Sprint(o["action"], o["changed"]))
		seqs = append(seqs, o["seq"].(string))
	}
	if total := r.at("meta.pagination.total"); total != float64(len(items)) {
		m.t.Errorf("%d items of %v", len(items), total)
	}
	return strings.Join(items, " "), seqs
}

// TestHistoryKeepsToRules reads the history of comments that were outside the rule of the reader for a time, what they
// were then, and brings them back.
func TestHistoryKeepsToRules(t *testing.T) {
	m := openMuseum(t, ruledHistory)
	ada := m.users["authenticated"]
	missing := m.do("GET", "/api/comments/abcdefghijklmnopqrstuvwx/_history", "", nil).text
	b := m.comment(m.ids["b"], object{"text": "b2"})
	hidden := func(id, as, seq string) {
		t.Helper()
		for _, path := range []string{"/_history", "?asOf=" + seq} {
			if r := m.do("GET", "/api/comments/"+id+path, as, nil); r.status != 404 || r.text != missing {
				t.Errorf("%s%s for %q: %d %s", id, path, as, r.status, r.text)
			}
		}
	}
	_, all := m.past(b, "full") // b2, create
	hidden(b, "", all[0])
	m.comment(b, object{"state": "approved", "text": "b3"})
	m.comment(b, object{"text": "b4"})
	_, all = m.past(b, "full")
	list, seqs := m.past(b, "")
	if list != "update[text] create[name text state showFrom author]" && list != "update[text] create[name text state showFrom]" ||
		seqs[0] != all[0] || seqs[1] != all[1] {
		t.Errorf("the public sees %s", list)
	}
	if list, _ := m.past(b, ada); strings.Count(list, "update") != 3 || strings.Count(list, "create") != 1 {
		t.Errorf("its author sees %s", list)
	}
	for i, want := range []string{"b4", "b3", "", ""} {
		r := m.do("GET", "/api/comments/"+b+"?asOf="+all[i], "", nil)
		if text, _ := r.at("data.text").(string); text != want || (r.status == 200) != (want != "") {
			t.Errorf("as of %d: %d %s", i, r.status, r.text)
		}
	}
	restore := func(seq string) reply {
		return m.do("POST", "/api/comments/"+b+"/actions/restore", "", object{"data": object{"seq": seq}})
	}
	if r := restore(all[3]); r.status != 404 {
		t.Errorf("a hidden version is restored: %d %s", r.status, r.text)
	}
	if r := restore(all[1]); r.status != 200 || r.at("data.text") != "b3" {
		t.Errorf("restored: %d %s", r.status, r.text)
	}
	m.comment(b, object{"state": "refused"})
	hidden(b, "", all[0])
	if r := restore(all[1]); r.status != 404 {
		t.Errorf("a hidden document is restored: %d %s", r.status, r.text)
	}
	m.comment(b, object{"author": nil})
	hidden(b, ada, all[0])
	m.remove(b)
	hidden(b, "", all[0])
	m.remove(m.ids["a"])
	if list, _ := m.past(m.ids["a"], ""); !strings.HasPrefix(list, "delete[") || !strings.Contains(list, " create[") {
		t.Errorf("of a deleted one: %s", list)
	}
}
