package gateway_test

import (
	"fmt"
	"testing"

	"lectern/gateway"
)

// TestAuditRoute reads who changed what, by pages and filters, newest first.
func TestAuditRoute(t *testing.T) {
	ready, _ := run(t, writeProject(t, with(nil)), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	for as, status := range map[string]int{"": 403, "readonly": 403, "wrong": 401} {
		if r := a.do("GET", "/api/_audit", as, nil); r.status != status {
			t.Errorf("as %q: %d %s", as, r.status, r.text)
		}
	}
	const writes = 600 // more than are read at a time
	first := a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": "0"}}).at("data.documentId")
	for i := range writes - 1 {
		a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": fmt.Sprint(i + 1)}})
	}
	page := func(query string) (data []any, next any) {
		r := a.want(200, "GET", "/api/_audit?type=api::article.article&"+query, "full", nil)
		return r.at("data").([]any), r.at("meta.next")
	}
	var seqs []float64
	pages := 0
	for query := "limit=250"; ; pages++ {
		data, next := page(query)
		for _, e := range data {
			seqs = append(seqs, e.(map[string]any)["seq"].(float64))
		}
		if next == nil {
			break
		}
		query = fmt.Sprintf("limit=250&before=%.0f", next)
	}
	for i := 1; i < len(seqs); i++ {
		if seqs[i] >= seqs[i-1] {
			t.Fatalf("entry %.0f stands behind %.0f", seqs[i], seqs[i-1])
		}
	}
	if len(seqs) != writes || pages < 2 {
		t.Errorf("%d entries on %d pages, want %d", len(seqs), pages+1, writes)
	}
	newest, _ := page("limit=1")
	entry := newest[0].(map[string]any)
	change := entry["changes"].([]any)[0].(map[string]any)
	if by := entry["by"].(map[string]any); by["kind"] != "token" || by["name"] != "full" || change["action"] != "create" ||
		change["type"] != "api::article.article" || entry["kind"] != "changes" {
		t.Errorf("the newest entry is %v", entry)
	}
	for query, want := range map[string]int{
		"document=" + first.(string):                                  1,
		"by=token:full&limit=3":                                       3,
		"by=user":                                                     0,
		"until=2000-01-01T00:00:00Z":                                  0,
		"since=2000-01-01T00:00:00Z":                                  50,
		fmt.Sprintf("since=%.0f", seqs[2]):                            2,
		fmt.Sprintf("until=%.0f&since=%.0f", seqs[1], seqs[4]):        3,
		"limit=1000":                                                  500,
		fmt.Sprintf("before=%.0f&limit=500", seqs[writes-2]):          1,
		"type=api::nothing.nothing&document=nosuchdocumentnosuchdocu": 0,
	} {
		if data, _ := page(query); len(data) != want {
			t.Errorf("%s: %d entries, want %d", query, len(data), want)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "before=-1", "since=yesterday", "until=x"} {
		a.want(400, "GET", "/api/_audit?"+query, "full", nil)
	}
}
