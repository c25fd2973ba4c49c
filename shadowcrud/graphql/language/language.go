// Package language parses GraphQL documents, checks them against limits of size, and validates them against a schema.
// It also converts literals and variables to values. The errors have the messages and the order of those of graphql-js
// 16, which clients know.
//
// gqlparser parses the documents. Since its messages and positions differ from those of graphql-js, syntax.go rewords
// its syntax errors, and this package has its own rules of validation (validate.go and the files beside it). All work
// takes time in proportion to the size of the document with its fragments inlined; bounds.go checks this size before
// validation.
package language

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
)

// A Schema validates documents. It is immutable.
type Schema struct {
	spec         *schema.Schema
	ast          *ast.Schema
	types        map[string]*Type
	names        []string // of types, in the order of introspection
	Query        *Type
	Mutation     *Type // nil when there is none
	Subscription *Type // nil when there is none
	Roots        map[ast.Operation]*Type
}

// A Type is a type of a Schema, with an index of its fields by name.
type Type struct {
	*ast.Definition
	fields map[string]*ast.FieldDefinition
	values map[string]*ast.EnumValueDefinition
	// possible lists the object types that a value may have. For an object type, the list holds only the type itself.
	possible []*Type
}

// Field returns the field or input field of that name, or nil. It returns nil for __typename, too.
func (t *Type) Field(name string) *ast.FieldDefinition {
	if t == nil {
		return nil
	}
	return t.fields[name]
}

// New makes the Schema that validates documents against s.
func New(s *schema.Schema) *Schema {
	parsed := s.Tree
	l := &Schema{spec: s, ast: parsed, types: make(map[string]*Type, len(parsed.Types)),
		Roots: map[ast.Operation]*Type{}}
	for name, def := range parsed.Types {
		l.types[name] = newType(def)
	}
	for _, t := range l.types {
		for _, p := range parsed.GetPossibleTypes(t.Definition) {
			t.possible = append(t.possible, l.types[p.Name])
		}
		if t.Kind == ast.Object {
			t.possible = []*Type{t}
		}
	}
	l.names = typeNames(s, l.types)
	root := func(op ast.Operation, def *ast.Definition) *Type {
		if def == nil {
			return nil
		}
		l.Roots[op] = l.types[def.Name]
		return l.Roots[op]
	}
	l.Query = root(ast.Query, parsed.Query)
	l.Mutation = root(ast.Mutation, parsed.Mutation)
	l.Subscription = root(ast.Subscription, parsed.Subscription)
	return l
}

func newType(def *ast.Definition) *Type {
	t := &Type{Definition: def, fields: make(map[string]*ast.FieldDefinition, len(def.Fields))}
	for _, f := range def.Fields {
		t.fields[f.Name] = f
	}
	if def.Kind == ast.Enum {
		t.values = make(map[string]*ast.EnumValueDefinition, len(def.EnumValues))
		for _, v := range def.EnumValues {
			t.values[v.Name] = v
		}
	}
	return t
}

// introspectionTypes are the types that every schema has, in the order in which introspection lists them.
var introspectionTypes = []string{"__Schema", "__Type", "__TypeKind", "__Field", "__InputValue", "__EnumValue",
	"__Directive", "__DirectiveLocation"}

// typeNames lists all types in the order of introspection.
func typeNames(s *schema.Schema, types map[string]*Type) []string {
	var names []string
	for _, name := range s.TypeNames {
		if types[name] != nil && !strings.HasPrefix(name, "__") {
			names = append(names, name)
		}
	}
	return append(names, introspectionTypes...)
}

// Type returns the type of that name, or nil.
func (s *Schema) Type(name string) *Type { return s.types[name] }

// TypeNames lists all types in the order of introspection.
func (s *Schema) TypeNames() []string { return s.names }

// Directive returns the directive of that name, or nil.
func (s *Schema) Directive(name string) *ast.DirectiveDefinition { return s.ast.Directives[name] }

