package contenttypes

import (
	"regexp"
	"slices"
	"strings"
)

// A ValueKind says what kind of value an attribute type holds. Code that treats all texts or all numbers alike asks for the kind,
// so that a new type of that kind needs a row in types and nothing else.
type ValueKind uint8

const (
	NoValue         ValueKind = iota // relations, media, components and dynamic zones
	TextValue                        // any text
	EnumValue                        // a text out of a list
	HashValue                        // a text of which only a hash is stored
	NumberValue                      // a JSON number
	BigIntegerValue                  // an integer of 64 bits, stored as a text of digits
	BooleanValue
	DateValue     // yyyy-MM-dd
	TimeValue     // HH:mm:ss.SSS
	DateTimeValue // yyyy-MM-ddTHH:mm:ss.SSSZ
	JSONValue     // any JSON
)

// IsTemporal reports whether values are dates, times of day or moments.
func (k ValueKind) IsTemporal() bool { return k == DateValue || k == TimeValue || k == DateTimeValue }

// An indexing says when attributes of a type have a secondary index.
type indexing uint8

const (
	notIndexed     indexing = iota // never
	indexedOnAsk                   // when the definition says `index: true` or `unique: true`
	indexedUnasked                 // unless the definition says `index: false`
)

// uidPattern is what a uid looks like when its definition has no regex.
var uidPattern = regexp.MustCompile(`^[A-Za-z0-9-_.~]*$`)

// types says everything about the attribute types that is the same for all attributes of a type.
var types = [...]struct {
	name      string // in definitions
	value     ValueKind
	graphQL   string // the scalar of the values in GraphQL
	index     indexing
	maxLength int            // of texts, in UTF-16 units, where maxLength is not given; 0 is no bound
	pattern   *regexp.Regexp // of texts, where regex is not given
	system    bool           // belongs to system attributes; no definition can name it
}{
	String:        {name: "string", value: TextValue, graphQL: "String", index: indexedUnasked, maxLength: 255},
	Text:          {name: "text", value: TextValue, graphQL: "String", index: indexedOnAsk},
	RichText:      {name: "richtext", value: TextValue, graphQL: "String", index: indexedOnAsk},
	Blocks:        {name: "blocks", value: JSONValue, graphQL: "JSON"},
	Integer:       {name: "integer", value: NumberValue, graphQL: "Int", index: indexedUnasked},
	BigInteger:    {name: "biginteger", value: BigIntegerValue, graphQL: "Long", index: indexedUnasked},
	Float:         {name: "float", value: NumberValue, graphQL: "Float", index: indexedUnasked},
	Decimal:       {name: "decimal", value: NumberValue, graphQL: "Float", index: indexedUnasked},
	Date:          {name: "date", value: DateValue, graphQL: "Date", index: indexedUnasked},
	Time:          {name: "time", value: TimeValue, graphQL: "Time", index: indexedUnasked},
	DateTime:      {name: "datetime", value: DateTimeValue, graphQL: "DateTime", index: indexedUnasked},
	Boolean:       {name: "boolean", value: BooleanValue, graphQL: "Boolean", index: indexedUnasked},
	Enumeration:   {name: "enumeration", value: EnumValue, graphQL: "String", index: indexedUnasked},
	JSON:          {name: "json", value: JSONValue, graphQL: "JSON"},
	Email:         {name: "email", value: TextValue, graphQL: "String", index: indexedUnasked},
	UID:           {name: "uid", value: TextValue, graphQL: "String", index: indexedUnasked, pattern: uidPattern},
	Password:      {name: "password", value: HashValue, graphQL: "String"},
	Media:         {name: "media"},
	RelationType:  {name: "relation"},
	ComponentType: {name: "component"},
	DynamicZone:   {name: "dynamiczone"},
	DocumentID:    {name: "documentId", value: TextValue, graphQL: "ID", system: true},
	ID:            {name: "id", value: NumberValue, graphQL: "ID", system: true},
	Locale:        {name: "locale", value: TextValue, graphQL: "String", system: true},
}

// Kind is the kind of the type's values.
func (t Type) Kind() ValueKind { return types[t].value }

// GraphQL names the scalar that values of the type have in GraphQL, "" when they have none. Enumerations have types of their own
// there, and are texts in filters.
func (t Type) GraphQL() string { return types[t].graphQL }

// String is the word that definitions use.
func (t Type) String() string { return types[t].name }

// LengthBound returns the most UTF-16 units that a text may have; bounded is false when any number is allowed.
func (a *Attribute) LengthBound() (most int, bounded bool) {
	if a.MaxLength != nil {
		return *a.MaxLength, true
	}
	most = types[a.Type].maxLength
	return most, most > 0
}

// Pattern returns the regular expression that texts must match, with its source for messages; nil when there is none.
func (a *Attribute) Pattern() (_ *regexp.Regexp, source string) {
	if pattern := types[a.Type].pattern; a.Regex == nil && pattern != nil {
		return pattern, pattern.String()
	}
	return a.Regex, a.RegexSource
}

// timestamp is another word for datetime.
const timestamp = "timestamp"

// typeNames are the words that definitions may use as type, in the order in which messages list them.
func typeNames() (names []string) {
	for t, info := range types {
		if info.system {
			continue
		}
		names = append(names, info.name)
		if Type(t) == DateTime {
			names = append(names, timestamp)
		}
	}
	return names
}

// typeNamed finds a type by the word that definitions use.
func typeNamed(name string) (Type, bool) {
	if name == timestamp {
		return DateTime, true
	}
	t, ok := storedType(name)
	return t, ok && !types[t].system
}

// storedType finds a type, system types included, by its name.
func storedType(name string) (Type, bool) {
	for t, info := range types {
		if info.name == name {
			return Type(t), true
		}
	}
	return 0, false
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
	for t, info := range types {
		if s.has(Type(t)) {
			names = append(names, info.name)
		}
	}
	return strings.Join(names, ", ")
}

// ofKinds returns the types, those of system attributes aside, whose values are of one of the kinds.
func ofKinds(kinds ...ValueKind) (s typeSet) {
	for t, info := range types {
		if !info.system && slices.Contains(kinds, info.value) {
			s |= 1 << t
		}
	}
	return s
}

func indexableTypes() (s typeSet) {
	for t, info := range types {
		if info.index != notIndexed {
			s |= 1 << t
		}
	}
	return s
}

var (
	texts     = ofKinds(TextValue, HashValue)
	numbers   = ofKinds(NumberValue, BigIntegerValue)
	scalars   = texts | numbers | ofKinds(DateValue, TimeValue, DateTimeValue, BooleanValue, EnumValue, JSONValue)
	indexable = indexableTypes()
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
