package answers

import (
	"fmt"
	"math/rand/v2"
)

// A Model describes a project: it is written as YAML for the server, and the evaluator works by it.
type Model struct {
	Types      []*Type
	Components []*Component
	Locales    []string // the first is the default locale
	Morphs     []Morph  // of a project: its polymorphic relations, which no Schema has

	DefaultLimit, MaxLimit int      // limits of lists in GraphQL
	Permitted              []string // actions (uid.action) that the limited principal may perform
	Signed                 bool     // documents of collection types may have an author: see rules_variables_test.go

	undo []func() // of redefinitions
}

// A Schema is a named list of attributes.
type Schema struct {
	UID        string
	Attributes []*Attribute
}

// A Type is a content-type.
type Type struct {
	Schema
	Singular  string
	Plural    string
	Single    bool
	Drafts    bool
	Localized bool
	Plugin    bool // a type of a plugin, which questions reach by relations only
}

// A Morph is a polymorphic relation of a type. Mapped is the side with morphBy.
type Morph struct {
	Owner        *Type
	Name         string
	Mapped, Many bool
}

// asked returns the types that questions begin with, and those of them that hold many documents.
func (m *Model) asked() (all, collections []*Type) {
	for _, t := range m.Types {
		if t.Plugin {
			continue
		}
		all = append(all, t)
		if !t.Single {
			collections = append(collections, t)
		}
	}
	return all, collections
}

// A Component is a group of attributes inside a document.
type Component struct {
	Schema
	Category string
	Name     string
}

// An Attribute is a field of a schema. Type is the attribute type in the definition. System attributes have the types
// "id", "documentId", "locale" and "datetime".
type Attribute struct {
	Name   string
	Type   string
	System bool

	Required, Unique, Private bool
	Localized                 bool
	Default                   *Literal
	Min, Max                  *float64
	MinLength, MaxLength      *int
	Enum                      []string

	Relation string // such as oneToOne
	Target   *Type
	Inverse  *Attribute // other side of a two-way relation
	Mapped   bool       // the side that has mappedBy
	Owner    *Type      // type that has the relation; nil inside a component

	Multiple   bool // of media: may hold several files
	Component  *Component
	Repeatable bool
	Components []*Component // of a dynamic zone
}

