package execution

import (
	"sync/atomic"

	source "github.com/graphql-go/graphql/language/ast"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A plan is a compiled operation: the fields of its answer in order, with fragments inlined and @include and @skip applied. It never
// changes, except for its cache of bindings.
type plan struct {
	doc   *language.Document
	op    *ast.OperationDefinition
	root  *selection
	slots int // how many fields have bindings: see field.slot
	cost  int // the cost of the introspection in the operation, in objects
	// introspections is the number of fields __schema.
	introspections int
	static         bool // no argument holds a variable: bindings depend on the caller alone
	custom         bool // has custom fields; see custom.go
	// fragments and operation are the document as resolvers see it; set only if the plan is custom.
	fragments map[string]source.Definition
	operation source.Definition

	cached atomic.Pointer[[]callerBindings] // of the last callers, where static
}

// A selection prints objects of one type.
type selection struct {
	typ    *language.Type
	object *schema.Object // nil for types of introspection
	fields []*field
	loads  []*field // the fields with related rows, indexed by field.load
	// plain holds the fields whose stored values are printed unchanged, by index in fields; runs[i] is how many of them follow each other from
	// index i on.
	plain []store.Member
	runs  []int
	// hooks are the custom fields; deep says that there are custom fields here or below.
	hooks []*field
	deep  bool
}

// A field is a compiled field of the answer: which value it prints, and how.
type field struct {
	name    string // in the answer
	key     []byte // the member name as printed, with quotes and colon
	as      printing
	spec    *schema.FieldSpec // nil for fields of introspection and __typename
	attr    *contenttypes.Attribute
	def     *ast.FieldDefinition
	node    *ast.Field
	nonNull bool
	items   bool // the items of a list are never null

	args []argument
	// fixed are the values of the arguments where none holds a variable.
	fixed   arguments
	isFixed bool
	slot    int // index of its binding in execution.bindings; -1: it has none
	load    int // index in selection.loads; -1: it has no related rows

	// subs are the selections on the rows of the field: one for an object or a list; for a connection one for each field nodes; for a change
	// one for each field document; for a union one for each member.
	subs []*selection
	// of holds the fields of an object that is not a row: a connection, its pageInfo, the payload of a mutation, a change, introspection.
	of *selection
	// variants maps the content-types or components of a union to their index in subs.
	variants map[*contenttypes.Schema]int
	sub      int // for a field printed asNodes or asPart: its index in subs of the connection or payload

	// hooked says that the field is custom: it is selection.hooks[hook]. deep says that the field or one below it is custom. A custom field
	// other than a root is printed asCustom; generated is how it would be printed if it were not custom.
	hooked, deep bool
	hook         int
	generated    printing
	syntax       []*source.Field // nodes of a custom field in the document, for resolvers
}

// An argument is a compiled argument of a field.
type argument struct {
	def   *ast.ArgumentDefinition
	value *ast.Value // nil: not given
	// fixed holds the value of an argument without variables, and is empty if such an argument is absent.
	fixed   arguments
	isFixed bool
}

// A printing says how a field is printed.
type printing uint8

const (
	asUnsupported printing = iota // an error, since the engine cannot answer it
	asTypename
	// Scalars of a row.
	asStored  // the stored JSON
	asID      // a number as a string
	asLong    // a string as a number where JSON holds it exactly
	asInteger // the stored integer, or an error if it does not fit in 32 bits
	asEnum    // the name of a stored value
	asUser    // the stored name of a user, or an error if the caller may not find users
	asHidden  // null
	// Rows related to a row.
	asOne
	asList
	asConnection
	asUnion     // one row, of one of several types
	asUnionList // a list of such rows
	// A custom field.
	asCustom
	// Parts of connections.
	asNodes
	asPageInfo
	asPageTotal
	asPageNumber
	asPageSize
	asPageCount
	// Root fields.
	asRootOne
	asRootSingle
	asRootList
	asRootConnection
	asSchema
	asType
	asIntrospection // a field below __schema or __type
	asMutation
	asMe
	// Parts of the payloads of mutations.
	asDeletedID
	asOK
	asJWT
	asPart // a user; field.sub is its index among the subs of the mutation
	// A field of Subscription, and parts of its payload; asPart is the document.
	asChange
	asChangeKind
	asChangeDocumentID
	asChangeLocale
	asChangeSeq
	asChangeTime
)
