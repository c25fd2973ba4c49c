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

// A plan is a compiled operation: the fields of its answer in order, with fragments inlined and @include and @skip applied. Only its
// bindings change.
type plan struct {
	doc   *language.Document
	op    *ast.OperationDefinition
	root  *selection
	slots int // how many fields are bound: see field.slot
	cost  int // of introspection
	// introspections is how many fields __schema there are.
	introspections int
	static         bool // no argument holds a variable: bindings depend on the caller alone
	custom         bool // code of a program runs for a field; see custom.go
	// fragments and operation are what resolvers see of the document, where the plan is custom.
	fragments map[string]source.Definition
	operation source.Definition

	bindings atomic.Pointer[[]boundFor] // of the last callers, where static
}

// A selection prints objects of one type.
type selection struct {
	typ    *language.Type
	object *schema.Object // nil for types of introspection
	fields []*field
	loads  []*field // those of fields that lead to rows, by field.load
	// plain holds the fields whose stored values are printed as they are, by their position in fields; runs says how many of them follow
	// from a position on.
	plain []store.Member
	runs  []int
	// hooks are the fields for which code of a program runs; deep says that there are such fields here or below.
	hooks []*field
	deep  bool
}

// A field is a field of an answer.
type field struct {
	name    string // in the answer
	key     []byte // "name":
	as      printing
	spec    *schema.FieldSpec // nil for those of introspection and __typename
	attr    *contenttypes.Attribute
	def     *ast.FieldDefinition
	node    *ast.Field
	nonNull bool
	items   bool // the items of a list are never null

	args []argument
	// fixed are the values of the arguments where none holds a variable.
	fixed   arguments
	isFixed bool
	slot    int // place of its binding in execution.bounds; -1: it has none
	load    int // its place in selection.loads; -1: it leads to no rows

	// subs are the selections of the objects that the field leads to: one for an object or a list; for a connection one for each field
	// nodes; for a union one for each member that is selected on.
	subs []*selection
	// of holds the fields of an object that is no row: a connection, its pageInfo, the payload of a mutation, introspection.
	of *selection
	// variants maps the types or components of a union to their place in subs.
	variants map[*contenttypes.Schema]int
	sub      int // of a field asNodes or asPart: its place among the subs of the field that it is part of

	// hooked fields are those of selection.hooks, hook is the place there; deep says that the field or one below it is hooked. A hooked
	// field other than a root is printed asCustom, and generated is its printing without the hook.
	hooked, deep bool
	hook         int
	generated    printing
	syntax       []*source.Field // how a hooked field stands in the document, in the form of graphql-go
}

// An argument of a field, which is evaluated when the field is bound.
type argument struct {
	def   *ast.ArgumentDefinition
	value *ast.Value // nil: not given
	// fixed is the value of an argument without variables: none or one.
	fixed   arguments
	isFixed bool
}

// printing says how a field is printed.
type printing uint8

const (
	asUnsupported printing = iota // no code answers it
	asTypename
	// Scalars of a row.
	asStored  // as they stand in the file
	asID      // a number as a string
	asLong    // a string as a number where JSON holds it exactly
	asInteger // as stored, if 32 bits hold it
	asEnum    // the name of a stored value
	asHidden  // null
	// What a row leads to.
	asOne
	asList
	asConnection
	asUnion     // one of several types
	asUnionList // several
	// A field for which code of a program runs.
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
	asIntrospection // a field below these
	asMutation
	asMe
	// Parts of what mutations answer with.
	asDeletedID
	asOK
	asJWT
	asPart // a user; field.sub is its place among the subs of the mutation
)
