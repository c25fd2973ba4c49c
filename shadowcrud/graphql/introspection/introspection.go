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
		list := l.Directives()
		if !x.withDeprecated(f) {
			list = slices.DeleteFunc(list, func(d *ast.DirectiveDefinition) bool { return isDeprecated(d.Directives) })
		}
		x.list(len(list), func(i int) { x.object(f.Parts, func(p *plan.Field) { x.directiveField(p, list[i]) }) })
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
	switch f.Node.Name {
	case "kind":
		x.Text(string(t.Kind))
	case "name":
		x.String(t.Name)
	case "description":
		x.described(t.Description)
	case "specifiedByURL":
		x.specified(t)
	case "fields":
		if t.Kind != ast.Object && t.Kind != ast.Interface {
			x.Null()
			return
		}
		fields := x.shown(f, t.Fields)
		x.list(len(fields), func(i int) { x.object(f.Parts, func(p *plan.Field) { x.fieldField(p, fields[i]) }) })
	case "inputFields":
		if t.Kind != ast.InputObject {
			x.Null()
			return
		}
		fields := x.shown(f, t.Fields)
		x.list(len(fields), func(i int) {
			d := fields[i]
			x.object(f.Parts, func(p *plan.Field) {
				x.inputField(p, d.Name, d.Description, d.Type, d.DefaultValue,
					d.Directives)
			})
		})
	case "interfaces":
		if t.Kind != ast.Object && t.Kind != ast.Interface {
			x.Null()
			return
		}
		x.list(len(t.Interfaces), func(i int) { x.named(f, x.schema.Type(t.Interfaces[i])) })
	case "possibleTypes":
		if !t.IsAbstractType() {
			x.Null()
			return
		}
		names := t.Possible()
		x.list(len(names), func(i int) { x.named(f, names[i]) })
	case "enumValues":
		x.enumValues(f, t)
	case "isOneOf":
		if t.Kind != ast.InputObject {
			x.Null()
			return
		}
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

// isDeprecated reports whether a part of the schema with these directives is deprecated.
func isDeprecated(list ast.DirectiveList) bool { return list.ForName("deprecated") != nil }

// withDeprecated reports whether the argument includeDeprecated of a field is true.
func (x *introspection) withDeprecated(f *plan.Field) bool {
	if f.Slot < 0 {
		return false
	}
	all, _ := x.bindings[f.Slot].Args.Value("includeDeprecated").(bool)
	return all
}

func (x *introspection) shown(f *plan.Field, list ast.FieldList) ast.FieldList {
	all := x.withDeprecated(f)
	shown := make(ast.FieldList, 0, len(list))
	for _, d := range list {
		if !strings.HasPrefix(d.Name, "__") && (all || !isDeprecated(d.Directives)) {
			shown = append(shown, d)
		}
	}
	return shown
}

func (x *introspection) enumValues(f *plan.Field, t *language.Type) {
	if t.Kind != ast.Enum {
		x.Null()
		return
	}
	all := x.withDeprecated(f)
	var values ast.EnumValueList
	for _, v := range t.EnumValues {
		if all || !isDeprecated(v.Directives) {
			values = append(values, v)
		}
	}
	x.list(len(values), func(i int) {
		v := values[i]
		x.object(f.Parts, func(p *plan.Field) {
			switch p.Node.Name {
			case "name":
				x.String(v.Name)
			case "description":
				x.described(v.Description)
			default:
				x.deprecation(p, v.Directives)
			}
		})
	})
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
	all := x.withDeprecated(f)
	var shown ast.ArgumentDefinitionList
	for _, a := range list {
		if all || !isDeprecated(a.Directives) {
			shown = append(shown, a)
		}
	}
	x.list(len(shown), func(i int) {
		a := shown[i]
		x.object(f.Parts, func(p *plan.Field) {
			x.inputField(p, a.Name, a.Description, a.Type, a.DefaultValue,
				a.Directives)
		})
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
