package pages

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// files returns compressed files as a build embeds them.
func files(names ...string) fstest.MapFS {
	all := fstest.MapFS{"dist/.gitignore": &fstest.MapFile{Data: []byte("*\n")}}
	for _, name := range names {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte("the text of " + name))
		w.Close()
		all["dist/assets/"+name+".gz"] = &fstest.MapFile{Data: b.Bytes()}
	}
	return all
}

// TestReadBundle expects a build that lacks files of a page, or has several of a kind, to count as a build without the
// page.
func TestReadBundle(t *testing.T) {
	for _, names := range [][]string{{}, {"ide-1.js"}, {"ide-1.js", "style-2.css"},
		{"ide-1.js", "ide-2.js", "style-2.css", "licences-3.txt"}} {
		if readBundle(files(names...), "dist/assets") != nil {
			t.Errorf("%v are an IDE", names)
		}
	}
}

func TestIDE(t *testing.T) {
	i := readBundle(files("ide-Ab1.js", "style-Cd2.css", "licences-Ef3.txt"), "dist/assets")
	if i == nil {
		t.Fatal("the files are no IDE")
	}
	const endpoint = "/api/query"
	page := i.graphQL(endpoint, false)
	routes := http.NewServeMux()
	for _, file := range page.Files {
		routes.Handle(endpoint+file.Path, file)
	}
	routes.Handle(endpoint, page)
	routes.Handle(endpoint+"/{$}", page)
	ask := func(method, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		return w
	}

	t.Run("page", func(t *testing.T) {
		nonces := map[string]bool{}
		for path, below := range map[string]string{"/api/query": "query/assets/", "/api/query/": "assets/",
			"/api/query?query=x": "query/assets/"} {
			w := ask("GET", path)
			text := w.Body.String()
			for _, want := range []string{`src="` + below + `ide-Ab1.js"`, `href="` + below + `style-Cd2.css"`,
				`href="` + below + `licences-Ef3.txt"`, `data-introspection="off"`} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: no %s in %s", path, want, text)
				}
			}
			policy := w.Header().Get("Content-Security-Policy")
			m := regexp.MustCompile(`script-src 'nonce-([A-Z2-7]{26})';`).FindStringSubmatch(policy)
			if m == nil || strings.Contains(policy, "unsafe") || strings.Count(text, `nonce="`+m[1]+`"`) != 1 ||
				nonces[m[1]] {
				t.Errorf("%s: %s for %s", path, policy, text)
				continue
			}
			nonces[m[1]] = true
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("%s: Cache-Control %s", path, got)
			}
		}
		if text := ask("GET", "/api/query").Body.String(); strings.Contains(text, "introspection=\"on\"") {
			t.Error(text)
		}
	})

	const script = "/api/query/assets/ide-Ab1.js"
	t.Run("files", func(t *testing.T) {
		for name, kind := range map[string]string{"ide-Ab1.js": "text/javascript", "style-Cd2.css": "text/css",
			"licences-Ef3.txt": "text/plain"} {
			w := ask("GET", endpoint+"/assets/"+name)
			if w.Code != 200 || w.Body.String() != "the text of "+name || w.Header().Get("Content-Encoding") != "" {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
			for header, want := range map[string]string{"Content-Type": kind + "; charset=utf-8",
				"Cache-Control": "public, max-age=31536000, immutable", "Etag": `W/"` + name + `"`} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s: %s %s, want %s", name, header, got, want)
				}
			}
			if !strings.Contains(strings.Join(w.Header()["Vary"], ","), "Accept-Encoding") {
				t.Errorf("%s: Vary %v", name, w.Header()["Vary"])
			}
		}
	})

	t.Run("encodings", func(t *testing.T) {
		for accept, packed := range map[string]bool{"gzip, deflate, br, zstd": true, "gzip;q=0.5": true, "*": true,
			"GZIP":     true,
			"gzip;q=0": false, "gzip;q=0, *": false, "br": false, "identity": false} {
			w := ask("GET", script, "Accept-Encoding", accept)
			if got := w.Header().Get("Content-Encoding") == "gzip"; got != packed {
				t.Errorf("Accept-Encoding %s: packed %v", accept, got)
			}
			if packed && w.Body.String() == "the text of ide-Ab1.js" {
				t.Errorf("Accept-Encoding %s: packed twice", accept)
			}
		}
	})

	t.Run("known", func(t *testing.T) {
		for match, status := range map[string]int{`W/"ide-Ab1.js"`: 304, `"x", W/"ide-Ab1.js"`: 304, `"x"`: 200,
			``: 200} {
			w := ask("GET", script, "If-None-Match", match)
			if w.Code != status || status == 304 && w.Body.Len() > 0 {
				t.Errorf("If-None-Match %s: %d %s", match, w.Code, w.Body)
			}
		}
	})
}
