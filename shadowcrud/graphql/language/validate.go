package language

import (
	"slices"
	"sort"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
)

// maxErrors is how many errors of a document are reported.
const maxErrors = 100

// A validator checks a document by the rules of the specification. It visits the nodes in the order of the document and
// checks each by the rules in the order of graphql-js, so that it reports errors in the same order as graphql-js.
type validator struct {
	schema *Schema
	doc    *Document
	limits DocumentLimits
	errors []*Error

	stopped bool // a limit was exceeded
	cyclic  bool // a fragment spreads itself
	silent  bool // reports nothing: a fragment is visited only to find what it uses

	current      *definition
	definitions  map[string]*definition // of the fragments that were visited
	usedFragment map[string]bool
	operations   map[string]int // position of the name, by name
	fragments    map[string]int
	cycles       cycles
	conflicting  bool // some fields conflict; the visit of the selection sets finds their position
	overlaps     *overlaps
}

// A definition lists the variables and fragments that an operation or fragment uses.
type definition struct {
	usages  []usage
	oneOf   []oneOfVariable
	spreads []*ast.FragmentSpread
}

// A usage is a variable used as a value.
type usage struct {
	node       *ast.Value
	typ        *ast.Type // the expected type, nil if it is unknown
	hasDefault bool      // the argument or input field has a default other than null
}

// A oneOfVariable is a variable that is the only field of a OneOf input object, and so must not be null.
type oneOfVariable struct {
	node *ast.Value
	in   *Type
}

// validate returns the errors of a document.
func (s *Schema) validate(d *Document, l DocumentLimits) []*Error {
	v := &validator{schema: s, doc: d, limits: l, definitions: map[string]*definition{},
		usedFragment: map[string]bool{},
		operations:   map[string]int{}, fragments: map[string]int{}}
	v.bounds()
	if v.stopped {
		return v.errors
	}
	for _, a := range d.typeDefinitions {
		v.report("The "+a.name+" definition is not executable.", a.start)
	}
	if !v.cyclic {
		v.conflicting = v.findConflict()
	}
	for _, def := range v.inOrder() {
		if v.full() {
			break
		}
		switch def := def.(type) {
		case *ast.OperationDefinition:
			v.operation(def)
		case *ast.FragmentDefinition:
			v.fragment(def)
		}
	}
	v.unusedFragments()
	if len(v.errors) > maxErrors {
		v.errors = append(v.errors[:maxErrors], &Error{
			Message: "Too many validation errors, error limit reached. Validation aborted.", Code: ValidationFailed,
		})
	}
	return v.errors
}

// full reports whether enough errors were found.
func (v *validator) full() bool { return v.stopped || len(v.errors) > maxErrors }

// report adds an error with the positions of the nodes that it concerns.
func (v *validator) report(message string, at ...int) { v.refuse("", message, at...) }

// refuse reports an error for a document that exceeds a limit.
func (v *validator) refuse(limit apierror.Reason, message string, at ...int) {
	if v.silent || v.full() {
		return
	}
	e := &Error{Message: message, Code: ValidationFailed, Refusal: limit, Locations: make([]Location, len(at))}
	for i, start := range at {
		e.Locations[i] = v.doc.source.at(start)
	}
	v.errors = append(v.errors, e)
}

// inOrder lists operations and fragments in the order of the document.
func (v *validator) inOrder() []any {
	type placed struct {
		start int
		def   any
	}
	var list []placed
	for _, op := range v.doc.Operations {
		list = append(list, placed{op.Position.Start, op})
	}
	for _, f := range v.doc.fragments {
		list = append(list, placed{f.Position.Start, f})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].start < list[j].start })
	defs := make([]any, len(list))
	for i, p := range list {
		defs[i] = p.def
	}
	return defs
}

// operation checks an operation: its name, its variables and its selections.
func (v *validator) operation(op *ast.OperationDefinition) {
	start := op.Position.Start
	name := v.doc.source.next(start, 1)
	if op.Name != "" {
		if known, taken := v.operations[op.Name]; taken {
			v.report(`There can be only one operation named "`+op.Name+`".`, known, name)
		} else {
			v.operations[op.Name] = name
		}
	} else if len(v.doc.Operations) > 1 {
		v.report("This anonymous operation must be the only defined operation.", start)
	}
	if op.Operation == ast.Subscription && v.schema.Subscription != nil {
		v.singleField(op)
	}
	v.uniqueVariables(op)
	v.uniqueDirectives(op.Directives)
	v.current = &definition{}
	for _, def := range op.VariableDefinitions {
		v.variableDefinition(def)
	}
	v.directives(op.Directives, ast.DirectiveLocation(strings.ToUpper(string(op.Operation))))
	v.selectionSet(v.schema.Roots[op.Operation], op.SelectionSet)
	v.variableRules(op)
}

