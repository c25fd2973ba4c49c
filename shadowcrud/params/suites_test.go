package params_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

// TestSuites reads the query of every recorded REST request for content. If the query was refused, it must be refused
// with the same message; if it was answered, reading it must succeed.
func TestSuites(t *testing.T) {
	files, err := filepath.Glob("../../testdata/conformance/suites/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no suites", err)
	}
	seen, refused := 0, 0
	for _, file := range files {
		for _, s := range steps(t, file) {
			typ, single := s.target()
			if typ == nil {
				continue
			}
			got, want := s.ask(t, typ, single), s.want()
			if want != "" {
				refused++
			}
			seen++
			if got != want {
				t.Errorf("%s: %s\n%s %s\n got %s\nwant %s", filepath.Base(file), s.Name, s.As, s.Request.Path, got,
					want)
			}
		}
	}
	if seen < 600 || refused < 100 {
		t.Errorf("%d requests, of which %d are refused: where are the others?", seen, refused)
	}
}

type step struct {
	Name    string
	As      string
	Request struct {
		Method, Path string
	}
	Expect struct {
		Status int
		Body   json.RawMessage
	}
}

func steps(t *testing.T, file string) []step {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Project string
		Steps   []step
	}
	if err := json.Unmarshal(data, &suite); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(suite.Project, "/kitchen") {
		return nil
	}
	return suite.Steps
}

// target returns the content type that the path of a step names. single reports whether the path is of one document.
func (s *step) target() (typ *contenttypes.ContentType, single bool) {
	path, _, _ := strings.Cut(s.Request.Path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "api" {
		return nil, false
	}
	for _, typ := range kitchen().Types {
		if typ.BuiltIn {
			continue
		}
		if typ.Kind == contenttypes.SingleType && typ.Singular == parts[1] {
			return typ, true
		}
		if typ.Kind == contenttypes.CollectionType && typ.Plural == parts[1] {
			return typ, len(parts) == 3
		}
	}
	return nil, false
}

// ask reads the query of a step as its route does and returns the error as text, or "" if there is none.
func (s *step) ask(t *testing.T, typ *contenttypes.ContentType, single bool) string {
	as := s.As
	switch {
	case as == "":
		as = "full"
	case strings.HasPrefix(as, "{{"):
		as = "user"
	}
	access := callers[as]
	if access == nil {
		t.Fatalf("who is %s?", s.As)
	}
	_, query, _ := strings.Cut(s.Request.Path, "?")
	q, err := qs.Parse(query)
	if err != nil {
		return err.Error()
	}
	p := newParser()
	switch method := s.Request.Method; {
	case method == "POST" || method == "PUT":
		_, err = p.Write(typ, q, access)
	case method == "DELETE":
		_, err = p.Delete(typ, q)
	case method != "" && method != "GET":
	case single:
		_, err = p.One(typ, q, access)
	default:
		_, err = p.List(typ, q, access)
	}
	if err != nil {
		return said(err)
	}
	return ""
}

// want returns the recorded error about the query of a step.
func (s *step) want() string {
	var body struct {
		Error struct {
			Name, Message string
			Details       json.RawMessage
		}
	}
	if json.Unmarshal(s.Expect.Body, &body) != nil || s.Expect.Status != 400 {
		return ""
	}
	details, err := jsontree.Parse(body.Error.Details, 100)
	o, ok := details.(*jsontree.Object)
	if err != nil || !ok {
		return ""
	}
	if len(o.Keys) == 0 {
		if s.isAboutQuery(body.Error.Message) {
			return body.Error.Message
		}
		return ""
	}
	if _, ok := o.Get("errors"); ok || bytes.Contains(body.Error.Details, []byte(`"body"`)) {
		return ""
	}
	// The order of keys is not recorded.
	sorted := jsontree.NewObject()
	for _, key := range []string{"key", "path", "source", "param"} {
		if v, ok := o.Get(key); ok {
			sorted.Set(key, v)
		}
	}
	return body.Error.Message + " " + string(jsontree.Append(nil, sorted))
}

// isAboutQuery reports whether a message without details is about the query rather than the body.
func (s *step) isAboutQuery(message string) bool {
	if s.Request.Method == "" {
		return true
	}
	for _, about := range []string{"Invalid locale", "Invalid nested", "Invalid fields"} {
		if strings.HasPrefix(message, about) {
			return true
		}
	}
	return false
}
