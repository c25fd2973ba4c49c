package contenttypes

import (
	"regexp"
	"slices"
	"strings"
)

// A ValueKind says what kind of value an attribute type holds. Code that treats all texts or all numbers alike tests
// the kind, so that a new attribute type only needs a row in types.
type ValueKind uint8

const (
	NoValue         ValueKind = iota // relations, media, components and dynamic zones
	TextValue                        // any text
	EnumValue                        // a text from a list
	HashValue                        // a text of which only the hash is stored
	NumberValue                      // a JSON number
	BigIntegerValue                  // an integer of 64 bits, stored as a text of digits
	BooleanValue
	DateValue     // yyyy-MM-dd
	TimeValue     // HH:mm:ss.SSS
	DateTimeValue // yyyy-MM-ddTHH:mm:ss.SSSZ
	JSONValue     // any JSON
)

// IsTemporal reports whether values are dates, times of day or timestamps.
func (k ValueKind) IsTemporal() bool { return k == DateValue || k == TimeValue || k == DateTimeValue }

// An indexing says which indexes an attribute has. Each has those before it, too.
type indexing uint8

const (
	notIndexed  indexing = iota
	indexed              // its values: for equality, ranges and orders
	textIndexed          // its text: for parts of it
)

// uidPattern is the form of a uid whose definition has no regex.
var uidPattern = regexp.MustCompile(`^[A-Za-z0-9-_.~]*$`)

// types holds the properties of each attribute type.
var types = [...]struct {
	name      string // in definitions
	value     ValueKind
	graphQL   string         // the name of the GraphQL scalar
	index     indexing       // unless the definition says otherwise
	indexable bool           // may have an index if the definition says so
	maxLength int            // limit for texts whose definition has no maxLength, in UTF-16 units; 0 means no limit
	pattern   *regexp.Regexp // pattern of texts whose definition has no regex
	system    bool           // only system attributes have the type; definitions cannot use it
}{
	String:        {name: "string", value: TextValue, graphQL: "String", index: textIndexed, maxLength: 255},
	Text:          {name: "text", value: TextValue, graphQL: "String", indexable: true},
	RichText:      {name: "richtext", value: TextValue, graphQL: "String", indexable: true},
	Blocks:        {name: "blocks", value: JSONValue, graphQL: "JSON"},
	Integer:       {name: "integer", value: NumberValue, graphQL: "Int", index: indexed},
	BigInteger:    {name: "biginteger", value: BigIntegerValue, graphQL: "Long", index: indexed},
	Float:         {name: "float", value: NumberValue, graphQL: "Float", index: indexed},
	Decimal:       {name: "decimal", value: NumberValue, graphQL: "Float", index: indexed},
	Date:          {name: "date", value: DateValue, graphQL: "Date", index: indexed},
	Time:          {name: "time", value: TimeValue, graphQL: "Time", index: indexed},
	DateTime:      {name: "datetime", value: DateTimeValue, graphQL: "DateTime", index: indexed},
	Boolean:       {name: "boolean", value: BooleanValue, graphQL: "Boolean", index: indexed},
	Enumeration:   {name: "enumeration", value: EnumValue, graphQL: "String", index: indexed},
	JSON:          {name: "json", value: JSONValue, graphQL: "JSON"},
	Email:         {name: "email", value: TextValue, graphQL: "String", index: textIndexed},
	UID:           {name: "uid", value: TextValue, graphQL: "String", index: textIndexed, pattern: uidPattern},
	Password:      {name: "password", value: HashValue, graphQL: "String"},
	Media:         {name: "media"},
	RelationType:  {name: "relation"},
	ComponentType: {name: "component"},
	DynamicZone:   {name: "dynamiczone"},
	DocumentID:    {name: "documentId", value: TextValue, graphQL: "ID", system: true},
	ID:            {name: "id", value: NumberValue, graphQL: "ID", system: true},
	Locale:        {name: "locale", value: TextValue, graphQL: "String", system: true},
}

// Kind returns the kind of value that the type holds.
func (t Type) Kind() ValueKind { return types[t].value }

// GraphQL returns the GraphQL scalar of the type's values, or "" when the type has none. Each enumeration has a GraphQL
// type of its own for values; the scalar returned here is the one for filters.
func (t Type) GraphQL() string { return types[t].graphQL }

// String returns the name of the type in definitions.
func (t Type) String() string { return types[t].name }

// TimeFormat is the format of a datetime in documents and answers: in UTC, with milliseconds. Convert times to UTC
// before you format them.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// LengthLimit returns the largest number of UTF-16 units that a text may have; bounded is false when there is no limit.
func (a *Attribute) LengthLimit() (most int, bounded bool) {
	if a.MaxLength != nil {
		return *a.MaxLength, true
	}
	most = types[a.Type].maxLength
	return most, most > 0
}

// Pattern returns the regular expression that texts must match, with its source for messages. It is nil when there is
// none.
func (a *Attribute) Pattern() (_ *regexp.Regexp, source string) {
	if pattern := types[a.Type].pattern; a.Regex == nil && pattern != nil {
		return pattern, pattern.String()
	}
	return a.Regex, a.RegexSource
}

// timestamp is an alias of datetime in definitions.
const timestamp = "timestamp"

// typeNames returns the names that definitions may use as type, in the order in which messages list them.
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

// typeNamed returns the type that a name stands for in a definition.
func typeNamed(name string) (Type, bool) {
	if name == timestamp {
		return DateTime, true
	}
	t, ok := storedType(name)
	return t, ok && !types[t].system
}

// storedType returns the type with that name, which may be a system type.
func storedType(name string) (Type, bool) {
	for t, info := range types {
		if info.name == name {
			return Type(t), true
		}
	}
	return 0, false
}

// A typeSet is a set of attribute types.
type typeSet uint32

func setOf(types ...Type) (s typeSet) {
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

func (s typeSet) has(t Type) bool { return s&(1<<t) != 0 }

// String lists the names of the types, for a message.
func (s typeSet) String() string {
	var names []string
	for t, info := range types {
		if s.has(Type(t)) {
			names = append(names, info.name)
		}
	}
	return strings.Join(names, ", ")
}

// ofKinds returns the attribute types that hold values of one of the kinds, without system types.
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
		if info.index != notIndexed || info.indexable {
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
	// Types whose values are texts, of which parts are looked for.
	textIndexable = ofKinds(TextValue) & indexable
)

var relationKinds = []string{OneToOne: "oneToOne", OneToMany: "oneToMany", ManyToOne: "manyToOne",
	ManyToMany: "manyToMany",
	MorphToOne: "morphToOne", MorphToMany: "morphToMany", MorphOne: "morphOne", MorphMany: "morphMany"}

// String returns the name of the relation in definitions, and "" for NoRelation.
func (k RelationKind) String() string { return relationKinds[k] }

// relationNamed returns the relation that a name stands for in a definition.
func relationNamed(name string) (RelationKind, bool) {
	for k, n := range relationKinds {
		if n == name && name != "" {
			return RelationKind(k), true
		}
	}
	return NoRelation, false
}

// opposite returns the kind of relation that the other side of a two-way relation has.
func (k RelationKind) opposite() RelationKind {
	switch k {
	case OneToMany:
		return ManyToOne
	case ManyToOne:
		return OneToMany
	}
	return k
}

// String returns the name of the kind in definitions.
func (k Kind) String() string {
	if k == SingleType {
		return "singleType"
	}
	return "collectionType"
}
