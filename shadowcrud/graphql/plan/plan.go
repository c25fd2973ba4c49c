// Package plan compiles a GraphQL operation to a plan: the fields of its answer in order, and how each of them is
// printed.
//
// A plan has fragments inlined and @include and @skip applied. It knows nothing of requests: package binding adds the
// values of variables and the permissions of callers, and package execution runs it. Plans never change, so requests
// share them.
package plan

import (
	"slices"

	source "github.com/graphql-go/graphql/language/ast"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A Plan is a compiled operation.
type Plan struct {
	Doc   *language.Document
	Op    *ast.OperationDefinition
	Root  *Selection // the root fields
	Slots int        // how many fields have bindings: see Field.Slot

	Cost           int  // the cost of the introspection in the operation, in objects
	Introspections int  // the number of fields __schema
	Static         bool // no argument holds a variable: bindings depend on the caller alone
	Custom         bool // the operation has custom fields; see Field.Custom

	// Fragments and Operation are the document as resolvers see it; set only if the plan is custom.
	Fragments map[string]source.Definition
	Operation source.Definition
}

// A Selection prints objects of one type.
type Selection struct {
	Type   *language.Type
	Object *schema.Object // nil for types of introspection
	Fields []*Field
	Loads  []*Field // the fields with related rows, indexed by Field.Load
	// Stored holds the fields whose stored values are printed unchanged, by index in Fields; Runs[i] is how many of
	// them follow each other from index i on.
	Stored []store.Member
	Runs   []int

	Custom    []*Field // the custom fields, indexed by Field.CustomIndex
	HasCustom bool     // there are custom fields here or below
}

// A Field is a compiled field of the answer: which value it prints, and how.
type Field struct {
	Name         string // in the answer
	Key          []byte // the member name as printed, with quotes and colon
	As           Printing
	Spec         *schema.FieldSpec // nil for fields of introspection and __typename
	Attr         *contenttypes.Attribute
	Def          *ast.FieldDefinition
	Node         *ast.Field
	NonNull      bool
	NonNullItems bool // the items of a list are never null

	Args    []argument
	fixed   Arguments // the values of the arguments where none holds a variable
	isFixed bool

	Slot int // index of its binding among those of the plan; -1: it has none
	Load int // index in Selection.Loads; -1: it has no related rows

	// Subs are the selections on the rows of the field: one for an object or a list; for a connection one for each
	// field nodes; for a change one for each field document; for a union one for each member.
	Subs []*Selection
	// Parts holds the fields of an object that is not a row: a connection, its pageInfo, the payload of a mutation, a
	// change, introspection.
	Parts *Selection
	Sub   int // for a field printed AsNodes or AsPart: its index in Subs of the connection or payload
	// Variants maps the content-types or components of a union to their index in Subs.
	Variants map[*contenttypes.Schema]int

	// Custom says that code of a program takes part in answering the field: a resolver, policy or middleware. HasCustom
	// says that this holds for the field or one below it. A custom field other than a root is printed AsCustom; see
	// Generated.
	Custom, HasCustom bool
	CustomIndex       int // index of a custom field in Selection.Custom
	generated         Printing
	Syntax            []*source.Field // nodes of a custom field in the document, for resolvers
}

// Generated returns how the field would be printed if it were not custom.
func (f *Field) Generated() Printing {
	if f.As == AsCustom {
		return f.generated
	}
	return f.As
}

// Counts reports whether a connection needs the total number of its documents.
func (f *Field) Counts() bool {
	return slices.ContainsFunc(f.Parts.Fields, func(part *Field) bool { return part.Generated() == AsPageInfo })
}

// SelectionOf returns the selection of the field on a type, nil if the field cannot return that type.
func (f *Field) SelectionOf(o *schema.Object) *Selection {
	if f.Parts != nil && f.Parts.Object == o {
		return f.Parts
	}
	for _, s := range f.Subs {
		if s.Object == o {
			return s
		}
	}
	return nil
}

// A Printing says how a field is printed.
type Printing uint8

const (
	AsUnsupported Printing = iota // an error, since the engine cannot answer it
	AsTypename
	// Scalars of a row.
	AsStored  // the stored JSON
	AsID      // a number as a string
	AsLong    // a string as a number where JSON holds it exactly
	AsInteger // the stored integer, or an error if it does not fit in 32 bits
	AsEnum    // the name of a stored value
	AsUser    // the stored name of a user, or an error if the caller may not find users
	AsHidden  // null
	// Rows related to a row.
	AsOne
	AsList
	AsConnection
	AsUnion     // one row, of one of several types
	AsUnionList // a list of such rows
	// A custom field.
	AsCustom
	// Parts of connections.
	AsNodes
	AsPageInfo
	AsPageTotal
	AsPageNumber
	AsPageSize
	AsPageCount
	// Root fields.
	AsRootOne
	AsRootSingle
	AsRootList
	AsRootConnection
	AsSchema
	AsType
	asIntrospection // a field below __schema or __type
	AsMutation
	AsMe
	// Parts of the payloads of mutations.
	AsDeletedID
	AsOK
	AsJWT
	AsPart // a user; Field.Sub is its index among the Subs of the mutation
	// A field of Subscription, and parts of its payload; AsPart is the document.
	AsChange
	AsChangeKind
	AsChangeDocumentID
	AsChangeLocale
	AsChangeSeq
	AsChangeTime
)
