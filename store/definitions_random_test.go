package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
	"lectern/store/evolve"
)

var changes = flag.Int("changes", 60, "how many changes TestRandomChanges makes")

// A variant is one way in which an attribute may be defined, with content for it.
type variant struct {
	yaml  string
	value func(*rand.Rand) string // JSON
}

func pick(values ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

// attributeVariants are the definitions that an attribute of a random type may have. The attribute may also be missing.
var attributeVariants = map[string][]variant{
	"text": {
		{"{type: string}", pick(`"a"`, `"b"`, `"7"`, `null`)}, {"{type: text}", pick(`"a"`, `"long text"`)},
		{"{type: enumeration, enum: [a, b, c]}", pick(`"a"`, `"b"`, `"c"`)},
		{"{type: enumeration, enum: [b, d]}", pick(`"b"`, `"d"`)},
		{"{type: json}", pick(`{"x":1}`, `"a"`)},
	},
	"number": {
		{"{type: integer}", pick(`1`, `-2`, `null`)}, {"{type: biginteger}", pick(`"9007199254740993"`, `"5"`)},
		{"{type: decimal}", pick(`1.5`, `2`)},
		{"{type: string}", pick(`"1"`)}, {"{type: boolean}", pick(`true`, `false`)},
		{"{type: integer, index: false}", pick(`3`)},
	},
	"day": {{"{type: date}", pick(`"2026-01-02"`)}, {"{type: datetime}", pick(`"2026-01-02T03:04:05.000Z"`)}},
	"parts": {
		{"{type: component, component: part.line}", pick(`{"word": "a", "see": ["b1"]}`)},
		{"{type: component, repeatable: true, component: part.line}",
			pick(`[{"word": "a"}, {"word": "b", "see": ["b2", "b1"]}]`, `[{"word": "c"}]`)},
		{"{type: dynamiczone, components: [part.line, part.other]}",
			pick(`[{"__component": "part.line", "word": "z"}, {"__component": "part.other", "n": 1}]`, `[]`)},
	},
}

// relationVariants are the two sides of a relation between the random types a and b; either may be missing.
var relationVariants = [][2]string{
	{"{type: relation, relation: manyToMany, target: api::b.b, inversedBy: rel}",
		"{type: relation, relation: manyToMany, target: api::a.a, mappedBy: rel}"},
	{"{type: relation, relation: manyToMany, target: api::b.b, mappedBy: rel}",
		"{type: relation, relation: manyToMany, target: api::a.a, inversedBy: rel}"},
	{"{type: relation, relation: manyToOne, target: api::b.b, inversedBy: rel}",
		"{type: relation, relation: oneToMany, target: api::a.a, mappedBy: rel}"},
	{"{type: relation, relation: oneToOne, target: api::b.b, inversedBy: rel}",
		"{type: relation, relation: oneToOne, target: api::a.a, mappedBy: rel}"},
	{"{type: relation, relation: manyToMany, target: api::b.b}", ""},
	{"", "{type: relation, relation: manyToMany, target: api::a.a}"},
	{"{type: relation, relation: morphToMany}", ""},
	{"", ""},
}

// A randomType is a content-type of a random model.
type randomType struct {
	drafts, localized bool
	values            map[string]func(*rand.Rand) string
	relation          string
}

type randomModel struct {
	*contenttypes.Model
	types map[string]*randomType
	files map[string]string
}

func newRandomModel(t *testing.T, r *rand.Rand) *randomModel {
	m := &randomModel{types: map[string]*randomType{}, files: map[string]string{}}
	sides := relationVariants[r.IntN(len(relationVariants))]
	for i, name := range []string{"a", "b"} {
		rt := &randomType{drafts: r.IntN(2) == 0, localized: r.IntN(3) == 0,
			values: map[string]func(*rand.Rand) string{}, relation: sides[i]}
		var b strings.Builder
		fmt.Fprintf(&b, "kind: collectionType\ninfo: {singularName: %s, pluralName: %ss, displayName: X}\noptions: {draftAndPublish: %v}\npluginOptions: {i18n: {localized: %v}}\nattributes:\n",
			name, name, rt.drafts, rt.localized)
		for _, attr := range []string{"text", "number", "day", "parts"} {
			if r.IntN(5) == 0 {
				continue
			}
			v := attributeVariants[attr][r.IntN(len(attributeVariants[attr]))]
			rt.values[attr] = v.value
			yaml := v.yaml
			if rt.localized && r.IntN(2) == 0 {
				yaml = strings.TrimSuffix(yaml, "}") + ", pluginOptions: {i18n: {localized: true}}}"
			}
			fmt.Fprintf(&b, "  %s: %s\n", attr, yaml)
		}
		if rt.relation != "" {
			fmt.Fprintf(&b, "  rel: %s\n", rt.relation)
		}
		fmt.Fprintf(&b, "  always: {type: string}\n")
		m.types[name] = rt
		m.files["content-types/"+name+".yaml"] = b.String()
	}
	// The components follow from the types, so that they take nothing from r.
	of := rand.New(rand.NewPCG(uint64(len(m.files["content-types/a.yaml"])),
		uint64(len(m.files["content-types/b.yaml"]))))
	unique := pick("", ", unique: true")
	m.files["components/part/line.yaml"] = fmt.Sprintf(
		"info: {displayName: Line}\nattributes:\n  word: {type: string%s}\n"+
			"  see: {type: relation, relation: oneToMany, target: api::b.b}\n", unique(of))
	m.files["components/part/other.yaml"] = fmt.Sprintf(
		"info: {displayName: Other}\nattributes:\n  n: {type: integer%s}\n", unique(of))
	m.Model = modelOf(t, contenttypes.Options{}, m.files)
	return m
}

// populate writes documents under the definitions of m.
func (m *randomModel) populate(t *testing.T, s *store.Store, r *rand.Rand) {
	svc := documents.NewService(s, m.Model, "en")
	body := func(name string, links bool) *jsontree.Object {
		o := jsontree.NewObject()
		rt := m.types[name]
		for attr, value := range rt.values {
			text := value(r)
			if rt.localized { // links in components lead to the localization of whoever holds them, if it is there
				text = strings.NewReplacer(`, "see": ["b1"]`, "", `, "see": ["b2", "b1"]`, "").Replace(text)
			}
			v, err := jsontree.Parse([]byte(text), 10)
			if err != nil {
				t.Fatal(err)
			}
			o.Set(attr, v)
		}
		if other := map[string]string{"a": "b", "b": "a"}[name]; links && rt.relation != "" && r.IntN(4) > 0 {
			var list []any
			for _, n := range r.Perm(3)[:1+r.IntN(3)] {
				id := fmt.Sprint(other, n+1)
				if strings.Contains(rt.relation, "morph") {
					target := jsontree.NewObject()
					target.Set("__type", "api::"+other+"."+other)
					target.Set("documentId", id)
					list = append(list, target)
				} else {
					list = append(list, id)
				}
			}
			if strings.Contains(rt.relation, "ToOne") && !strings.Contains(rt.relation, "morph") {
				list = list[:1]
			}
			o.Set("rel", list)
		}
		return o
	}
	// The targets of links must exist in the locale that is written. Otherwise the service would refuse the write.
	attempt := func(f func(context.Context, documents.Write) error, w documents.Write) {
		w.Access = permission.FullAccess
		var refused *apierror.Error
		err := f(context.Background(), w)
		lost := store.WritesElsewhere(err) || errors.Is(err, store.ErrOutcome) // by the leader of a cluster
		if err != nil && !lost && !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b", "a"} {
		for n := range 3 {
			o := jsontree.NewObject()
			o.Set("always", name)
			attempt(svc.Create, documents.Write{Type: m.Type("api::" + name + "." + name),
				DocumentID: fmt.Sprint(name, n+1), Data: o})
		}
	}
	for range 12 {
		name := []string{"a", "b"}[r.IntN(2)]
		w := documents.Write{Type: m.Type("api::" + name + "." + name), DocumentID: fmt.Sprint(name, 1+r.IntN(4)),
			Data: body(name, true), Status: store.Status(r.IntN(2))}
		if m.types[name].localized && r.IntN(3) == 0 {
			w.Locale = "fr"
		}
		switch r.IntN(8) {
		case 0:
			w.Data = nil
			attempt(svc.Unpublish, w)
		case 1:
			attempt(svc.Create, w)
		default:
			attempt(svc.Update, w)
		}
	}
}

// TestRandomChanges writes random content under random definitions and then opens it under others. If the store
// refuses, the test carries out the migrations that the refusal names. In the end the store must open. It must be
// consistent at each step, also after kills.
func TestRandomChanges(t *testing.T) {
	refused, settled := 0, 0
	count := *changes
	if testing.Short() {
		count /= 10
	}
	for seed := range count {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		before, after := newRandomModel(t, r), newRandomModel(t, r)
		c := &change{T: t, path: filepath.Join(t.TempDir(), "content.db"), how: []how{killed, inUse, inOneGo}[seed%3],
			before: before.Model, after: after.Model}
		c.open(before.Model)
		before.populate(t, c.store, r)
		c.close()
		for round := 0; ; round++ {
			s, err := c.tryOpen(after.Model)
			var refusal *evolve.DefinitionError
			if err == nil {
				c.store = s
				break
			}
			if !errors.As(err, &refusal) || round > 40 {
				t.Fatalf("seed %d: %v\n%v\n%v", seed, err, before.files, after.files)
			}
			refused++
			one := refusal.Refusals[r.IntN(len(refusal.Refusals))]
			calls := append(slices.Clone(one.Calls), one.Otherwise...)
			call := calls[r.IntN(len(calls))]
			if c.how == inUse && c.settle(one.After, call, after.Model) {
				settled++
				break
			}
			if _, err := c.do(append(one.After, call)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		c.dump()
		if err := c.store.Check(); err != nil {
			t.Errorf("check: %v", err)
		}
		after.populate(t, c.store, r)
		c.close()
		if t.Failed() {
			t.Fatalf("seed %d:\n%v\n%v", seed, before.files, after.files)
		}
	}
	t.Logf("%d changes, %d refusals, %d settled in use", *changes, refused, settled)
}
