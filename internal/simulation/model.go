package simulation

import (
	"fmt"
	"math/rand/v2"
)

// A Model is a project as the simulation knows it: what it writes as YAML for the server and what the evaluator works by.
type Model struct {
	Types      []*Type
	Components []*Component
	Locales    []string // the first is the default

	DefaultLimit, MaxLimit int      // of lists in GraphQL
	Permitted              []string // uid.action that the limited asker may do
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
}

// A Component is a group of attributes inside a document.
type Component struct {
	Schema
	Category string
	Name     string
}

// An Attribute is one field. Type is the word the definition uses, or "id", "documentId", "locale" and "datetime" for what
// the server gives (System).
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

	Relation string // oneToOne, …
	Target   *Type
	Inverse  *Attribute // the other side of a two-way relation
	Mapped   bool       // the side that says mappedBy
	Owner    *Type      // of a relation; nil inside a component

	Multiple   bool // media
	Component  *Component
	Repeatable bool
	Components []*Component // dynamic zone
}

// Find returns the attribute of that name, or nil.
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

// toMany reports whether a link attribute is printed as a list.
func (a *Attribute) toMany() bool {
	switch a.Type {
	case "media":
		return a.Multiple
	case "localizations":
		return true
	}
	return a.Relation == "oneToMany" || a.Relation == "manyToMany"
}

// shown reports whether anybody ever sees the attribute.
func (a *Attribute) shown() bool { return !a.Private && a.Type != "password" }

// kind names a relation for the coverage: its kind, direction and whether it leads to its own type.
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

// scalarTypes are the attribute types that hold a plain value, as definitions name them.
var scalarTypes = []string{
	"string", "text", "richtext", "uid", "email", "enumeration", "integer", "biginteger", "float", "decimal",
	"date", "time", "datetime", "boolean", "json", "blocks", "password",
}

// A modeller makes one random Model.
type modeller struct {
	rng   *rand.Rand
	quirk Quirks
	model *Model
	count int
}

// RandomModel returns a model that has every scalar type, every relation kind, and types with and without drafts and
// locales.
func RandomModel(rng *rand.Rand, quirk Quirks) *Model {
	m := &modeller{rng: rng, quirk: quirk, model: &Model{Locales: []string{"en", "fr", "de"}}}
	m.components()
	m.types()
	m.relations()
	m.system()
	m.settings()
	return m.model
}

func (m *modeller) chance(p float64) bool { return m.rng.Float64() < p }

// name returns a fresh attribute name.
func (m *modeller) name(stem string) string {
	m.count++
	return fmt.Sprintf("%s%d", stem, m.count)
}

// components makes a leaf of scalars, one with relations (filled in by relations) and one that nests both.
func (m *modeller) components() {
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

// types makes one collection type for each combination of drafts and locales, and a single type.
func (m *modeller) types() {
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
			t.Attributes = append(t.Attributes, &Attribute{Name: m.name("media"), Type: "media", Multiple: m.chance(.5)})
		}
		for _, a := range t.Attributes {
			a.Localized = t.Localized && (m.chance(.6) || t.Drafts && m.quirk.SyncsPublishedOnly)
		}
		m.model.Types = append(m.model.Types, t)
	}
}

// scalars adds n attributes of different scalar types, each in turn over the model so that none is left out.
func (m *modeller) scalars(s *Schema, n int, component bool) {
	first := m.rng.IntN(len(scalarTypes))
	for i := range n {
		typ := scalarTypes[(first+i*2)%len(scalarTypes)]
		if typ == "uid" && component { // which others it would have to differ from is not said
			typ = "email"
		}
		s.Attributes = append(s.Attributes, m.scalar(typ))
	}
	s.Attributes = append(s.Attributes, m.scalar("string"))
}

func (m *modeller) scalar(typ string) *Attribute {
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

// nested adds a single component, a repeatable one and a zone.
func (m *modeller) nested(t *Type) {
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

// relations adds every kind of relation, between types chosen at random.
func (m *modeller) relations() {
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
		if target.Localized { // a component that is shared by locales would not know which one it points at
			target = m.model.Types[m.rng.IntN(2)]
		}
		if m.quirk.OneWayLosesDrafts {
			target = m.model.Types[0]
		}
		a := &Attribute{Name: m.name("rel"), Type: "relation", Relation: kind, Target: target}
		linked.Attributes = append(linked.Attributes, a)
	}
}

func (m *modeller) collection() *Type { return m.model.Types[m.rng.IntN(4)] }
func (m *modeller) source() *Type     { return m.model.Types[m.rng.IntN(5)] }

func (m *modeller) oneWay(from, to *Type, kind string) {
	if m.quirk.OneWayLosesDrafts && from.Drafts && to.Drafts {
		from = m.model.Types[0]
	}
	a := &Attribute{Name: m.name("rel"), Type: "relation", Relation: kind, Target: to, Owner: from}
	from.Attributes = append(from.Attributes, a)
}

func (m *modeller) twoWay(from, to *Type, kind, back string) {
	if m.quirk.TakeoverReachesPublished && kind != "manyToMany" && from.Drafts != to.Drafts {
		to = from
	}
	if from == to && kind == back { // one that is its own inverse says little; take two types
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

// system adds the attributes that the server gives.
func (m *modeller) system() {
	sys := func(name, typ string) *Attribute { return &Attribute{Name: name, Type: typ, System: true} }
	for _, c := range m.model.Components {
		c.Attributes = append([]*Attribute{sys("id", "id")}, c.Attributes...)
	}
	for _, t := range m.model.Types {
		t.Attributes = append([]*Attribute{sys("id", "id"), sys("documentId", "documentId")}, t.Attributes...)
		t.Attributes = append(t.Attributes, sys("createdAt", "datetime"), sys("updatedAt", "datetime"), sys("publishedAt", "datetime"))
		if t.Localized {
			t.Attributes = append(t.Attributes, sys("locale", "locale"))
			others := sys("localizations", "localizations")
			others.Target, others.Owner, others.Relation = t, t, "oneToMany"
			t.Attributes = append(t.Attributes, others)
		}
	}
}

// settings chooses the limits of lists, and what the limited asker may do.
func (m *modeller) settings() {
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
