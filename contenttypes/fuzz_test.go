package contenttypes_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"lectern/contenttypes"
)

// FuzzLoad loads arbitrary bytes as a content-type and as a component, in YAML and in JSON. Loading must never panic,
// must use memory linear in the size of the files, must give the same result twice, and must return a Model only when
// everything in it is linked.
func FuzzLoad(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range archives {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(file.Data, []byte("attributes: {text: {type: text}}"), false)
			f.Add([]byte("kind: singleType\ninfo: {singularName: a, pluralName: as}\nattributes: {}"), file.Data,
				filepath.Ext(file.Name) == ".json")
		}
	}
	f.Fuzz(func(t *testing.T, typ, component []byte, asJSON bool) {
		ext := ".yaml"
		if asJSON {
			ext = ".json"
		}
		project := fstest.MapFS{
			"content-types/a" + ext: {Data: typ}, "components/x/y" + ext: {Data: component},
			"content-types/thing.yaml": {Data: []byte("kind: singleType\ninfo: {singularName: thing, pluralName: things}\nattributes: {a: {type: relation, relation: morphToOne}}")},
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		model, problems := contenttypes.LoadFS(project, contenttypes.Options{Lookup: env})
		runtime.ReadMemStats(&after)
		if used, size := after.TotalAlloc-before.TotalAlloc, uint64(len(typ)+len(component)); used > 16<<20+4096*size {
			t.Errorf("%d bytes take %d bytes of memory", size, used)
		}
		if (model == nil) == (len(problems) == 0) {
			t.Fatalf("model %v and problems %v", model, problems)
		}
		again, problemsAgain := contenttypes.LoadFS(project, contenttypes.Options{Lookup: env})
		if problems.Error() != problemsAgain.Error() {
			t.Fatalf("first\n%v\nthen\n%v", problems, problemsAgain)
		}
		if model != nil {
			checkLinked(t, model)
			for i, typ := range model.Types {
				if !bytes.Equal(typ.Definition(), again.Types[i].Definition()) {
					t.Errorf("two definitions of %s", typ.UID)
				}
			}
		}
	})
}

// checkLinked checks the properties of a Model that the rest of the server relies on.
func checkLinked(t *testing.T, m *contenttypes.Model) {
	for _, typ := range m.Types {
		if m.Type(typ.UID) != typ || typ.Singular == "" || typ.Plural == "" {
			t.Errorf("type %q", typ.UID)
		}
		checkSchema(t, m, &typ.Schema, typ)
	}
	for _, c := range m.Components {
		if m.Component(c.UID) != c {
			t.Errorf("component %q", c.UID)
		}
		checkSchema(t, m, &c.Schema, nil)
	}
}

func checkSchema(t *testing.T, m *contenttypes.Model, s *contenttypes.Schema, typ *contenttypes.ContentType) {
	for i, a := range s.Attributes {
		ok := a.Index == i && a.Owner == s && s.Attribute(a.Name) == a && a.Name != ""
		switch a.Type {
		case contenttypes.ComponentType:
			ok = ok && a.Component != nil && m.Component(a.Component.UID) == a.Component
		case contenttypes.DynamicZone:
			ok = ok && len(a.Components) > 0 && typ != nil
		case contenttypes.Enumeration:
			ok = ok && len(a.Enum) > 0
		case contenttypes.RelationType, contenttypes.Media:
			toAny := a.Relation == contenttypes.MorphToOne || a.Relation == contenttypes.MorphToMany
			ok = ok && a.Relation != contenttypes.NoRelation && toAny == (a.Target == nil)
			if a.Inverse != nil {
				ok = ok && a.Inverse.Owner == &a.Target.Schema &&
					(a.IsMorph() || a.Inverse.Inverse == a && a.Inverse.Mapped != a.Mapped)
			}
		}
		ok = ok && (!a.Indexed || typ != nil) && (!a.Unique || a.Indexed || typ == nil)
		if !ok {
			t.Errorf("%s.%s is not linked: %+v", s.UID, a.Name, a)
		}
	}
}
