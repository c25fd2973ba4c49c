package language_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
)

const recorded = "../../../testdata/conformance/"

// suite is the part of a recorded suite that this test needs.
type suite struct {
	Project string
	Steps   []struct {
		Name    string
		Request struct {
			GraphQL *struct {
				Query         string
				OperationName *string
				Variables     json.RawMessage
			}
		}
		Expect struct {
			Status int
			Body   json.RawMessage
		}
	}
}

func suites(t testing.TB) map[string]suite {
	t.Helper()
	files, err := filepath.Glob(recorded + "suites/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded suites", err)
	}
	all := map[string]suite{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s suite
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return all
}

func open(t testing.TB, project string) *language.Schema {
	t.Helper()
	s, _ := openWithSDL(t, project)
	return s
}

// openWithSDL is like open, but also returns the schema as SDL.
func openWithSDL(t testing.TB, project string) (s *language.Schema, sdl string) {
	t.Helper()
	model, problems := contenttypes.Load(recorded+"projects/"+project, contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	built, err := schema.Build(model, schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return language.New(built), built.SDL
}

// limits returns the limits with which a project was recorded.
func limits(project string) language.DocumentLimits {
	l := language.DefaultDocumentLimits
	switch project {
	case "kitchen-limits":
		l.Depth = 4
	case "kitchen-closed":
		l.Depth, l.Introspection = 100, false
	}
	return l
}

// TestRecordedErrors checks that every recorded operation is accepted or refused as in the recording, with the same
// messages and positions.
func TestRecordedErrors(t *testing.T) {
	schemas := map[string]*language.Schema{}
	for name, s := range suites(t) {
		project := filepath.Base(s.Project)
		if schemas[project] == nil {
			schemas[project] = open(t, project)
		}
		for _, step := range s.Steps {
			g := step.Request.GraphQL
			if g == nil || strings.Contains(string(step.Expect.Body), "PersistedQuery") {
				continue
			}
			got := errorsOf(t, schemas[project], g.Query, g.OperationName, g.Variables, limits(project))
			var want []any
			if step.Expect.Status == 400 {
				body, err := jsontree.Parse(step.Expect.Body, 100)
				if err != nil {
					t.Fatal(err)
				}
				want, _ = body.(*jsontree.Object).Value("errors").([]any)
			}
			if len(got) != len(want) {
				t.Errorf("%s, %s: %d errors, recorded are %d:\n%s\n%s", name, step.Name, len(got), len(want),
					language.AppendErrors(nil, got), jsontree.Append(nil, want))
				continue
			}
			for i, e := range got {
				parsed, err := jsontree.Parse(e.Append(nil), 100)
				if err != nil {
					t.Fatal(err)
				}
				recorded := want[i].(*jsontree.Object)
				if recorded.Value("message") == "<string>" {
					recorded.Set("message", parsed.(*jsontree.Object).Value("message"))
				}
				if strings.Contains(
					g.Query, "{{") { // the recorded query had a value of another length in place of {{…}}
					parsed.(*jsontree.Object).Set("locations", recorded.Value("locations"))
				}
				if !jsontree.Equal(parsed, recorded) {
					t.Errorf("%s, %s:\n%s\nrecorded is\n%s", name, step.Name, e.Append(nil),
						jsontree.Append(nil, want[i]))
				}
			}
		}
	}
}

func errorsOf(t testing.TB, s *language.Schema, text string, name *string, variables json.RawMessage,
	l language.DocumentLimits) []*language.Error {
	t.Helper()
	d, errs := s.Parse(text, l)
	if errs != nil {
		return errs
	}
	op, wrong := d.Operation(name)
	if wrong != nil {
		return []*language.Error{wrong}
	}
	var given *jsontree.Object
	if len(variables) > 0 {
		v, err := jsontree.Parse(variables, 500)
		if err != nil {
			t.Fatal(err)
		}
		given, _ = v.(*jsontree.Object)
	}
	_, errs = s.Variables(d, op, given)
	return errs
}
