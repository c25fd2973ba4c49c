package evolve_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// TestVersion compares what conversions leave with testdata/version-N.txt, which has it for version N. A node of a
// cluster judges by the version whether the others can read what it writes, so whatever changes here needs a new one.
func TestVersion(t *testing.T) {
	model, problems := contenttypes.LoadFS(fstest.MapFS{"content-types": {Mode: fs.ModeDir | 0o755}},
		contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(evolve.Kinds)) {
		fmt.Fprintf(&b, "step %s: %s\n", name, evolve.Kinds[name].Name())
	}
	types := map[string]string{}
	describeFields(reflect.TypeFor[evolve.Catalog](), types)
	for _, step := range evolve.Kinds {
		describeFields(step, types)
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&b, "type %s: %s\n", name, types[name])
	}
	for _, builtIn := range model.Types {
		fmt.Fprintf(&b, "definition %s\n", builtIn.Definition())
	}
	path := filepath.Join("testdata", fmt.Sprintf("version-%d.txt", evolve.Version))
	want, err := os.ReadFile(path)
	if err != nil || string(want) != b.String() {
		t.Errorf("conversions are not as %s says (%v): increase Version, and write a file for it. The present text is\n%s", path, err, b.String())
	}
}

// describeFields adds to types the fields of a struct of this package, and of all such structs in it.
func describeFields(t reflect.Type, types map[string]string) {
	switch t.Kind() {
	case reflect.Map, reflect.Pointer, reflect.Slice:
		describeFields(t.Elem(), types)
	case reflect.Struct:
		if _, done := types[t.Name()]; done || t.PkgPath() != reflect.TypeFor[evolve.Step]().PkgPath() {
			return
		}
		var fields []string
		types[t.Name()] = ""
		for f := range t.Fields() {
			fields = append(fields, strings.TrimSpace(fmt.Sprint(f.Name, " ", f.Type, " ", f.Tag)))
			describeFields(f.Type, types)
		}
		types[t.Name()] = strings.Join(fields, "; ")
	}
}
