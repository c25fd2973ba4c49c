package query

import (
	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A Query selects rows of one type. It is a plain value, which REST parameters and GraphQL arguments both become.
type Query struct {
	Type    *contenttypes.ContentType
	Status  format.Status
	Locales LocaleSet
	Filter  Filter // nil: every row
	Sort    []SortKey
	Offset  int
	Limit   int  // negative: no limit
	Count   bool // whether to set Page.Total
}

// A LocaleSet says in which locales a query looks. It has no effect on types that are not localized.
type LocaleSet struct {
	All   bool
	Codes []string
}

// A SortKey orders rows by the scalar attribute at the end of Path; the attributes before it are relations and
// components. Null comes first in ascending order and last in descending order. If the path leads to several values,
// the least counts in ascending order and the greatest in descending order.
type SortKey struct {
	Path []*contenttypes.Attribute
	Desc bool
}

// A Filter is a condition on a row, in the three-valued logic of SQL: a comparison with null is unknown, and unknown is
// never a match, also below Not. One of And, Or, Not, Compare, Through, Publication, Search.
type Filter interface{ filter() }

type (
	// And holds if all its filters hold; an empty And always holds.
	And []Filter
	// Or holds if one of its filters holds; an empty Or never holds.
	Or []Filter
	// Not holds if its filter is false. Not around a Through holds if the condition is false for some target.
	Not struct{ Filter Filter }
	// Compare compares a scalar attribute of the row with values.
	Compare struct {
		Attr *contenttypes.Attribute
		Op   Op
		// Values holds one value, for Between two, for In and NotIn any number, for Null and NotNull none. A value is
		// nil (null), bool, float64 (id, integer, float, decimal), int64 (biginteger), or string: texts as they are,
		// date yyyy-MM-dd, time HH:mm:ss.SSS, datetime yyyy-MM-ddTHH:mm:ss.SSSZ, json its JSON text. The LIKE-like
		// operators (Contains … EndsWithI) take a string for every type and look at the text form.
		Values []any
	}
	// Through follows a relation, media, component or localizations attribute and holds if Filter holds for some
	// target. As in an outer join, a row without targets has one target whose attributes are all null.
	Through struct {
		Attr   *contenttypes.Attribute
		Filter Filter
	}
	// Publication holds for rows in a publication state (the parameter publicationFilter).
	Publication struct{ State PublicationState }
	// Search holds if the text form of one of Attrs contains Text, ignoring case.
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

// An Op is a comparison operator.
type Op uint8

// Operators.
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

// Publication states.
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