func (v *validator) fragment(f *ast.FragmentDefinition) {
	start := f.Position.Start
	on := v.schema.types[f.TypeCondition]
	if on != nil && !on.IsCompositeType() {
		v.report(`Fragment "`+f.Name+`" cannot condition on non composite type "`+f.TypeCondition+`".`,
			v.doc.source.next(start, 3))
	}
	name := v.doc.source.next(start, 1)
	if known, taken := v.fragments[f.Name]; taken {
		v.report(`There can be only one fragment named "`+f.Name+`".`, known, name)
	} else {
		v.fragments[f.Name] = name
	}
	v.findCycles(f)
	v.uniqueDirectives(f.Directives)
	v.knownType(f.TypeCondition, v.doc.source.next(start, 3))
	v.current = &definition{}
	v.directives(f.Directives, ast.LocationFragmentDefinition)
	v.selectionSet(on, f.SelectionSet)
	if v.doc.Fragments[f.Name] == f {
		v.definitions[f.Name] = v.current
	}
}

// selectionSet visits the selections on a type, which is nil where it is unknown.
func (v *validator) selectionSet(on *Type, set ast.SelectionSet) {
	if on != nil && !on.IsCompositeType() {
		on = nil
	}
	v.fieldsMerge(on, set)
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			v.field(on, sel)
		case *ast.FragmentSpread:
			v.fragmentSpread(on, sel)
		case *ast.InlineFragment:
			v.inlineFragment(on, sel)
		}
	}
}

// fieldOf returns the definition of a field of a type. It also finds __typename, __schema and __type.
func (v *validator) fieldOf(on *Type, name string) *ast.FieldDefinition {
	switch {
	case on == nil:
		return nil
	case name == "__typename" && on.IsCompositeType():
		return typenameField
	case (name == "__schema" || name == "__type") && on != v.schema.Query:
		return nil
	}
	return on.fields[name]
}

var typenameField = &ast.FieldDefinition{Name: "__typename", Type: ast.NonNullNamedType("String", nil)}

func (v *validator) field(on *Type, f *ast.Field) {
	def := v.fieldOf(on, f.Name)
	start := f.Position.Start
	var to *Type
	if def != nil {
		to = v.schema.of(def.Type)
		v.leaf(def, to, f)
	} else if on != nil {
		v.unknownField(on, f)
	}
	v.uniqueDirectives(f.Directives)
	v.uniqueArguments(f.Arguments)
	if !v.limits.Introspection && (f.Name == "__schema" || f.Name == "__type") {
		v.noIntrospection(start)
	}
	if f.Name == "__schema" || f.Name == "__type" {
		v.introspectionDepth(f)
	}
	for _, arg := range f.Arguments {
		var known *ast.ArgumentDefinition
		if def != nil {
			known = def.Arguments.ForName(arg.Name)
			if known == nil {
				v.report(`Unknown argument "`+arg.Name+`" on field "`+on.Name+"."+f.Name+`".`+
					didYouMean("", suggestions(arg.Name, argumentNames(def.Arguments))), arg.Position.Start)
			}
		}
		v.argument(known, arg)
	}
	v.directives(f.Directives, ast.LocationField)
	if len(f.SelectionSet) > 0 {
		v.selectionSet(to, f.SelectionSet)
	}
	if def != nil {
		v.required(def.Arguments, f.Arguments, `Field "`+f.Name+`"`, start)
	}
}

func argumentNames(list ast.ArgumentDefinitionList) []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return names
}

func (v *validator) argument(def *ast.ArgumentDefinition, arg *ast.Argument) {
	if def == nil {
		v.value(nil, false, arg.Value)
		return
	}
	v.value(def.Type, def.DefaultValue != nil, arg.Value)
}

