package evolve_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// twoDocuments is the content of a store with two documents of each type, which have the same JSON under each scalar
// attribute.
type twoDocuments struct {
	model *contenttypes.Model
	json  string
}

func (c twoDocuments) Model() *contenttypes.Model                                     { return c.model }
func (c twoDocuments) IsEmpty(*contenttypes.ContentType) bool                         { return false }
func (c twoDocuments) Documents(*contenttypes.ContentType) int                        { return 2 }
func (c twoDocuments) FirstDocument(*contenttypes.ContentType) string                 { return "first" }
func (c twoDocuments) EachLocale(*contenttypes.ContentType, func(code string, n int)) {}

func (c twoDocuments) Document(_ *contenttypes.ContentType, id string) (uint64, bool) {
	return 1, id == "first"
}

func (c twoDocuments) Drafts(*contenttypes.ContentType, []*contenttypes.Attribute) (int, int) {
	return 0, 0
}

func (c twoDocuments) CountLinks(*contenttypes.Attribute, evolve.LinkRule) evolve.LinkCounts {
	return evolve.LinkCounts{}
}

func (c twoDocuments) Survey(questions []*evolve.Question) {
	for _, q := range questions {
		n := 0
		if q.Concerns(scalar(c.json)) {
			n = 2
		}
		q.Conclude(n)
	}
}

// A scalar is the JSON of a stored value.
type scalar string

func (v scalar) Exists() bool                          { return v != "" }
func (v scalar) JSON() []byte                          { return []byte(v) }
func (v scalar) Text() string                          { return strings.Trim(string(v), `"`) }
func (v scalar) Components() []*contenttypes.Component { return nil }
func (v scalar) IsShared(string) bool                  { return true }

func itemModel(t *testing.T, kind, attributes string) *contenttypes.Model {
	t.Helper()
	m, problems := contenttypes.LoadFS(fstest.MapFS{"content-types/item.yaml": {Data: []byte(
		"kind: " + kind + "\ninfo: {singularName: item, pluralName: items, displayName: Item}\nattributes: {" +
			attributes + "}\n")}}, contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return m
}

// planner plans for content in which every scalar has the same JSON.
func planner(json string) *evolve.Planner {
	return &evolve.Planner{Content: func(cat *evolve.Catalog) (evolve.Content, error) {
		m, err := cat.Model()
		return twoDocuments{m, json}, err
	}}
}

// catalogOf is the catalog of a store that was made for a model.
func catalogOf(t *testing.T, m *contenttypes.Model) *evolve.Catalog {
	t.Helper()
	cat := evolve.NewCatalog()
	p, err := planner("").Convert(cat, m)
	if err == nil {
		err = p.Define.Apply(cat)
	}
	if err != nil || evolve.Changed(m, cat) {
		t.Fatal("the definitions were not taken over", err)
	}
	return cat
}

// TestConvert plans conversions without a store.
func TestConvert(t *testing.T) {
	for _, test := range []struct {
		name, before, json, after string
		want                      string // what the steps do, or the refusal's problem and calls
	}{
		{"an attribute comes", "a: {type: string}", `"x"`, "a: {type: string}, b: {type: integer}",
			"taking over the definitions; indexing api::item.item"},
		{"a value is lost", "a: {type: string}", `"x"`, "b: {type: json}",
			"attribute a of api::item.item is gone; 2 versions have a value for it: drop-attribute api::item.item.a"},
		{"null is not lost", "a: {type: string}", "", "b: {type: json}",
			"taking over the definitions; removing the index of api::item.item.a; " +
				"removing the index of the text of api::item.item.a"},
		{"a text gets an index", "a: {type: text, index: true}", `"x"`, "a: {type: text, index: text}",
			"taking over the definitions; indexing api::item.item"},
		{"a string loses the index of its text", "a: {type: string}", `"x"`, "a: {type: string, index: true}",
			"taking over the definitions; removing the index of the text of api::item.item.a"},
		{"a string becomes a text", "a: {type: string}", `"x"`, "a: {type: text, index: text}",
			"taking over the definitions"},
		{"a rename", "a: {type: string}", `"x"`, "b: {type: string}",
			"attribute a of api::item.item is gone; 2 versions have a value for it: rename-attribute api::item.item.a b"},
		{"a number becomes a text", "a: {type: integer}", "7", "a: {type: string}",
			"taking over the definitions; removing the index of api::item.item.a; converting api::item.item; indexing api::item.item"},
		{"a text becomes no number", "a: {type: string}", `"x"`, "a: {type: integer}",
			"attribute a of api::item.item was string and is integer; 2 versions have a value that cannot become one: drop-attribute api::item.item.a"},
		{"a value of an enumeration goes", "a: {type: enumeration, enum: [x, y]}", `"x"`,
			"a: {type: enumeration, enum: [y]}",
			`the enumeration a of api::item.item has no "x"; 2 versions have it: drop-value api::item.item.a x`},
	} {
		t.Run(test.name, func(t *testing.T) {
			cat := catalogOf(t, itemModel(t, "collectionType", test.before))
			plan, err := planner(test.json).Convert(cat, itemModel(t, "collectionType", test.after))
			if got := describe(plan, err); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestSettle plans migrations that definitions ask for, and none that they do not.
func TestSettle(t *testing.T) {
	single := itemModel(t, "singleType", "b: {type: string}")
	cat := catalogOf(t, itemModel(t, "collectionType", "a: {type: string}"))
	settle := func(line string) error {
		ms, err := evolve.ParseMigrations(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		_, err = planner(`"x"`).Settle(cat, ms, single)
		return err
	}
	if err := settle("drop-type api::item.item"); !errors.Is(err, evolve.ErrNotAsked) {
		t.Error("drop-type:", err)
	}
	var refused *evolve.DefinitionError
	if err := settle("rename-attribute api::item.item.a b"); !errors.As(err, &refused) {
		t.Fatal("what the rename leaves is not refused:", err)
	}
	if calls := refused.CallsOf(refused.Refusals[0]); len(calls) != 1 ||
		calls[0] != "lectern migrate DIR rename-attribute api::item.item.a b keep-document api::item.item first" {
		t.Error(calls)
	}
}

func describe(p *evolve.Plan, err error) string {
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		return refused.Refusals[0].Problem + ": " + refused.Refusals[0].Calls.String()
	} else if err != nil {
		return err.Error()
	}
	var what []string
	for _, s := range p.Steps {
		what = append(what, s.Work.String())
	}
	return strings.Join(what, "; ")
}
