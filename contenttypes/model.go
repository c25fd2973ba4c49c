package contenttypes

import (
	"regexp"
	"slices"
	"strings"
)

// A Model holds all definitions of a project, checked and linked. It is immutable: any number of
// goroutines may read it.
type Model struct {
	Types      []*ContentType // sorted by UID, with built-in types
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

// A ContentType defines the attributes and options of one kind of document.
type ContentType struct {
	Schema
	Kind            Kind
	Singular        string // info.singularName
	Plural          string // info.pluralName
	DisplayName     string
	Description     string
	DraftAndPublish bool
	Localized       bool        // pluginOptions.i18n.localized
	BuiltIn         bool        // comes with Lectern (users, roles, files, …), not from the project
	Internal        bool        // built-in and never served by the generated APIs (API tokens, …)
	Preview         *PreviewURL // where a front end shows drafts; nil if the definition does not say
}

// PathName returns the name of the type in paths of the REST API: "articles" in /api/articles. It is in lower case.
func (t *ContentType) PathName() string {
	if t.Kind == SingleType {
		return t.Singular
	}
	return t.Plural
}

// A Component is a group of attributes that documents contain as one value.
type Component struct {
	Schema
	Category    string
	Name        string // file name without extension; the uid is Category.Name
	DisplayName string
}

// A Schema is the common part of content-types and components: a uid and attributes.
type Schema struct {
	UID string
	// Attributes are in the order in which responses print them. A content-type begins with the system attributes id
	// and documentId and ends with createdAt, updatedAt, publishedAt and, when localized, locale and localizations (a
	// computed relation from the type to itself, not stored). A component begins with id alone.
	Attributes []*Attribute

	byName map[string]*Attribute
	typ    *ContentType // set for content-types, nil for components
}

// Attribute returns the attribute with that name, which may be a system attribute, or nil.
func (s *Schema) Attribute(name string) *Attribute { return s.byName[name] }

// Holds reports whether inner is s, or the schema of components that may be in values of s, at any depth.
func (s *Schema) Holds(inner *Schema) bool {
	if s == inner {
		return true
	}
	for _, a := range s.Attributes {
		for _, c := range a.AllComponents() {
			if c.Holds(inner) {
				return true
			}
		}
	}
	return false
}

// Type is the type of an attribute. The table types holds the properties of each type. Stores keep the numbers, so add
// new types at the end.
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
	ID         // the system attribute id: an integer that the server assigns
	Locale     // the system attribute locale
)

// RelationKind is the value of the key relation.
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

	Required    bool
	Unique      bool
	Private     bool
	Localized   bool // marked as localized, or a relation or uid of a localized type
	Indexed     bool // has an index of its values
	TextIndexed bool // has an index of its text as well
	Default     any  // a jsontree value, in the form that responses use; nil if there is none
	HasDefault  bool

	Min, Max             *float64 // of a number, or of how many items a component or zone holds
	MinLength, MaxLength *int     // in UTF-16 units
	Regex                *regexp.Regexp
	RegexSource          string // as written in the definition, for messages
	Enum                 []string
	TargetField          string // of a uid: the attribute that it is made from
	Generate             bool   // of a uid: a document created without a value gets one made from TargetField

	// Relations. A media attribute is a one-way relation to plugin::upload.file. Its Relation is always ManyToMany;
	// Multiple says whether it holds several files, and ToMany agrees with Multiple.
	Relation RelationKind
	Target   *ContentType // nil for MorphToOne and MorphToMany
	// Inverse is the attribute on Target that shows the same links from the other side, nil for one-way relations.
	Inverse *Attribute
	// Mapped is true on the side that has mappedBy or morphBy. The links are stored under Inverse.
	Mapped       bool
	Multiple     bool     // of media: may hold several files
	AllowedTypes []string // of media

	// Components.
	Component  *Component   // of a component attribute
	Repeatable bool         // of a component attribute: holds a list
	Components []*Component // of a dynamic zone: the components that it may contain

	enumName string // returned by EnumName
}

// EnumName returns the name that the definition gives an enumeration in GraphQL, or "" when the server chooses it.
func (a *Attribute) EnumName() string { return a.enumName }

// IsRelation reports whether a is a relation or media attribute, which holds links to documents instead of a value.
func (a *Attribute) IsRelation() bool { return a.Type == RelationType || a.Type == Media }

// IsStored reports whether the row of a document holds a's value: a scalar, component or zone. Links are stored outside
// the row.
func (a *Attribute) IsStored() bool { return !a.IsRelation() }

// IsScalar reports whether a is a stored value that is neither a component nor a zone. System attributes other than
// localizations are scalars.
func (a *Attribute) IsScalar() bool {
	return a.IsStored() && a.Type != ComponentType && a.Type != DynamicZone
}

