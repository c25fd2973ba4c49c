// Package introspection prints the fields __schema and __type of GraphQL answers.
package introspection

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/plan"
)

// An introspection prints one field of an answer.
type introspection struct {
	*answer.Writer
	schema   *language.Schema
	bindings []binding.Binding
}

// Print prints a field __schema or __type. bindings are those of the operation. It returns false if the field is null
// but must not be, and if the Writer has failed.
func Print(w *answer.Writer, s *language.Schema, bindings []binding.Binding, f *plan.Field) bool {
	x := &introspection{w, s, bindings}
	if f.As == plan.AsSchema {
		x.object(f.Parts, func(p *plan.Field) { x.schemaField(p) })
		return x.Failed == nil
	}
	b := &bindings[f.Slot]
	if b.Err != nil {
		x.AddError(f.Name, b.Err)
		return x.NullFrom(len(x.Buf), f.NonNull)
	}
	x.named(f, s.Type(b.Args.Text("name")))
	return x.Failed == nil
}

// object prints an object of introspection. It calls print for the value of each field.
func (x *introspection) object(s *plan.Selection, print func(*plan.Field)) {
	x.Buf = append(x.Buf, '{')
	for i, f := range s.Fields {
		if !x.MayContinue() {
			return
		}
		x.Key(i, f.Key)
		if f.As == plan.AsTypename {
			x.Text(s.Type.Name)
		} else {
			print(f)
		}
	}
	x.Buf = append(x.Buf, '}')
}

// list prints a list of n items.
func (x *introspection) list(n int, print func(i int)) {
	x.Buf = append(x.Buf, '[')
	for i := range n {
		if i > 0 {
			x.Buf = append(x.Buf, ',')
		}
		print(i)
	}
	x.Buf = append(x.Buf, ']')
}

// objects prints a list of objects. It calls print for the value of each field of each item.
func objects[T any](x *introspection, f *plan.Field, items []T, print func(*plan.Field, T)) {
	x.list(len(items), func(i int) { x.object(f.Parts, func(p *plan.Field) { print(p, items[i]) }) })
}

// shown returns the items that a field shows: without deprecated ones, unless its argument includeDeprecated is true.
func shown[T any](x *introspection, f *plan.Field, items []T, directives func(T) ast.DirectiveList) []T {
	if f.Slot >= 0 {
		if all, _ := x.bindings[f.Slot].Args.Value("includeDeprecated").(bool); all {
			return items
		}
	}
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		return directives(item).ForName("deprecated") != nil
	})
}

// described prints a description, or null if it is empty.
func (x *introspection) described(s string) {
	if s == "" {
		x.Null()
	} else {
		x.String(s)
	}
}

func (x *introspection) schemaField(f *plan.Field) {
	l := x.schema
	switch f.Node.Name {
	case "types":
		names := l.TypeNames()
		x.list(len(names), func(i int) { x.named(f, l.Type(names[i])) })
	case "queryType":
		x.named(f, l.Query)
	case "mutationType":
		x.named(f, l.Mutation)
	case "subscriptionType":
		x.named(f, l.Subscription)
	case "directives":
		objects(x, f, shown(x, f, l.Directives(), func(d *ast.DirectiveDefinition) ast.DirectiveList {
			return d.Directives
		}), x.directiveField)
	default:
		x.Null()
	}
}

// named prints a named type, or null if t is nil.
func (x *introspection) named(f *plan.Field, t *language.Type) {
	if t == nil {
		x.Null()
		return
	}
	x.object(f.Parts, func(p *plan.Field) { x.typeField(p, t) })
}

// typeRef prints a type reference: each list and non-null as a type of its own, whose ofType is the type within.
func (x *introspection) typeRef(f *plan.Field, t *ast.Type) {
	if !t.NonNull && t.Elem == nil {
		x.named(f, x.schema.Type(t.NamedType))
		return
	}
	kind, of := "LIST", t.Elem
	if t.NonNull {
		nullable := *t
		nullable.NonNull = false
		kind, of = "NON_NULL", &nullable
	}
	x.object(f.Parts, func(p *plan.Field) {
		switch p.Node.Name {
		case "kind":
			x.Text(kind)
		case "ofType":
			x.typeRef(p, of)
		default:
			x.Null()
		}
	})
}

