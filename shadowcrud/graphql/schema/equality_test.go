package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
	"lectern/shadowcrud/graphql/schema"
)

const projects = "../../../testdata/conformance/projects"

// TestRecorded compares the schemas that Build makes with recorded ones: types, fields, arguments, defaults,
// nullability, members and values, and the order in which introspection lists all of them.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(projects, "*", "schema.graphql"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded schemas", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			built := build(t, load(t, filepath.Dir(file)), schema.Options{})
			recorded := equal(t, file, built)
			if diff := cmp.Diff(order(t, recorded), order(t, built.SDL)); diff != "" && !t.Failed() {
				t.Errorf("the order differs (-recorded +built):\n%s", diff)
			}
		})
	}
	t.Run("odd", func(t *testing.T) { // covers cases that the other projects lack
		equal(t, "testdata/odd/schema.graphql", build(t, load(t, "testdata/odd"), schema.Options{}))
	})
	t.Run("left out", func(t *testing.T) {
		m := load(t, filepath.Join(projects, "kitchen"))
		node, problems := yamlfile.Read(os.DirFS("testdata"), "leftout.yaml", nil)
		var e schema.Extensions
		if problems = append(problems, e.Shadow().Read(node, m)...); problems != nil {
			t.Fatal(problems)
		}
		equal(t, "testdata/leftout.graphql", build(t, m, schema.Options{Extensions: &e}))
	})
}

// equal compares a schema with a recorded one, whatever the order of their parts, and returns the recorded one.
func equal(t *testing.T, file string, built *schema.Schema) string {
	t.Helper()
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := members(t, string(recorded)), members(t, built.SDL)
	for line := range want {
		if !got[line] {
			t.Errorf("missing: %s", line)
		}
	}
	for line := range got {
		if !want[line] {
			t.Errorf("too much: %s", line)
		}
	}
	return string(recorded)
}

func load(t testing.TB, dir string) *contenttypes.Model {
	t.Helper()
	m, problems := contenttypes.Load(dir, contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	return m
}

func build(t testing.TB, m *contenttypes.Model, o schema.Options) *schema.Schema {
	t.Helper()
	s, err := schema.Build(m, o)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, s.SDL)
	return s
}

func parse(t testing.TB, sdl string) *ast.Schema {
	t.Helper()
	s, err := validator.LoadSchema(validator.Prelude, &ast.Source{Name: "schema", Input: sdl})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// members returns every statement of a schema as one line, such as a field with its type.
func members(t testing.TB, sdl string) map[string]bool {
	lines := map[string]bool{}
	for _, line := range order(t, sdl) {
		if lines[line] {
			t.Errorf("twice: %s", line)
		}
		lines[line] = true
	}
	return lines
}

// order returns the lines of members in the order of the text.
func order(t testing.TB, sdl string) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var types []*ast.Definition
	for _, d := range parse(t, sdl).Types {
		if !d.BuiltIn && !strings.HasPrefix(d.Name, "__") {
			types = append(types, d)
		}
	}
	slices.SortFunc(types, func(a, b *ast.Definition) int { return a.Position.Start - b.Position.Start })
	for _, d := range types {
		add("%s %s", d.Kind, d.Name)
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			add("%s.%s: %s%s", d.Name, f.Name, f.Type, defaultOf(f.DefaultValue))
			for _, a := range f.Arguments {
				add("%s.%s(%s): %s%s", d.Name, f.Name, a.Name, a.Type, defaultOf(a.DefaultValue))
			}
		}
		for _, v := range d.EnumValues {
			add("%s.%s", d.Name, v.Name)
		}
		for _, m := range d.Types {
			add("%s | %s", d.Name, m)
		}
	}
	return lines
}

func defaultOf(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return " = " + v.String()
}

