package answers

// Quirks are faults of a server that the generator avoids or the evaluator reproduces, so that everything else can be
// compared. Lectern has none of them.
type Quirks struct {
	SearchLeaks              bool // _q searches private strings, is case-sensitive, and treats _ as a wildcard
	NoNestedLists            bool // populate[a][populate]=b,c is refused
	OneWayLosesDrafts        bool // publishing the target does not show a one-way link to its draft
	TakeoverReachesPublished bool // a draft that takes over the target of another document also takes it from a published row
	JoinsAllVersions         bool // filters on types without drafts see the drafts of published documents
	ASCIICase                bool // case folding covers ASCII letters only
	NumbersAsSQL             bool // numbers, booleans and times have the text forms of SQLite
	NotInRelation            bool // $not inside a relation fails, and keys beside $and and $or fail or are ignored
	LocalizationsFilter      bool // filters[localizations] sees the row itself and drafts; populating it fails with locale=*
	SyncsPublishedOnly       bool // publishing copies shared values to published rows only, and not always
	SmallBigIntegers         bool // digits beyond 2^53 are lost
	OddJSON                  bool // numbers and booleans in json attributes change
	OrderMixesVersions       bool // positions are counted across drafts and published rows; a to-one relation connected to another locale keeps the old one
	OneLosesFilters          bool // a single read ignores a condition on documentId
	NoActions                bool // no routes for publish, unpublish and discard-draft
	SelfLinksLost            bool // the published version loses links of a document to itself

	// Quirks of GraphQL.
	EmptyListsLost       bool // an empty list, such as in: [], is no condition
	ListsWithinOperators bool // and and or inside the filter of a scalar fail
	JSONByText           bool // conditions on json other than contains and null are ignored
	MomentsInLists       bool // in, notIn and between on datetimes are ignored
	NullPagination       bool // pagination: null fails
	PasswordsShown       bool // a password can be selected and shows its hash
	DeleteLosesLocale    bool // delete always deletes the default locale
	NullLimit            bool // limit: null beside a start means a limit of 1
	NullHasVersion       bool // hasPublishedVersion: null selects unpublished targets of relations
	NestedSortFails      bool // a relation's sort that leads through other relations fails
	NegativePages        bool // pageInfo has negative numbers past the end if there is no limit
	NoAmountLimit        bool // the limit of the length of lists (maxLimit) is ignored
	ErrorsUnordered      bool // errors come in the order in which resolvers end
	OpenComponents       bool // relations in components are not checked for permission
}

// ReferenceQuirks are the quirks of the reference server.
var ReferenceQuirks = Quirks{
	SearchLeaks: true, OneWayLosesDrafts: true, TakeoverReachesPublished: true, JoinsAllVersions: true, ASCIICase: true,
	NumbersAsSQL: true, NotInRelation: true, LocalizationsFilter: true, SyncsPublishedOnly: true,
	SmallBigIntegers: true,
	OddJSON:          true, NoActions: true, SelfLinksLost: true, NoNestedLists: true, OrderMixesVersions: true,
	OneLosesFilters: true,
	EmptyListsLost:  true, ListsWithinOperators: true, JSONByText: true, MomentsInLists: true, NullPagination: true,
	PasswordsShown:    true,
	DeleteLosesLocale: true, ErrorsUnordered: true, NestedSortFails: true, NegativePages: true, NoAmountLimit: true,
	NullLimit: true, NullHasVersion: true, OpenComponents: true,
}
