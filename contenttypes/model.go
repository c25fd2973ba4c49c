package contenttypes

import (
	"regexp"
)

// A Model holds all definitions of a project, checked and linked. It is immutable: any number of
// goroutines may read it.
type Model struct {
	Types      []*ContentType // sorted by UID, built-in ones included
	Components []*Component   // sorted by UID

	types      map[string]*ContentType
	components map[string]*Component
}

// Type returns the content-type with that uid, or nil.
func (m *Model) Type(uid string) *ContentType { return m.types[uid] }

// Component returns the component with that uid (category.name), or nil.
func (m *Model) Component(uid string) *Component { return m.components[uid] }

// Kind says whether a content-type holds many documents or one.
type Kind uint8

const (
	CollectionType Kind = iota
	SingleType
)

// A ContentType is a kind of document.
type ContentType struct {
	Schema
	Kind            Kind
	Singular        string // info.singularName
	Plural          string // info.pluralName
	DisplayName     string
	Description     string
	DraftAndPublish bool
	Localized       bool // pluginOptions.i18n.localized
	BuiltIn         bool // comes with Lectern (users, roles, files, …), not from the project
	Internal        bool // built-in and never served by the generated APIs (API tokens, …)
}

// A Component is a group of attributes that lives inside a document.
type Component struct {
	Schema
	Category    string
	Name        string // file name without extension; the uid is Category.Name
	DisplayName string
}

// A Schema is what content-types and components have in common: a uid and attributes.
type Schema struct {
	UID string
	// Attributes in the order in which answers print them. A content-type begins with the system attributes id and
	// documentId and ends with createdAt, updatedAt, publishedAt and, when localized, locale and localizations (a relation
	// of the type to itself that is computed, not stored). A component begins with id alone.
	Attributes []*Attribute

	byName map[string]*Attribute
	typ    *ContentType // set for content-types, nil for components
}

// Attribute returns the attribute of that name, system attributes included, or nil.
func (s *Schema) Attribute(name string) *Attribute { return s.byName[name] }

// Type is the type of an attribute. What all attributes of a type have in common stands in the table types. Stores keep the
// numbers: add a type at the end.
type Type uint8

const (
	String Type = iota
	Text
	RichText
	Blocks
	Integer
	BigInteger
	Float
	Decimal
	Date
	Time
	DateTime
	Boolean
	Enumeration
	JSON
	Email
	UID
	Password
	Media
	RelationType
	ComponentType
	DynamicZone
	DocumentID // the system attribute documentId
	ID         // the system attribute id: an integer the server gives out
	Locale     // the system attribute locale
)

// RelationKind is the `relation` of a relation attribute.
type RelationKind uint8

const (
	NoRelation RelationKind = iota
	OneToOne
	OneToMany
	ManyToOne
	ManyToMany
	MorphToOne
	MorphToMany
	MorphOne
	MorphMany
)

// An Attribute is one field of a Schema.
type Attribute struct {
	Name   string
	Index  int // position in Schema.Attributes
	Type   Type
	System bool // id, documentId, createdAt, updatedAt, publishedAt, locale, localizations
	Owner  *Schema

	jsonKey string

	Required   bool
	Unique     bool
	Private    bool
	Localized  bool // marked as localized, and all relations and uids of localized types
	Indexed    bool // has a secondary index: decided by type, unique and `index`
	Default    any  // a jsontree value, as answers show it; nil where there is none
	HasDefault bool

	Min, Max             *float64 // numbers; for components and zones the least and greatest number of items
	MinLength, MaxLength *int     // UTF-16 units
	Regex                *regexp.Regexp
	RegexSource          string // as written, for messages
	Enum                 []string
	TargetField          string // uid: the attribute that it is made from
	Generate             bool   // uid: a new document that is given none gets one made from TargetField

	// Relations. Media attributes are one-way relations to plugin::upload.file; Relation is ManyToMany for them, and ToMany says
	// whether they hold several files.
	Relation RelationKind
	Target   *ContentType // nil for MorphToOne and MorphToMany
	// Inverse is the attribute on Target that shows the same links from the other side, nil for one-way relations.
	Inverse *Attribute
	// Mapped is true on the side that says mappedBy (or morphBy): the links are stored under Inverse.
	Mapped       bool
	Multiple     bool     // media: several files
	AllowedTypes []string // media

	// Components.
	Component  *Component   // ComponentType
	Repeatable bool         // ComponentType
	Components []*Component // DynamicZone: what an item may be

	enumName string // see EnumName
}

// EnumName is the name an enumeration asks to have in GraphQL, empty when it leaves that to the server.
func (a *Attribute) EnumName() string { return a.enumName }

// IsRelation reports whether a holds links to documents rather than a value: relations and media.
func (a *Attribute) IsRelation() bool { return a.Type == RelationType || a.Type == Media }

// IsStored reports whether a's value lives in the row: scalars, components and zones. Links live beside the rows.
func (a *Attribute) IsStored() bool { return !a.IsRelation() }

// IsScalar reports whether a is a stored value that is neither component nor zone; system attributes count.
func (a *Attribute) IsScalar() bool {
	return a.IsStored() && a.Type != ComponentType && a.Type != DynamicZone
}

// IsMorph reports whether a relation's other side may be of several types.
func (a *Attribute) IsMorph() bool { return a.Relation >= MorphToOne }

// ToMany reports whether a relation or media attribute holds a list.
func (a *Attribute) ToMany() bool {
	if a.Type == Media {
		return a.Multiple
	}
	switch a.Relation {
	case OneToMany, ManyToMany, MorphToMany, MorphMany:
		return true
	}
	return false
}

// HasDraftLinks reports whether a relation may have other links for drafts than for what is published: where its target has draft &
// publish, or its owner, or where it belongs to a component.
func (a *Attribute) HasDraftLinks() bool {
	if a.Mapped && a.Inverse != nil {
		a = a.Inverse
	}
	if a.Target == nil || a.Target.DraftAndPublish {
		return true
	}
	owner, ok := a.OwnerType()
	return !ok || owner.DraftAndPublish
}

// OwnerType is the content-type that a belongs to; ok is false for attributes of components.
func (a *Attribute) OwnerType() (t *ContentType, ok bool) { return a.Owner.typ, a.Owner.typ != nil }

// JSONKey returns the text before a's value in a JSON object, for any member but the first: ,"name":
// Names of attributes need no escaping.
func (a *Attribute) JSONKey() string { return a.jsonKey }
