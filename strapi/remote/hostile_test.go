package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lectern/strapi/remote"
)

// testHostile lets one route answer what no Strapi would. Each run must end with an error, or leave the file out.
func testHostile(t *testing.T, s site) {
	write := func(format string, args ...any) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, format, args...) }
	}
	rows := func(from, n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id":%d,"documentId":"d%[1]d","restaurants":[],"parent":null,"children":[]}`, from+i))
		}
		return strings.Join(list, ",")
	}
	var served atomic.Int64
	for _, c := range []struct {
		name, path string
		answer     func(http.ResponseWriter, *http.Request)
		want       string
	}{
		{"an endless answer", "/api/categories", endless, "larger than the limit"},
		{"endless pages", "/api/categories", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"data":[%s],"meta":{"pagination":{"total":3}}}`, rows(int(served.Add(1000)), 1000))
		}, "gives more rows than it counts"},
		{"the same page again and again", "/api/categories", write(`{"data":[%s]}`, rows(1, 3)),
			"row 1 comes after row 3"},
		{"rows out of order", "/api/categories", write(`{"data":[%s,%s]}`, rows(7, 1), rows(5, 1)),
			"row 5 comes after row 7"},
		{"a total that is wrong", "/api/categories", func(w http.ResponseWriter, r *http.Request) {
			list := rows(1, 3)
			if strings.Contains(r.URL.RawQuery, "[$gt]=3") {
				list = ""
			}
			fmt.Fprintf(w, `{"data":[%s],"meta":{"pagination":{"total":7}}}`, list)
		}, "the server counts 7 rows, and lists 3"},
		{"a web page", "/api/categories", write("<html>Sign in</html>"), "the answer is not JSON"},
		{"a text", "/api/categories", write(`"rows"`), "the answer has no list"},
		{"null", "/api/categories", write("null"), "the answer has no list"},
		{"items that are no objects", "/api/categories", write(`{"data":[1]}`), "not an object"},
		{"deep nesting", "/api/categories", write("%s", strings.Repeat("[", 100_000)), "not JSON"},
		{"ids that are texts", "/api/categories", write(`{"data":[{"id":"1","documentId":"a"}]}`),
			"no id that is a positive number"},
		{"negative ids", "/api/categories", write(`{"data":[{"id":-1,"documentId":"a"}]}`),
			"no id that is a positive number"},
		{"ids beyond all bounds", "/api/categories", write(`{"data":[{"id":18446744073709551615,"documentId":"a"}]}`),
			"no id that is a positive number"},
		{"rows without documentId", "/api/categories", write(`{"data":[{"id":1,"attributes":{}}]}`),
			"not older releases"},
		{"links to texts", "/api/categories",
			write(`{"data":[{"id":1,"documentId":"a","restaurants":["x"],"parent":null,"children":[]}]}`),
			"a target has no documentId"},
		{"attributes that are left out", "/api/categories", write(`{"data":[{"id":1,"documentId":"a"}]}`),
			"the token lacks the permission api::restaurant.restaurant.find"},
		{"a component of no definition", "/api/homepage",
			write(`{"data":{"id":1,"documentId":"a","featured":[],"hero":[{"__component":["x"],"id":1}]}}`),
			"which the definitions do not have"},
		{"a list for a single type", "/api/setting", write(`[]`), "the answer is not an object"},
		{"locales without codes", "/api/i18n/locales", write(`[{}]`), "a locale has no code"},
		{"roles that are texts", "/api/users-permissions/roles", write(`{"roles":["x"]}`), "a role has no documentId"},
		{"definitions that are texts", "/api/content-type-builder/components", write(`{"data":["x"]}`),
			"a definition is not an object"},
		{"definitions without uids", "/api/content-type-builder/components", write(`{"data":[{}]}`),
			"a schema has no uid"},
		{"no definitions", "/api/content-type-builder/components", write(`{}`), "no list of definitions"},
		{"files whose names lead elsewhere", "/api/upload/files", files(`"../../escape"`, `"/uploads/x"`), ""},
		{"files that lead to no web server", "/api/upload/files", files(`"x"`, `"file:///etc/passwd"`), ""},
		{"files with URLs of other types", "/api/upload/files", files(`"y"`, `7`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.URL.Path == c.path {
					w.Header().Set("Content-Type", "text/plain")
					c.answer(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
			dir := filepath.Join(t.TempDir(), "a", "b", "c")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := tryRead(t, f, dir,
				func(o *remote.Options) { o.PageSize, o.MaxAnswer, o.Attempts = 1000, 1<<20, 2 })
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if names, _ := filepath.Glob(filepath.Join(dir, "../../../*")); len(names) != 1 {
				t.Errorf("files outside of the directory: %s", names)
			}
		})
	}
	t.Run("a file in a private network", func(t *testing.T) {
		f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.URL.Path == "/api/upload/files" {
				files(`"x"`, `"http://127.0.0.2:9/x"`)(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
		clock := newFakeClock()
		report, err := tryRead(t, f, t.TempDir(), func(o *remote.Options) { o.Clock = clock })
		if err != nil || !strings.Contains(report.String(), "its URL leads to another host in a private network") {
			t.Errorf("report %s, error %v", report, err)
		}
	})
	t.Run("an endless file", func(t *testing.T) {
		f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasPrefix(r.URL.Path, "/uploads/") {
				endless(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
		dir := t.TempDir()
		_, err := tryRead(t, f, dir, func(o *remote.Options) { o.MaxFile = 100_000 })
		if err == nil || !strings.Contains(err.Error(), "larger than the limit of 100000 bytes") {
			t.Errorf("error %v", err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "files")); err != nil || len(left) > 0 {
			t.Errorf("left over: %v %v", left, err)
		}
	})
}

// endless answers without an end.
func endless(w http.ResponseWriter, r *http.Request) {
	block := []byte(`{"data":[` + strings.Repeat(" ", 64<<10))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// files answers with one file. Hash and URL are JSON.
func files(hash, url string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		answer := []any{}
		if strings.Contains(r.URL.RawQuery, "[$gt]=0") {
			answer = append(answer, map[string]any{"id": 1, "documentId": "f", "name": "f",
				"hash": json.RawMessage(hash), "ext": "", "url": json.RawMessage(url)})
		}
		json.NewEncoder(w).Encode(answer)
	}
}
