package evolve

import "lectern/contenttypes"

// Content is stored content, seen under the definitions of a catalog. Types and attributes that it is asked about are those of its Model.
type Content interface {
	Model() *contenttypes.Model
	// IsEmpty reports whether a type has no version.
	IsEmpty(*contenttypes.ContentType) bool
	// Documents is how many documents a type has.
	Documents(*contenttypes.ContentType) int
	// FirstDocument is the documentId of the oldest document of a type.
	FirstDocument(*contenttypes.ContentType) (documentID string)
	// Document is the number of a document of a type; ok is false where there is none with this documentId.
	Document(t *contenttypes.ContentType, documentID string) (number uint64, ok bool)
	// EachLocale calls f with the locales in which a type has versions.
	EachLocale(t *contenttypes.ContentType, f func(code string, versions int))
	// Drafts counts the drafts of a type that have no published version, and those that differ from it in one of the attributes.
	Drafts(t *contenttypes.ContentType, compared []*contenttypes.Attribute) (unpublished, different int)
	// CountLinks goes through the links of an owning attribute and counts those that do not fit a rule.
	CountLinks(*contenttypes.Attribute, LinkRule) LinkCounts
	// Survey answers questions in one pass over the rows of each type that they are about.
	Survey([]*Question)
}

// A Question asks how many versions hold a value that a function looks for, under an attribute of their type or of components in them.
type Question struct {
	Attr *contenttypes.Attribute
	// Concerns reports whether a value is one of those.
	Concerns func(Value) bool
	// Conclude is told how many versions have such a value.
	Conclude func(versions int)
}

// A Value is what a record, a version or a component in one, holds under an attribute.
type Value interface {
	// Exists reports whether there is a value that is not null.
	Exists() bool
	// JSON is that of a scalar, nil where it is null.
	JSON() []byte
	// Text is the text of a scalar whose JSON is a string.
	Text() string
	// Components are those in a component attribute or dynamic zone, in their order.
	Components() []*contenttypes.Component
	// IsShared reports whether the version has the same value as the localization of its document that is in the locale or, where
	// there is none, as the document's first.
	IsShared(locale string) bool
}

// A LinkRule says which links an attribute may have.
type LinkRule struct {
	Target  string // the uid of the type that they lead to; "" is any
	One     bool   // each document or component has one at most
	OneBack bool   // each target has one at most
}

// LinkCounts says what of an attribute's links does not fit a LinkRule.
type LinkCounts struct {
	Links   int // all, in the plane that has more
	Foreign int // that lead to another type
	From    int // documents and components that have more than one and should not
	To      int // targets that have more than one and should not
}

// Holds reports whether records of a schema are, or may have in them, records of another.
func Holds(s, inner *contenttypes.Schema) bool {
	if s == inner {
		return true
	}
	for _, a := range s.Attributes {
		if a.Component != nil && Holds(&a.Component.Schema, inner) {
			return true
		}
		for _, c := range a.Components {
			if Holds(&c.Schema, inner) {
				return true
			}
		}
	}
	return false
}