// of returns the named type beneath the lists and non-nulls of a type reference, nil if the schema has no such type.
func (s *Schema) of(t *ast.Type) *Type {
	if t == nil {
		return nil
	}
	return s.types[t.Name()]
}

// A Document is a GraphQL document that was parsed and is valid.
type Document struct {
	Operations ast.OperationList
	Fragments  map[string]*ast.FragmentDefinition
	Tokens     int // the number of its tokens

	source          *source
	fragments       ast.FragmentDefinitionList
	typeDefinitions []typeDefinition // type definitions in the document, which cannot be executed
}

// Parse parses and validates a document. It returns either the document or errors.
func (s *Schema) Parse(text string, l DocumentLimits) (*Document, []*Error) {
	d, errs, _ := s.ParseWithin(text, l, unlimited{}) // which has no error
	return d, errs
}

// unlimited is a Memory without a limit.
type unlimited struct{}

// Add implements jsontree.Memory.
func (unlimited) Add(int64) error { return nil }

// TreeBytes estimates the memory of the tree, and of what is made of it, for each token of a document.
const TreeBytes = 600

// ParseWithin is Parse, and asks for memory before it takes it. An error of memory is the last result.
func (s *Schema) ParseWithin(text string, l DocumentLimits, memory jsontree.Memory) (*Document, []*Error, error) {
	if err := memory.Add(int64(len(text)) + int64(min(len(text), l.Tokens))*tokenBytes); err != nil {
		return nil, nil, err
	}
	src, wrong := scan(text, l)
	if wrong != nil {
		return nil, []*Error{wrong}, nil
	}
	if err := memory.Add(int64(len(src.tokens)) * TreeBytes); err != nil {
		return nil, nil, err
	}
	d, errs := s.parse(src, l)
	return d, errs, nil
}

// parse parses and validates a document that was split into tokens.
func (s *Schema) parse(src *source, l DocumentLimits) (*Document, []*Error) {
	d, err := parse(src)
	if err != nil {
		return nil, []*Error{err}
	}
	if errs := s.validate(d, l); len(errs) > 0 {
		return nil, errs
	}
	d.Tokens = len(d.source.tokens)
	d.source.tokens = nil // only errors need them
	return d, nil
}

// Operation returns the operation of that name. Without a name (nil) there must be exactly one operation.
func (d *Document) Operation(name *string) (*ast.OperationDefinition, *Error) {
	switch {
	case name == nil && len(d.Operations) == 1:
		return d.Operations[0], nil
	case name == nil:
		return nil, &Error{Message: "Must provide operation name if query contains multiple operations.",
			Code: OperationResolution}
	}
	for _, op := range d.Operations {
		if op.Name == *name && op.Name != "" {
			return op, nil
		}
	}
	return nil, &Error{Message: `Unknown operation named "` + *name + `".`, Code: OperationResolution}
}

// Location is the line and column of a node of the document.
func (d *Document) Location(p *ast.Position) Location { return d.source.at(p.Start) }

// Includes reports whether a value of the object type o is one of t: o itself, or an interface or union that it belongs
// to.
func (t *Type) Includes(o *Type) bool {
	return t != nil && slices.Contains(t.possible, o)
}

// Possible are the object types that a value may have.
func (t *Type) Possible() []*Type { return t.possible }

// standardDirectives are those that every schema has, in the order of introspection.
var standardDirectives = []string{"include", "skip", "deprecated", "specifiedBy", "oneOf"}

// Directives lists all directives in the order of introspection.
func (s *Schema) Directives() []*ast.DirectiveDefinition {
	list := make([]*ast.DirectiveDefinition, 0, len(s.ast.Directives))
	for _, name := range standardDirectives {
		if d := s.ast.Directives[name]; d != nil {
			list = append(list, d)
		}
	}
	own := len(list)
	for name, d := range s.ast.Directives {
		if !slices.Contains(standardDirectives, name) {
			list = append(list, d)
		}
	}
	slices.SortFunc(list[own:], func(a, b *ast.DirectiveDefinition) int { return strings.Compare(a.Name, b.Name) })
	return list
}