// IsInput reports whether descriptions of the API offer a to clients that write documents: every attribute that a
// definition lists, but for the digests of codes that the server itself stores with a user.
func (a *Attribute) IsInput() bool {
	isDigest := a.Owner.UID == UserUID && (a.Name == "resetPasswordToken" || a.Name == "confirmationToken")
	return !a.System && !isDigest
}

// NamesUser reports whether values of a are names of users: only callers who may find users see them.
func (a *Attribute) NamesUser() bool { return a.Name == "principalName" && a.Owner.UID == ScheduleUID }

// AllComponents returns the components that a value of a may hold: that of a component attribute, or those of a dynamic
// zone. It must not be changed.
func (a *Attribute) AllComponents() []*Component {
	if a.Component != nil {
		return []*Component{a.Component}
	}
	return a.Components
}

// ComponentNamed returns the component with a uid that a value of a may hold, nil if it may hold none. A component
// attribute holds one component, whatever the uid.
func (a *Attribute) ComponentNamed(uid string) *Component {
	if a.Component != nil {
		return a.Component
	}
	for _, c := range a.Components {
		if c.UID == uid {
			return c
		}
	}
	return nil
}

// ComponentNames lists the uids of the components that a dynamic zone may hold, with commas between them.
func (a *Attribute) ComponentNames() string {
	names := make([]string, len(a.Components))
	for i, c := range a.Components {
		names[i] = c.UID
	}
	return strings.Join(names, ", ")
}

// IsUnique reports whether two published versions of one locale must not have the same value of a.
func (a *Attribute) IsUnique() bool { return !a.System && a.IsScalar() && (a.Unique || a.Type == UID) }

// IsPerLocale reports whether each localization of a document has its own value of a. This holds for localized and
// system attributes, and for relations and uids even if they are not marked as localized.
func (a *Attribute) IsPerLocale() bool {
	return a.System || a.Localized || a.Type == UID || a.Type == RelationType
}

// UniquePaths lists the paths of attributes from a type to its unique attributes, those in components included.
func (t *ContentType) UniquePaths() (paths [][]*Attribute) {
	for _, a := range t.Attributes {
		if a.IsUnique() {
			paths = append(paths, []*Attribute{a})
		}
		paths = append(paths, a.UniquePaths()...)
	}
	return paths
}

// PathName names a path of attributes of a type: parts.quote.code for the attribute code of the component quote in the
// zone parts. Other paths of the type have other names.
func PathName(attrs []*Attribute) string {
	var b strings.Builder
	for i, a := range attrs {
		if zone := i > 0 && attrs[i-1].Type == DynamicZone; zone {
			b.WriteString("." + a.Owner.UID)
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(a.Name)
	}
	return b.String()
}

// UniquePaths lists the ways from a component attribute or dynamic zone to the unique attributes in its components, at
// any depth. Each way begins with a, leads through attributes of components and ends with a unique one. Values at the
// end of one way must differ among the documents of a type.
func (a *Attribute) UniquePaths() (paths [][]*Attribute) {
	for _, c := range a.AllComponents() {
		for _, b := range c.Attributes {
			if b.IsUnique() {
				paths = append(paths, []*Attribute{a, b})
			}
			for _, inner := range b.UniquePaths() {
				paths = append(paths, append([]*Attribute{a}, inner...))
			}
		}
	}
	return paths
}

// AllowsFile reports whether a media attribute takes files of a MIME type. Of the words in AllowedTypes, files are all
// that are no images, videos or audios.
func (a *Attribute) AllowsFile(mime string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(mime), "/")
	switch kind += "s"; kind {
	case "images", "videos", "audios":
	default:
		kind = "files"
	}
	return len(a.AllowedTypes) == 0 || slices.Contains(a.AllowedTypes, kind)
}

// TargetSchema returns the schema of the targets of a relation or media attribute, or of the items of a component
// attribute. It is nil where these may have several schemas (dynamic zones, polymorphic relations), and for scalars.
func (a *Attribute) TargetSchema() *Schema {
	switch {
	case a.Target != nil:
		return &a.Target.Schema
	case a.Component != nil:
		return &a.Component.Schema
	}
	return nil
}

// IsMorph reports whether the relation may point to, or be pointed to from, documents of several types.
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

// HasDraftLinks reports whether a relation may have other links in a draft than in its published version. It may if its
// target or its owner has draft & publish, or if its owner is a component.
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

// OwnerType returns the content-type that a belongs to; ok is false for attributes of components.
func (a *Attribute) OwnerType() (t *ContentType, ok bool) { return a.Owner.typ, a.Owner.typ != nil }

// JSONKey returns the key of a with a leading comma and a colon, as printed in a JSON object: `,"name":`. The name
// needs no escaping.
func (a *Attribute) JSONKey() string { return a.jsonKey }
