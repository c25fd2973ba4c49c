package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/schema"
)

const projects = "../../../testdata/conformance/projects"

// TestRecorded compares what is built with what was recorded, for every project: types, fields, arguments, defaults,
// nullability, members and values, and the order in which introspection lists all of them.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(projects, "*", "schema.graphql"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded schemas", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			recorded, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			built := build(t, load(t, dir), schema.Options{})
			want, got := members(t, string(recorded)), members(t, built.SDL)
			for line := range want {
				if _, ok := got[line]; !ok {
					t.Errorf("missing: %s", line)
				}
			}
			for line := range got {
				if _, ok := want[line]; !ok {
					t.Errorf("too much: %s", line)
				}
			}
			if diff := cmp.Diff(order(t, string(recorded)), order(t, built.SDL)); diff != "" && !t.Failed() {
				t.Errorf("the order differs (-recorded +built):\n%s", diff)
			}
		})
	}
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

// members are all that a schema says, a line each.
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

// order is members as they stand in the text.
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
