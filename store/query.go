package store

import "lectern/contenttypes"

// Status is which version of a document is meant. Types without draft & publish have published rows only.
type Status uint8

const (
	Published Status = iota
	Draft
)

// A Query asks for rows of one type: a plain value, made from REST parameters and from GraphQL selections alike.
type Query struct {
	Type    *contenttypes.ContentType
	Status  Status
	Locales LocaleSet
	Filter  Filter // nil: every row
	Sort    []SortKey
	Offset  int
	Limit   int  // negative: no limit
	Count   bool // whether Page.Total is wanted
}

// A LocaleSet says which localizations are looked at. It has no effect on types that are not localized.
type LocaleSet struct {
	All   bool
	Codes []string
}

// A SortKey orders rows by the scalar attribute at the end of Path, which leads there through relations and components.
// Null comes first ascending and last descending; through a list the least value counts ascending, the greatest descending.
type SortKey struct {
	Path []*contenttypes.Attribute
	Desc bool
}

// A Filter is a condition on a row, in the three-valued logic of SQL: a comparison with null is unknown, and unknown is
// never a match, also below Not. One of And, Or, Not, Compare, Through, Publication, Search.
type Filter interface{ filter() }

type (
	// And holds when all of it do; the empty And always does.
	And []Filter
	// Or holds when one of it does; the empty Or never does.
	Or []Filter
	// Not negates. Around a Through it means: some target for which the condition is false.
	Not struct{ Filter Filter }
	// Compare compares a scalar attribute of the row at hand.
	Compare struct {
		Attr *contenttypes.Attribute
		Op   Op
		// Values holds one value, for Between two, for In and NotIn any number, for Null and NotNull none. A value is nil
		// (null), bool, float64 (id, integer, float, decimal), int64 (biginteger), or string: texts as they are, date
		// yyyy-MM-dd, time HH:mm:ss.SSS, datetime yyyy-MM-ddTHH:mm:ss.SSSZ, json its JSON text.
		// The LIKE-like operators (Contains … EndsWithI) take a string for every type and look at the text form.
		Values []any
	}
	// Through follows a relation, media, component or localizations: it holds when Filter does for some target. A row
	// without targets is joined with one whose every attribute is null, as by an outer join.
	Through struct {
		Attr   *contenttypes.Attribute
		Filter Filter
	}
	// Publication holds for rows in a state of publication (the parameter publicationFilter).
	Publication struct{ State PublicationState }
	// Search holds when Text is found, ignoring case, in the text form of one of Attrs.
	Search struct {
		Text  string
		Attrs []*contenttypes.Attribute
	}
)

func (And) filter()         {}
func (Or) filter()          {}
func (Not) filter()         {}
func (Compare) filter()     {}
func (Through) filter()     {}
func (Publication) filter() {}
func (Search) filter()      {}

// Op is a comparison.
type Op uint8

const (
	Eq  Op = iota // exact; with a nil value: is null
	EqI           // ignoring case
	Ne            // with a nil value: is not null
	NeI
	In
	NotIn
	Lt
	Lte
	Gt
	Gte
	Between // inclusive
	Contains
	ContainsI
	NotContains
	NotContainsI
	StartsWith
	StartsWithI
	EndsWith
	EndsWithI
	Null
	NotNull
)

// PublicationState is a value of the parameter publicationFilter.
type PublicationState uint8

const (
	NeverPublished PublicationState = iota
	HasPublishedVersion
	Modified
	Unmodified
	NeverPublishedDocument
	HasPublishedVersionDocument
	PublishedWithoutDraft
	PublishedWithDraft
)
