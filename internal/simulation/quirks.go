package simulation

// Quirks are faults of a server that the generator steers clear of, or that the evaluator reproduces, so that the rest can
// still be compared. Lectern has none of them.
type Quirks struct {
	SearchLeaks              bool // _q looks into private strings, minds case, and _ is a wildcard in it
	NoNestedLists            bool // populate[a][populate]=b,c is refused
	OneWayLosesDrafts        bool // a one-way link to a draft is not shown when that is published
	TakeoverReachesPublished bool // a draft that takes a target over also takes it from a published row
	JoinsAllVersions         bool // filters from types without drafts see drafts under published
	ASCIICase                bool // only ASCII letters are folded
	NumbersAsSQL             bool // text forms of numbers, booleans and times are SQLite's
	NotInRelation            bool // $not inside a relation fails, and keys beside $and and $or do, or hide them
	LocalizationsFilter      bool // filters[localizations] sees the row itself and drafts; populate of it fails with locale=*
	SyncsPublishedOnly       bool // publishing syncs shared values to published rows alone, and not always
	SmallBigIntegers         bool // digits above 2^53 are lost
	OddJSON                  bool // json numbers and booleans change
	OrderMixesVersions       bool // positions are taken among drafts and published rows; a to-one connected to another locale keeps the old one
	OneLosesFilters          bool // a condition on documentId in a single read is lost
	NoActions                bool // no routes for publish, unpublish, discard-draft
	SelfLinksLost            bool // links of a document to itself are lost in the published version

	// In GraphQL.
	EmptyListsLost       bool // in: [] and the like ask nothing
	ListsWithinOperators bool // and and or of a scalar's filter fail
	JSONByText           bool // conditions on json beside contains and null are lost
	MomentsInLists       bool // in, notIn and between of datetimes are lost
	NullPagination       bool // pagination: null fails
	PasswordsShown       bool // a password can be selected and shows its hash
	DeleteLosesLocale    bool // delete takes the default locale, whichever is asked for
	NullLimit            bool // limit: null beside a start is a limit of 1
	NullHasVersion       bool // hasPublishedVersion: null asks relations for what was never published
	NestedSortFails      bool // a relation's sort that leads through others fails
	NegativePages        bool // pageInfo of what is asked for past the end without a limit
	NoAmountLimit        bool // a list may be as long as it asks for
	FaultsUnordered      bool // errors come in the order in which their work ended
	OpenComponents       bool // relations in components are not checked for permission
}

// ReferenceQuirks are those of the reference server.
var ReferenceQuirks = Quirks{
	SearchLeaks: true, OneWayLosesDrafts: true, TakeoverReachesPublished: true, JoinsAllVersions: true, ASCIICase: true,
	NumbersAsSQL: true, NotInRelation: true, LocalizationsFilter: true, SyncsPublishedOnly: true, SmallBigIntegers: true,
	OddJSON: true, NoActions: true, SelfLinksLost: true, NoNestedLists: true, OrderMixesVersions: true, OneLosesFilters: true,
	EmptyListsLost: true, ListsWithinOperators: true, JSONByText: true, MomentsInLists: true, NullPagination: true, PasswordsShown: true,
	DeleteLosesLocale: true, FaultsUnordered: true, NestedSortFails: true, NegativePages: true, NoAmountLimit: true,
	NullLimit: true, NullHasVersion: true, OpenComponents: true,
}
