package contenttypes

import "strings"

// typeNames are the words of `type`, in the order in which messages list them.
var typeNames = []struct {
	name string
	t    Type
}{
	{"string", String}, {"text", Text}, {"richtext", RichText}, {"blocks", Blocks},
	{"integer", Integer}, {"biginteger", BigInteger}, {"float", Float}, {"decimal", Decimal},
	{"date", Date}, {"time", Time}, {"datetime", DateTime}, {"timestamp", DateTime},
	{"boolean", Boolean}, {"enumeration", Enumeration}, {"json", JSON},
	{"email", Email}, {"uid", UID}, {"password", Password},
	{"media", Media}, {"relation", RelationType}, {"component", ComponentType}, {"dynamiczone", DynamicZone},
}

// typeNamed finds a type by its word.
func typeNamed(name string) (Type, bool) {
	for _, t := range typeNames {
		if t.name == name {
			return t.t, true
		}
	}
	return 0, false
}

// String is the word that definitions use.
func (t Type) String() string {
	switch t {
	case DocumentID:
		return "documentId"
	case ID:
		return "id"
	case Locale:
		return "locale"
	}
	for _, n := range typeNames {
		if n.t == t {
			return n.name
		}
	}
	return "unknown"
}

// A typeSet holds types.
type typeSet uint32

func setOf(types ...Type) (s typeSet) {
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

func (s typeSet) has(t Type) bool { return s&(1<<t) != 0 }

// String lists the words of the types for a message.
func (s typeSet) String() string {
	var names []string
	for _, n := range typeNames {
		if s.has(n.t) && n.name != "timestamp" {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

var (
	texts     = setOf(String, Text, RichText, Email, UID, Password)
	numbers   = setOf(Integer, BigInteger, Float, Decimal)
	dates     = setOf(Date, Time, DateTime)
	scalars   = texts | numbers | dates | setOf(Boolean, Enumeration, JSON, Blocks)
	indexable = scalars &^ setOf(JSON, Blocks, Password)
	// unindexed types have an index only when the definition asks for one: few questions are about the whole of a long text.
	unindexed = setOf(Text, RichText)
)

var relationKinds = []string{OneToOne: "oneToOne", OneToMany: "oneToMany", ManyToOne: "manyToOne", ManyToMany: "manyToMany",
	MorphToOne: "morphToOne", MorphToMany: "morphToMany", MorphOne: "morphOne", MorphMany: "morphMany"}

// String is the word that definitions use; empty for NoRelation.
func (k RelationKind) String() string { return relationKinds[k] }

// relationNamed finds a kind by its word.
func relationNamed(name string) (RelationKind, bool) {
	for k, n := range relationKinds {
		if n == name && name != "" {
			return RelationKind(k), true
		}
	}
	return NoRelation, false
}

// opposite is the kind that the other side of a two-way relation has.
func (k RelationKind) opposite() RelationKind {
	switch k {
	case OneToMany:
		return ManyToOne
	case ManyToOne:
		return OneToMany
	}
	return k
}

// String is the word that definitions use.
func (k Kind) String() string {
	if k == SingleType {
		return "singleType"
	}
	return "collectionType"
}