func (x *introspection) typeField(f *plan.Field, t *language.Type) {
	composite, input := t.Kind == ast.Object || t.Kind == ast.Interface, t.Kind == ast.InputObject
	switch name := f.Node.Name; {
	case name == "kind":
		x.Text(string(t.Kind))
	case name == "name":
		x.String(t.Name)
	case name == "description":
		x.described(t.Description)
	case name == "specifiedByURL":
		x.specified(t)
	case name == "fields" && composite:
		objects(x, f, x.shownFields(f, t.Fields), x.fieldField)
	case name == "inputFields" && input:
		objects(x, f, x.shownFields(f, t.Fields), func(p *plan.Field, d *ast.FieldDefinition) {
			x.inputField(p, d.Name, d.Description, d.Type, d.DefaultValue, d.Directives)
		})
	case name == "interfaces" && composite:
		x.list(len(t.Interfaces), func(i int) { x.named(f, x.schema.Type(t.Interfaces[i])) })
	case name == "possibleTypes" && t.IsAbstractType():
		names := t.Possible()
		x.list(len(names), func(i int) { x.named(f, names[i]) })
	case name == "enumValues" && t.Kind == ast.Enum:
		objects(x, f, shown(x, f, t.EnumValues, func(v *ast.EnumValueDefinition) ast.DirectiveList {
			return v.Directives
		}), x.enumValueField)
	case name == "isOneOf" && input:
		x.Boolean(t.Directives.ForName("oneOf") != nil)
	default:
		x.Null()
	}
}

func (x *introspection) specified(t *language.Type) {
	if d := t.Directives.ForName("specifiedBy"); d != nil {
		if url := d.Arguments.ForName("url"); url != nil {
			x.String(url.Value.Raw)
			return
		}
	}
	x.Null()
}

func (x *introspection) shownFields(f *plan.Field, list ast.FieldList) ast.FieldList {
	fields := shown(x, f, list, func(d *ast.FieldDefinition) ast.DirectiveList { return d.Directives })
	return slices.DeleteFunc(slices.Clone(fields), func(d *ast.FieldDefinition) bool {
		return strings.HasPrefix(d.Name, "__")
	})
}

func (x *introspection) enumValueField(f *plan.Field, v *ast.EnumValueDefinition) {
	switch f.Node.Name {
	case "name":
		x.String(v.Name)
	case "description":
		x.described(v.Description)
	default:
		x.deprecation(f, v.Directives)
	}
}

// deprecation prints isDeprecated or deprecationReason.
func (x *introspection) deprecation(f *plan.Field, list ast.DirectiveList) {
	d := list.ForName("deprecated")
	switch {
	case f.Node.Name == "isDeprecated":
		x.Boolean(d != nil)
	case d == nil:
		x.Null()
	default:
		reason := "No longer supported"
		if arg := d.Arguments.ForName("reason"); arg != nil {
			reason = arg.Value.Raw
		}
		x.String(reason)
	}
}

func (x *introspection) fieldField(f *plan.Field, d *ast.FieldDefinition) {
	switch f.Node.Name {
	case "name":
		x.String(d.Name)
	case "description":
		x.described(d.Description)
	case "args":
		x.arguments(f, d.Arguments)
	case "type":
		x.typeRef(f, d.Type)
	default:
		x.deprecation(f, d.Directives)
	}
}

func (x *introspection) arguments(f *plan.Field, list ast.ArgumentDefinitionList) {
	args := shown(x, f, list, func(a *ast.ArgumentDefinition) ast.DirectiveList { return a.Directives })
	objects(x, f, args, func(p *plan.Field, a *ast.ArgumentDefinition) {
		x.inputField(p, a.Name, a.Description, a.Type, a.DefaultValue, a.Directives)
	})
}

func (x *introspection) inputField(
	f *plan.Field, name, description string, t *ast.Type, otherwise *ast.Value, directives ast.DirectiveList,
) {
	switch f.Node.Name {
	case "name":
		x.String(name)
	case "description":
		x.described(description)
	case "type":
		x.typeRef(f, t)
	case "defaultValue":
		if otherwise == nil {
			x.Null()
		} else {
			x.String(language.Print(otherwise))
		}
	default:
		x.deprecation(f, directives)
	}
}

func (x *introspection) directiveField(f *plan.Field, d *ast.DirectiveDefinition) {
	switch f.Node.Name {
	case "name":
		x.String(d.Name)
	case "description":
		x.described(d.Description)
	case "isRepeatable":
		x.Boolean(d.IsRepeatable)
	case "locations":
		x.list(len(d.Locations), func(i int) { x.Text(string(d.Locations[i])) })
	case "args":
		x.arguments(f, d.Arguments)
	default:
		x.deprecation(f, d.Directives)
	}
}
