package desk

import (
	"bytes"
	"compress/gzip"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// builtFrom returns the files of a build with these names, as go generate makes them.
func builtFrom(names ...string) fstest.MapFS {
	all := fstest.MapFS{"dist/.gitignore": &fstest.MapFile{}}
	for _, name := range names {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte("the text of " + name))
		w.Close()
		all["dist/"+name+".gz"] = &fstest.MapFile{Data: b.Bytes()}
	}
	return all
}

func TestReadFiles(t *testing.T) {
	whole := []string{"desk-1.js", "desk-2.css", "licences-3.txt", "part-blocks-4.js"}
	if readFiles(builtFrom(whole...), "dist") == nil {
		t.Error("a whole build is none")
	}
	for i := range whole[:3] {
		if readFiles(builtFrom(append(append([]string{}, whole[:i]...), whole[i+1:]...)...), "dist") != nil {
			t.Errorf("a build without %s is one", whole[i])
		}
	}
	if readFiles(builtFrom(append(whole, "secret.key")...), "dist") != nil {
		t.Error("a file of an unknown kind is served")
	}
}

// TestPage expects the page at every path that is not a file's, with links that lead to the files from there, and a
// policy under which it runs.
func TestPage(t *testing.T) {
	h := &handler{Options{Path: "/cms/desk", API: "/content/api", Frames: []string{"https://www.example.org"}}, readFiles(builtFrom("desk-1.js", "desk-2.css", "licences-3.txt"), "dist")}
	for path, root := range map[string]string{"/cms/desk": "desk/", "/cms/desk/": "./", "/cms/desk/content": "./",
		"/cms/desk/content/article": "./../", "/cms/desk/content/article/": "./../../"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		text := w.Body.String()
		for _, want := range []string{`<base href="` + root + `">`, `src="assets/desk-1.js"`, `href="assets/desk-2.css"`,
			`data-api="../../content/api"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in %s", path, want, text)
			}
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !regexp.MustCompile(`^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[A-Z2-7]{26}'; `).MatchString(policy) ||
			strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "; frame-src 'self' https://www.example.org;") {
			t.Errorf("%s: policy %s", path, policy)
		}
		if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, Cache-Control %s", path, w.Code, w.Header().Get("Cache-Control"))
		}
	}
	for path, want := range map[string]string{"desk-1.js": "the text of desk-1.js", "desk-0.js": "404 page not found\n", "../desk.go": "404 page not found\n"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/cms/desk/assets/x", nil)
		r.URL.Path = "/cms/desk/assets/" + path
		h.ServeHTTP(w, r)
		if w.Body.String() != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestMissingPage(t *testing.T) {
	w := httptest.NewRecorder()
	answerMissing(w, httptest.NewRequest("GET", "/desk", nil))
	if w.Code != 404 || !strings.Contains(w.Body.String(), "generate ./desk") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
