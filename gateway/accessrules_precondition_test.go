package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPreconditionsOfHiddenDocuments writes to a document that the caller does not see, with its number, with another
// number and without one. It is answered like a document that there is not.
func TestPreconditionsOfHiddenDocuments(t *testing.T) {
	a, ada, bob := openNews(t)
	const missing = "abcdefghijklmnopqrstuvwx"
	hidden, _ := a.writeArticle(bob, object{"title": "Hidden"})
	a.want(200, "POST", "/api/articles/"+hidden+"/actions/publish", "full", nil)
	tag := a.tagOf("/api/articles/" + hidden + "?status=draft")
	before := a.want(200, "GET", "/api/articles/"+hidden+"?status=draft", "full", nil).text
	title := object{"data": object{"title": "New"}}
	for _, way := range []struct {
		method, path string
		body         any
	}{
		{"PUT", "?status=draft", title},
		{"PUT", "", title},
		{"DELETE", "", nil},
		{"POST", "/actions/publish", nil},
		{"POST", "/actions/unpublish", nil},
		{"POST", "/actions/discard-draft", nil},
		{"BATCH", "update", nil},
	} {
		do := func(id string, headers ...string) reply {
			if way.method == "BATCH" {
				return a.do("POST", "/api/_batch", ada, object{"operations": []object{{"op": way.path, "type": "articles",
					"documentId": id, "data": title["data"], "status": "draft", "ifMatch": headers[1]}}})
			}
			return a.do(way.method, "/api/articles/"+id+way.path, ada, way.body, headers...)
		}
		for _, header := range []string{"If-Match", "If-None-Match"} {
			for _, match := range []string{tag, strings.Replace(tag, ".", ".9", 1), `"other"`, "*"} {
				got, none := do(hidden, header, match), do(missing, header, match)
				if got.status != none.status || strings.ReplaceAll(got.text, hidden, missing) != none.text ||
					got.header.Get("ETag") != none.header.Get("ETag") {
					t.Errorf("%s %s with %s: %s: hidden %d %s, missing %d %s", way.method, way.path, header, match,
						got.status, got.text, none.status, none.text)
				}
				if got.status != http.StatusNotFound && way.method != "DELETE" { // which is carried out of what is not there
					t.Errorf("%s %s with %s: %s: %d %s", way.method, way.path, header, match, got.status, got.text)
				}
			}
		}
	}
	if now := a.want(200, "GET", "/api/articles/"+hidden+"?status=draft", "full", nil).text; now != before {
		t.Errorf("it was changed: %s", now)
	}
}