// leaf checks that a field has selections if and only if its type has fields.
func (v *validator) leaf(def *ast.FieldDefinition, to *Type, f *ast.Field) {
	switch {
	case to == nil:
	case to.IsLeafType() && len(f.SelectionSet) > 0:
		v.report(`Field "`+f.Name+`" must not have a selection since type "`+def.Type.String()+`" has no subfields.`,
			v.doc.source.brace(f.SelectionSet))
	case !to.IsLeafType() && len(f.SelectionSet) == 0:
		v.report(`Field "`+f.Name+`" of type "`+def.Type.String()+
			`" must have a selection of subfields. Did you mean "`+f.Name+` { ... }"?`,
			f.Position.Start)
	}
}

func (v *validator) unknownField(on *Type, f *ast.Field) {
	if v.silent {
		return
	}
	message := `Cannot query field "` + f.Name + `" on type "` + on.Name + `".`
	hint := ""
	if on.IsAbstractType() {
		var having []string
		for _, t := range on.possible {
			if t.fields[f.Name] != nil {
				having = append(having, t.Name)
			}
		}
		hint = didYouMean("to use an inline fragment on", having)
	}
	if hint == "" && (on.Kind == ast.Object || on.Kind == ast.Interface) {
		var names []string
		for _, def := range on.Fields {
			if !strings.HasPrefix(def.Name, "__") {
				names = append(names, def.Name)
			}
		}
		hint = didYouMean("", suggestions(f.Name, names))
	}
	v.report(message+hint, f.Position.Start)
}

// required reports required arguments that are missing. The parameter what is the name of the field or directive, for
// the message.
func (v *validator) required(defs ast.ArgumentDefinitionList, given ast.ArgumentList, what string, start int) {
	for _, def := range defs {
		if def.Type.NonNull && def.DefaultValue == nil && given.ForName(def.Name) == nil {
			v.report(what+` argument "`+def.Name+`" of type "`+def.Type.String()+
				`" is required, but it was not provided.`, start)
		}
	}
}

// uniqueArguments reports arguments that are given more than once.
func (v *validator) uniqueArguments(args ast.ArgumentList) {
	reportRepeated(v, args, "argument", func(a *ast.Argument) (string, int) { return a.Name, a.Position.Start })
}

// uniqueDirectives reports directives that occur more than once in a list but are not repeatable.
func (v *validator) uniqueDirectives(list ast.DirectiveList) {
	if len(list) < 2 {
		return
	}
	first := map[string]int{}
	for _, d := range list {
		if def := v.schema.ast.Directives[d.Name]; def == nil || def.IsRepeatable {
			continue
		}
		start := v.doc.source.directive(d)
		if at, taken := first[d.Name]; taken {
			v.report(`The directive "@`+d.Name+`" can only be used once at this location.`, at, start)
		} else {
			first[d.Name] = start
		}
	}
}

func (v *validator) directives(list ast.DirectiveList, place ast.DirectiveLocation) {
	for _, d := range list {
		def := v.schema.ast.Directives[d.Name]
		start := v.doc.source.directive(d)
		switch {
		case def == nil:
			v.report(`Unknown directive "@`+d.Name+`".`, start)
		case !slices.Contains(def.Locations, place):
			v.report(`Directive "@`+d.Name+`" may not be used on `+string(place)+`.`, start)
		}
		if def != nil {
			for _, arg := range d.Arguments {
				if def.Arguments.ForName(arg.Name) == nil {
					v.report(`Unknown argument "`+arg.Name+`" on directive "@`+d.Name+`".`+
						didYouMean("", suggestions(arg.Name, argumentNames(def.Arguments))), arg.Position.Start)
				}
			}
		}
		v.uniqueArguments(d.Arguments)
		for _, arg := range d.Arguments {
			var known *ast.ArgumentDefinition
			if def != nil {
				known = def.Arguments.ForName(arg.Name)
			}
			v.argument(known, arg)
		}
		if def != nil {
			v.required(def.Arguments, d.Arguments, `Directive "@`+d.Name+`"`, start)
		}
	}
}

// knownType reports the name of a type that the schema does not have.
func (v *validator) knownType(name string, start int) {
	if v.schema.types[name] == nil && !v.silent {
		v.report(`Unknown type "`+name+`".`+didYouMean("", suggestions(name, v.schema.names)), start)
	}
}

func (v *validator) noIntrospection(start int) {
	if v.silent || v.full() {
		return
	}
	v.errors = append(v.errors, &Error{
		Message: "GraphQL introspection is not allowed by Apollo Server, but the query contained __schema or __type. " +
			"To enable introspection, pass introspection: true to ApolloServer in production",
		Locations: []Location{v.doc.source.at(start)}, Code: ValidationFailed, Reason: "INTROSPECTION_DISABLED",
	})
}
