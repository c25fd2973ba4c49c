package movein_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/internal/servertest"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

// kitchen is an archive that Strapi 5.54.0 made of the kitchen project.
const kitchen = "testdata/kitchen.tar.gz"

// move moves a source into a new directory, which it returns with the report.
func move(t *testing.T, o movein.Options) (dir string, report *movein.Report) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "project")
	}
	o.Project.LogTo = t.Output()
	report, err := movein.Move(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return o.Dir, report
}

// An exchange is a request with the answer that Strapi gave before its content was exported.
type exchange struct {
	Path    string            // of a GET request, with the full-access token unless Public is set
	Public  bool              //
	GraphQL string            // a query
	Login   map[string]string // identifier and password

	Status int
	Body   any
	SHA256 string // of a file
	Type   string // content type of a file
}

func (x *exchange) request(t *testing.T, base, key string) *http.Request {
	method, path, body := "GET", x.Path, ""
	switch {
	case x.GraphQL != "":
		text, _ := json.Marshal(map[string]string{"query": x.GraphQL})
		method, path, body = "POST", "/graphql", string(text)
	case x.Login != nil:
		text, _ := json.Marshal(x.Login)
		method, path, body = "POST", "/api/auth/local", string(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if !x.Public && x.Login == nil {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req
}

// exchanges reads recorded exchanges.
func exchanges(t *testing.T, name string) (list []exchange) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(z); ; {
		var x exchange
		if err := d.Decode(&x); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
}

// TestAnswers moves projects in and compares their answers with those of Strapi. The links come in another order than
// that of their positions.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for _, name := range []string{"kitchen", "morph"} {
		t.Run(name, func(t *testing.T) {
			dir, report := move(
				t, movein.Options{Source: copied(t, copying{source: "testdata/" + name + ".tar.gz", reverse: true})})
			for _, l := range report.Census.Links {
				if l.LeftOut > 0 && l.Field != "plugin::upload.file.folder" {
					t.Errorf("%d links of %s were left out", l.LeftOut, l.Field)
				}
			}
			base, key := servertest.ServeStored(t, dir)
			recorded := exchanges(t, "testdata/"+name+"-answers.jsonl.gz")
			if len(recorded) < 8 {
				t.Fatalf("only %d exchanges", len(recorded))
			}
			for _, x := range recorded {
				compare(t, &x, x.request(t, base, key))
			}
		})
	}
}

// TestLinkSets moves in a review that only the draft of a restaurant shows, and checks that the published version does
// not.
func TestLinkSets(t *testing.T) {
	dir, _ := move(t, movein.Options{Source: copied(t, copying{link: func(l *archive.Link) bool {
		return l.Left.Type != "api::review.review" || l.Left.ID != 1 || l.Right.ID != 6
	}})})
	base, key := servertest.ServeStored(t, dir)
	for query, want := range map[string]string{"?status=draft&": `"comment":"great"`, "?": `"reviews":[{"id":3,`} {
		if text := get(t, base+"/api/restaurants/z9l6cu3rsevdaxyv9fwtjteg"+query+"populate=reviews",
			key); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
}

// compare sends a request and compares the answer with the recorded one.
func compare(t *testing.T, x *exchange, req *http.Request) {
	t.Helper()
	name := req.Method + " " + req.URL.RequestURI() + x.GraphQL
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != x.Status {
		t.Errorf("%s: status %d, want %d: %s", name, resp.StatusCode, x.Status, text)
		return
	}
	if x.SHA256 != "" {
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != x.SHA256 {
			t.Errorf("%s: the file has another content", name)
		}
		return
	}
	var got any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	delete(asMap(got), "jwt")
	strip(x.Path, x.Body)
	strip(x.Path, got)
	if diff := cmp.Diff(x.Body, got); diff != "" {
		t.Errorf("%s: -Strapi +Lectern\n%s", name, diff)
	}
}

// strip removes what differs on purpose: roles and locales come from the configuration here, so they have other
// documentIds and times.
func strip(path string, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			strip(path, item)
		}
	case map[string]any:
		_, isRole := v["type"].(string)
		_, isLocale := v["isDefault"]
		if isRole && strings.HasPrefix(path, "/api/users") || isLocale {
			for _, key := range []string{"documentId", "createdAt", "updatedAt", "publishedAt"} {
				delete(v, key)
			}
		}
		strip(path, v["role"])
		strip(path, v["roles"])
	}
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// TestTimestamp moves an attribute of type timestamp in, whose values are the milliseconds since 1970 as text. It
// becomes a datetime.
func TestTimestamp(t *testing.T) {
	source := copied(t, copying{
		schema: func(s *archive.Schema) {
			if s.UID == "api::restaurant.restaurant" {
				attributes := s.Data.Value("attributes").(*jsontree.Object)
				attributes.Value("inspectedAt").(*jsontree.Object).Set("type", "timestamp")
			}
		},
		change: func(e *archive.Entity) bool {
			if e.Type == "api::restaurant.restaurant" && e.Data.Value("inspectedAt") != nil {
				e.Data.Set("inspectedAt", "-86400500")
			}
			return true
		},
	})
	dir, report := move(t, movein.Options{Source: source})
	if !slices.ContainsFunc(report.Definitions,
		func(n movein.DefinitionNote) bool { return strings.Contains(n.Text, "restaurant.inspectedAt") }) {
		t.Errorf("no note about the attribute: %v", report.Definitions)
	}
	base, key := servertest.ServeStored(t, dir)
	if text := get(t, base+"/api/restaurants?fields=inspectedAt", key); !strings.Contains(
		text, `"inspectedAt":"1969-12-30T23:59:59.500Z"`) {
		t.Error(text)
	}
}
