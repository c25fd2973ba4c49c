package contenttypes_test

import (
	"bytes"
	"slices"
	"testing"

	"lectern/contenttypes"
)

// TestDefinitionsWithRules checks that a model made from definitions with rules has the same rules and checks values by
// them.
func TestDefinitionsWithRules(t *testing.T) {
	for _, project := range []string{"../store/testdata/project", "../testdata/conformance/projects/kitchen"} {
		m, problems := contenttypes.Load(project, contenttypes.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		want := m.DefinitionsWithRules()
		stored, err := contenttypes.FromDefinitions(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := stored.DefinitionsWithRules(); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s:\ngot  %s\nwant %s", project, got, want)
		}
		rules := 0
		for _, ct := range m.Types {
			got := stored.Type(ct.UID)
			if !bytes.Equal(got.Definition(), ct.Definition()) {
				t.Errorf("%s: rules are part of what stores keep:\ngot  %s\nwant %s", ct.UID, got.Definition(),
					ct.Definition())
			}
			for i, a := range ct.Attributes {
				b := got.Attributes[i]
				if a.Required != b.Required || a.HasDefault != b.HasDefault || (a.Regex == nil) != (b.Regex == nil) ||
					a.Regex != nil && a.Regex.String() != b.Regex.String() {
					t.Errorf("%s.%s: %+v, want %+v", ct.UID, a.Name, b, a)
				}
				if a.Required || a.Min != nil || a.Max != nil || a.MinLength != nil || a.MaxLength != nil ||
					a.Regex != nil {
					rules++
				}
			}
		}
		if rules == 0 {
			t.Errorf("%s has no rules", project)
		}
	}
	if _, err := contenttypes.FromDefinitions(
		[][]byte{[]byte(`{"uid":"api::a.a","kind":"collectionType","attributes":[{"name":"x","type":"string","rules":{"regex":"("}}]}`)}); err == nil {
		t.Error("a regex that is none is read")
	}
}

// TestFromDefinitions checks that a model made from definitions has the same definitions.
func TestFromDefinitions(t *testing.T) {
	m, problems := contenttypes.Load("../store/testdata/project", contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var definitions [][]byte
	for _, ct := range m.Types {
		definitions = append(definitions, ct.Definition())
	}
	for _, c := range m.Components {
		definitions = append(definitions, c.Definition())
	}
	stored, err := contenttypes.FromDefinitions(definitions)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Types) != len(m.Types) || len(stored.Components) != len(m.Components) {
		t.Fatalf("%d types and %d components, want %d and %d", len(stored.Types), len(stored.Components), len(m.Types),
			len(m.Components))
	}
	for _, ct := range m.Types {
		got := stored.Type(ct.UID)
		if !bytes.Equal(got.Definition(), ct.Definition()) {
			t.Errorf("%s:\ngot  %s\nwant %s", ct.UID, got.Definition(), ct.Definition())
		}
		for _, a := range got.Attributes {
			if owner, ok := a.OwnerType(); !ok || owner != got {
				t.Errorf("%s.%s does not know its type", ct.UID, a.Name)
			}
		}
	}
	for _, c := range m.Components {
		if got := stored.Component(c.UID); !bytes.Equal(got.Definition(), c.Definition()) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.UID, got.Definition(), c.Definition())
		}
	}
	if _, err := contenttypes.FromDefinitions(
		[][]byte{[]byte(`{"uid":"api::a.a","kind":"collectionType","attributes":[{"name":"x","type":"colour"}]}`)}); err == nil {
		t.Error("an unknown type is read")
	}
}