// TestIntrospected compares the schema with a recorded introspection: the order of all types, and which parts have
// descriptions.
func TestIntrospected(t *testing.T) {
	type described struct {
		Name        string
		Description *string
	}
	var suite struct {
		Steps []struct {
			Name   string
			Expect struct {
				Body struct {
					Data struct {
						Schema struct {
							Types []struct {
								described
								Fields []struct {
									described
									Args []described
								}
								InputFields, EnumValues []described
							}
						} `json:"__schema"`
					}
				}
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(projects, "../suites/graphql-query-introspection.json"))
	if err == nil {
		err = json.Unmarshal(data, &suite)
	}
	if err != nil {
		t.Fatal(err)
	}
	built := build(t, load(t, filepath.Join(projects, "kitchen")), schema.Options{})
	parsed := parse(t, built.SDL)
	compare := func(what string, want described, got string) {
		if (want.Description != nil) != (got != "") {
			t.Errorf("%s has the description %q, recorded: %v", what, got, want.Description != nil)
		}
	}
	for _, step := range suite.Steps {
		if step.Name != "the usual full introspection query" {
			continue
		}
		var names []string
		for _, typ := range step.Expect.Body.Data.Schema.Types {
			if strings.HasPrefix(typ.Name, "__") {
				continue
			}
			names = append(names, typ.Name)
			d := parsed.Types[typ.Name]
			if d == nil {
				t.Fatalf("no type %s", typ.Name)
			}
			compare(typ.Name, typ.described, d.Description)
			for _, f := range typ.Fields {
				field := d.Fields.ForName(f.Name)
				compare(typ.Name+"."+f.Name, f.described, field.Description)
				for _, a := range f.Args {
					compare(typ.Name+"."+f.Name+"("+a.Name+")", a, field.Arguments.ForName(a.Name).Description)
				}
			}
			for _, f := range typ.InputFields {
				compare(typ.Name+"."+f.Name, f, d.Fields.ForName(f.Name).Description)
			}
			for _, v := range typ.EnumValues {
				compare(typ.Name+"."+v.Name, v, d.EnumValues.ForName(v.Name).Description)
			}
		}
		if diff := cmp.Diff(names, built.TypeNames); diff != "" || len(names) == 0 {
			t.Errorf("the order of types differs (-recorded +built):\n%s", diff)
		}
	}
}

// TestTypeSystem compares the types of graphql-go with the SDL.
func TestTypeSystem(t *testing.T) {
	built := build(t, load(t, "testdata/odd"), schema.Options{DocumentActions: true})
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for name, typ := range built.GraphQL.TypeMap() {
		if strings.HasPrefix(name, "__") || slices.Contains([]string{"String", "Int", "Float", "Boolean", "ID"}, name) {
			continue
		}
		switch typ := typ.(type) {
		case *graphql.Object:
			add("OBJECT %s", name)
			for _, f := range typ.Fields() {
				add("%s.%s: %s", name, f.Name, f.Type)
				for _, a := range f.Args {
					add("%s.%s(%s): %s%s", name, f.Name, a.Name(), a.Type, goDefault(a.DefaultValue))
				}
			}
		case *graphql.InputObject:
			add("INPUT_OBJECT %s", name)
			for _, f := range typ.Fields() {
				add("%s.%s: %s%s", name, f.Name(), f.Type, goDefault(f.DefaultValue))
			}
		case *graphql.Enum:
			add("ENUM %s", name)
			for _, v := range typ.Values() {
				add("%s.%s", name, v.Name)
			}
		case *graphql.Union:
			add("UNION %s", name)
			for _, o := range typ.Types() {
				add("%s | %s", name, o.Name())
			}
		case *graphql.Scalar:
			add("SCALAR %s", name)
		}
	}
	want := order(t, built.SDL)
	slices.Sort(want)
	slices.Sort(lines)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("text and types differ (-text +types):\n%s", diff)
	}
}

func goDefault(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		return " = []"
	case map[string]any:
		return " = {}"
	case string:
		if v == strings.ToUpper(v) {
			return " = " + v // of an enum
		}
		return fmt.Sprintf(" = %q", v)
	}
	return fmt.Sprintf(" = %v", v)
}
