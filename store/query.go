package store

import (
	"lectern/store/internal/format"
	"lectern/store/internal/plan"
)

// A Status distinguishes the draft of a document from its published version. Types without draft & publish have published rows only.
type Status = format.Status

const (
	Published = format.Published
	Draft     = format.Draft
)

// A Query selects rows of one type. It is a plain value, which REST parameters and GraphQL arguments both become.
type Query = plan.Query

// A LocaleSet says in which locales a query looks. It has no effect on types that are not localized.
type LocaleSet = plan.LocaleSet

// A SortKey orders rows by the scalar attribute at the end of its path.
type SortKey = plan.SortKey

// A Filter is a condition on a row, in the three-valued logic of SQL: a comparison with null is unknown, and unknown is
// never a match, also below Not. One of And, Or, Not, Compare, Through, Publication, Search.
type Filter = plan.Filter

// Filters.
type (
	And         = plan.And
	Or          = plan.Or
	Not         = plan.Not
	Compare     = plan.Compare
	Through     = plan.Through
	Publication = plan.Publication
	Search      = plan.Search
)

// An Op is a comparison operator.
type Op = plan.Op

// Operators.
const (
	Eq           = plan.Eq
	EqI          = plan.EqI
	Ne           = plan.Ne
	NeI          = plan.NeI
	In           = plan.In
	NotIn        = plan.NotIn
	Lt           = plan.Lt
	Lte          = plan.Lte
	Gt           = plan.Gt
	Gte          = plan.Gte
	Between      = plan.Between
	Contains     = plan.Contains
	ContainsI    = plan.ContainsI
	NotContains  = plan.NotContains
	NotContainsI = plan.NotContainsI
	StartsWith   = plan.StartsWith
	StartsWithI  = plan.StartsWithI
	EndsWith     = plan.EndsWith
	EndsWithI    = plan.EndsWithI
	Null         = plan.Null
	NotNull      = plan.NotNull
)

// A PublicationState is a value of the parameter publicationFilter.
type PublicationState = plan.PublicationState

// Publication states.
const (
	NeverPublished              = plan.NeverPublished
	HasPublishedVersion         = plan.HasPublishedVersion
	Modified                    = plan.Modified
	Unmodified                  = plan.Unmodified
	NeverPublishedDocument      = plan.NeverPublishedDocument
	HasPublishedVersionDocument = plan.HasPublishedVersionDocument
	PublishedWithoutDraft       = plan.PublishedWithoutDraft
	PublishedWithDraft          = plan.PublishedWithDraft
)
