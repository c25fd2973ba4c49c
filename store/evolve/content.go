package evolve

import "lectern/contenttypes"

// Content is stored content, read under the definitions of a catalog. The types and attributes in its parameters are
// those of its Model.
type Content interface {
	Model() *contenttypes.Model
	// IsEmpty reports whether a type has no documents.
	IsEmpty(*contenttypes.ContentType) bool
	// Documents counts the documents of a type.
	Documents(*contenttypes.ContentType) int
	// FirstDocument returns the documentId of the oldest document of a type.
	FirstDocument(*contenttypes.ContentType) (documentID string)
	// Document returns the number of a document of a type; ok is false if there is none with this documentId.
	Document(t *contenttypes.ContentType, documentID string) (number uint64, ok bool)
	// EachLocale calls f with each locale in which a type has versions, and with their number.
	EachLocale(t *contenttypes.ContentType, f func(code string, versions int))
	// Drafts counts the drafts of a type without a published version, and those that differ from it in one of the
	// compared attributes.
	Drafts(t *contenttypes.ContentType, compared []*contenttypes.Attribute) (unpublished, different int)
	// CountLinks counts the links of an owning attribute, and those that break a rule.
	CountLinks(*contenttypes.Attribute, LinkRule) LinkCounts
	// Survey answers questions. It reads the rows of each type once, however many questions there are.
	Survey([]*Question)
}

// A Question asks how many versions hold a certain value in an attribute, which may belong to the type or to a
// component in the version.
type Question struct {
	Attr *contenttypes.Attribute
	// Concerns reports whether to count a value.
	Concerns func(Value) bool
	// Conclude is called with the number of versions that hold a counted value.
	Conclude func(versions int)
}

// A Value is the value of one attribute in a version, or in a component of a version.
type Value interface {
	// Exists reports whether the value is not null.
	Exists() bool
	// JSON returns the JSON of a scalar, nil if it is null.
	JSON() []byte
	// Text returns the text of a scalar whose JSON is a string.
	Text() string
	// Components lists the components in a component attribute or dynamic zone.
	Components() []*contenttypes.Component
	// IsShared reports whether the version has the same value as the localization of its document in locale or, if
	// there is none, as the first localization.
	IsShared(locale string) bool
}

// A LinkRule says which links an attribute may have.
type LinkRule struct {
	Target  string // the uid of the type that they must lead to; "" allows any
	One     bool   // each document or component may have one at most
	OneBack bool   // each target may have one at most
}

// LinkCounts counts the links of an attribute, and those that break a LinkRule.
type LinkCounts struct {
	Links   int // all links, in the link set that has more
	Foreign int // links that lead to another type
	From    int // documents and components with more links than One allows
	To      int // targets with more links than OneBack allows
}
