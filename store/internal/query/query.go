package query

import (
	"strings"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A Query selects rows of one type. It is a plain value, which REST parameters and GraphQL arguments both become.
type Query struct {
	Type    *contenttypes.ContentType
	Status  format.Status
	Count   bool // whether to set Page.Total
	Locales LocaleSet
	Filter  Filter // nil: every row
	Sort    []SortKey
	Offset  int
	Limit   int    // negative: no limit
	Sight   *Sight // limits the targets that Sort leads through; nil: all are seen
}

// A Sight says what a reader sees of the documents that relations lead to. A document that is not seen is as if no link
// led to it.
type Sight struct {
	// StatusOf returns which versions of a type with draft & publish are shown behind rows that are shown in a status.
	// It never returns Draft for Published.
	StatusOf func(t *contenttypes.ContentType, rows format.Status) format.Status
	// Visible returns what a version of t in a status must meet to be seen; nil: all are seen.
	Visible func(t *contenttypes.ContentType, status format.Status) Filter
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

// Name returns the key as queries write it, such as owner.name:desc.
func (k SortKey) Name() string {
	names := make([]string, len(k.Path))
	for i, a := range k.Path {
		names[i] = a.Name
	}
	name := strings.Join(names, ".")
	if k.Desc {
		name += ":desc"
	}
	return name
}

// A Filter is a condition on a row, in the three-valued logic of SQL: a comparison with null is unknown, and unknown is
// never a match, also below Not. One of And, Or, Not, Compare, Through, Seen, Publication, Search,
// Unlinked.
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
	// target. As in an outer join, a row without targets has one target whose attributes are all null. If Filter is a
	// Seen, targets outside it are as if no link led to them.
	Through struct {
		Attr   *contenttypes.Attribute
		Filter Filter
	}
	// Seen limits the targets of the Through whose Filter it is to those that a reader sees. It has no meaning
	// elsewhere.
	Seen struct {
		Filter Filter // of the Through
		Sight  *Sight
	}
	// Publication holds for rows in a publication state (the parameter publicationFilter), and for those of types whose
	// drafts a Sight does not show.
	Publication struct {
		State PublicationState
		Sight *Sight // nil: the drafts of all types are shown
	}
	// Search holds if the text form of one of Attrs contains Text, ignoring case.
	Search struct {
		Text  string
		Attrs []*contenttypes.Attribute
	}
	// Unlinked holds for documents to which no link under one of Attrs leads, neither of a draft, nor of a published
	// version, nor of a component. Attrs own their relations, and lead to a type without localizations.
	Unlinked struct{ Attrs []*contenttypes.Attribute }
)

func (And) filter()         {}
func (Or) filter()          {}
func (Not) filter()         {}
func (Compare) filter()     {}
func (Through) filter()     {}
func (Seen) filter()        {}
func (Publication) filter() {}
func (Search) filter()      {}
func (Unlinked) filter()    {}

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