// Find returns the attribute with that name, or nil.
func (s *Schema) Find(name string) *Attribute {
	for _, a := range s.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func (a *Attribute) isLink() bool {
	return a.Type == "relation" || a.Type == "media" || a.Type == "localizations"
}
func (a *Attribute) isNested() bool { return a.Type == "component" || a.Type == "dynamiczone" }
func (a *Attribute) isScalar() bool { return !a.isLink() && !a.isNested() }

// toMany reports whether responses show a relation as a list.
func (a *Attribute) toMany() bool {
	switch a.Type {
	case "media":
		return a.Multiple
	case "localizations":
		return true
	}
	return a.Relation == "oneToMany" || a.Relation == "manyToMany"
}

// shown reports whether responses ever show the attribute.
func (a *Attribute) shown() bool { return !a.Private && a.Type != "password" }

// kind returns a relation's name in the coverage: its kind, its direction, and whether it leads to its own type.
func (a *Attribute) kind() string {
	way := "one-way"
	switch {
	case a.Owner == nil:
		way = "in component"
	case a.Mapped:
		way = "two-way mapped"
	case a.Inverse != nil:
		way = "two-way owning"
	}
	if a.Owner != nil && a.Owner == a.Target {
		way += " self"
	}
	return a.Relation + " " + way
}

// scalarTypes are the attribute types with a plain value, by their names in definitions.
var scalarTypes = []string{
	"string", "text", "richtext", "uid", "email", "enumeration", "integer", "biginteger", "float", "decimal",
	"date", "time", "datetime", "boolean", "json", "blocks", "password",
}

// A modelGenerator makes one random Model.
type modelGenerator struct {
	rng   *rand.Rand
	quirk Quirks
	model *Model
	count int
}

// RandomModel returns a random model that has every scalar type, every relation kind, and types with and without drafts
// and locales.
func RandomModel(rng *rand.Rand, quirk Quirks) *Model {
	m := &modelGenerator{rng: rng, quirk: quirk, model: &Model{Locales: []string{"en", "fr", "de"}}}
	m.components()
	m.types()
	m.relations()
	m.system()
	m.settings()
	return m.model
}

func (m *modelGenerator) chance(p float64) bool { return m.rng.Float64() < p }

// name returns an unused attribute name.
func (m *modelGenerator) name(stem string) string {
	m.count++
	return fmt.Sprintf("%s%d", stem, m.count)
}

// components makes three components: one with scalars only, one with relations (which relations adds), and one that
// contains both.
func (m *modelGenerator) components() {
	leaf := &Component{Category: "parts", Name: "leaf"}
	m.scalars(&leaf.Schema, 5, true)
	linked := &Component{Category: "parts", Name: "linked"}
	m.scalars(&linked.Schema, 2, true)
	nest := &Component{Category: "groups", Name: "nest"}
	m.scalars(&nest.Schema, 2, true)
	nest.Attributes = append(nest.Attributes,
		&Attribute{Name: m.name("one"), Type: "component", Component: leaf},
		&Attribute{Name: m.name("many"), Type: "component", Component: linked, Repeatable: true})
	for _, c := range []*Component{leaf, linked, nest} {
		c.UID = c.Category + "." + c.Name
		m.model.Components = append(m.model.Components, c)
	}
}

// types makes a collection type for each combination of drafts and locales, and a single type.
func (m *modelGenerator) types() {
	words := []string{"apple", "brick", "cloud", "drum", "ember"}
	for i, w := range words {
		t := &Type{Singular: w, Plural: w + "s", Drafts: i&1 != 0, Localized: i&2 != 0}
		if i == 4 {
			t.Single, t.Drafts, t.Localized = true, m.chance(.5), m.chance(.5)
		}
		t.UID = "api::" + w + "." + w
		m.scalars(&t.Schema, 9, false)
		m.nested(t)
		if m.chance(.5) {
			t.Attributes = append(
				t.Attributes, &Attribute{Name: m.name("media"), Type: "media", Multiple: m.chance(.5)})
		}
		for _, a := range t.Attributes {
			a.Localized = t.Localized && (m.chance(.6) || t.Drafts && m.quirk.SyncsPublishedOnly)
		}
		m.model.Types = append(m.model.Types, t)
	}
}

// scalars adds n scalar attributes. It cycles through the types, so that the model has all of them.
func (m *modelGenerator) scalars(s *Schema, n int, component bool) {
	first := m.rng.IntN(len(scalarTypes))
	for i := range n {
		typ := scalarTypes[(first+i*2)%len(scalarTypes)]
		if typ == "uid" && component { // uniqueness of a uid in a component is not defined
			typ = "email"
		}
		s.Attributes = append(s.Attributes, m.scalar(typ))
	}
	s.Attributes = append(s.Attributes, m.scalar("string"))
}

func (m *modelGenerator) scalar(typ string) *Attribute {
	a := &Attribute{Name: m.name(typ), Type: typ}
	switch typ {
	case "enumeration":
		a.Enum = []string{"red", "Green", "blue sky"}
	case "integer":
		if m.chance(.4) {
			a.Min, a.Max = number(-5), number(40)
		}
	case "string", "text":
		if m.chance(.2) {
			a.MaxLength = length(24)
		}
		if m.chance(.15) {
			a.MinLength = length(1)
		}
		a.Private = m.chance(.06) && !m.quirk.SearchLeaks
	}
	switch typ {
	case "string", "integer", "date", "boolean":
		a.Required = m.chance(.2)
		if m.chance(.25) {
			v := randomLiteral(m.rng, a, m.quirk).Keep
			a.Default = &Literal{v, v}
		}
	}
	return a
}

// nested adds a single component, a repeatable one and a dynamic zone.
func (m *modelGenerator) nested(t *Type) {
	pick := func() *Component { return m.model.Components[m.rng.IntN(len(m.model.Components))] }
	t.Attributes = append(t.Attributes, &Attribute{Name: m.name("single"), Type: "component", Component: pick()})
	list := &Attribute{Name: m.name("list"), Type: "component", Component: pick(), Repeatable: true}
	if m.chance(.3) {
		list.Max = number(4)
	}
	t.Attributes = append(t.Attributes, list)
	if m.chance(.6) {
		zone := &Attribute{Name: m.name("zone"), Type: "dynamiczone", Components: m.model.Components[:2+m.rng.IntN(2)]}
		t.Attributes = append(t.Attributes, zone)
	}
}

// relations adds every kind of relation, between random types.
func (m *modelGenerator) relations() {
	for _, kind := range []string{"oneToOne", "oneToMany", "manyToOne", "manyToMany"} {
		m.oneWay(m.source(), m.collection(), kind)
	}
	self := m.collection()
	m.oneWay(self, self, "manyToMany")
	m.twoWay(m.collection(), m.collection(), "oneToOne", "oneToOne")
	m.twoWay(m.collection(), m.collection(), "manyToOne", "oneToMany")
	m.twoWay(m.collection(), m.collection(), "manyToMany", "manyToMany")
	self = m.collection()
	m.twoWay(self, self, "manyToOne", "oneToMany")

	linked := m.model.Components[1]
	for _, kind := range []string{"oneToOne", "oneToMany", "manyToOne", "manyToMany"} {
		target := m.collection()
		if target.Localized { // a component that locales share could not say which localization it links to
			target = m.model.Types[m.rng.IntN(2)]
		}
		if m.quirk.OneWayLosesDrafts {
			target = m.model.Types[0]
		}
		a := &Attribute{Name: m.name("rel"), Type: "relation", Relation: kind, Target: target}
		linked.Attributes = append(linked.Attributes, a)
	}
}

func (m *modelGenerator) collection() *Type { return m.model.Types[m.rng.IntN(4)] }
func (m *modelGenerator) source() *Type     { return m.model.Types[m.rng.IntN(5)] }

func (m *modelGenerator) oneWay(from, to *Type, kind string) {
	if m.quirk.OneWayLosesDrafts && from.Drafts && to.Drafts {
		from = m.model.Types[0]
	}
	a := &Attribute{Name: m.name("rel"), Type: "relation", Relation: kind, Target: to, Owner: from}
	from.Attributes = append(from.Attributes, a)
}

func (m *modelGenerator) twoWay(from, to *Type, kind, back string) {
	if m.quirk.TakeoverReachesPublished && kind != "manyToMany" && from.Drafts != to.Drafts {
		to = from
	}
	if from == to && kind == back { // use two types, since such a relation would be its own inverse
		to = m.model.Types[(indexOf(m.model.Types, from)+2)%4]
	}
	a := &Attribute{Name: m.name("rel"), Type: "relation", Relation: kind, Target: to, Owner: from}
	b := &Attribute{Name: m.name("rel"), Type: "relation", Relation: back, Target: from, Owner: to, Mapped: true}
	a.Inverse, b.Inverse = b, a
	from.Attributes = append(from.Attributes, a)
	to.Attributes = append(to.Attributes, b)
}

func indexOf[T comparable](list []T, x T) int {
	for i, v := range list {
		if v == x {
			return i
		}
	}
	return -1
}

// system adds the system attributes.
func (m *modelGenerator) system() {
	sys := func(name, typ string) *Attribute { return &Attribute{Name: name, Type: typ, System: true} }
	for _, c := range m.model.Components {
		c.Attributes = append([]*Attribute{sys("id", "id")}, c.Attributes...)
	}
	for _, t := range m.model.Types {
		t.Attributes = append([]*Attribute{sys("id", "id"), sys("documentId", "documentId")}, t.Attributes...)
		t.Attributes = append(t.Attributes, sys("createdAt", "datetime"), sys("updatedAt", "datetime"),
			sys("publishedAt", "datetime"))
		if t.Localized {
			t.Attributes = append(t.Attributes, sys("locale", "locale"))
			others := sys("localizations", "localizations")
			others.Target, others.Owner, others.Relation = t, t, "oneToMany"
			t.Attributes = append(t.Attributes, others)
		}
	}
}

// settings chooses the limits of lists, and the permissions of the limited principal.
func (m *modelGenerator) settings() {
	m.model.DefaultLimit, m.model.MaxLimit = []int{10, 10, 4}[m.rng.IntN(3)], []int{-1, -1, 7}[m.rng.IntN(3)]
	for _, t := range m.model.Types {
		for _, action := range []string{"find", "findOne", "create", "update", "delete"} {
			if t.Single && (action == "findOne" || action == "create") {
				continue
			}
			if m.chance(.6) || len(m.model.Permitted) == 0 {
				m.model.Permitted = append(m.model.Permitted, t.UID+"."+action)
			}
		}
	}
}

func number(f float64) *float64 { return &f }
func length(n int) *int         { return &n }
