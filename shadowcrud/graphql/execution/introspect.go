package execution

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
)

// introspect prints __schema or __type.
func (x *execution) introspect(f *field) bool {
	if f.as == asSchema {
		x.intro(f.of, func(p *field) { x.schemaField(p) })
		return x.failed == nil
	}
	b := &x.bindings[f.slot]
	if b.err != nil {
		x.addError(f.name, b.err)
		return x.orNull(f, len(x.buf))
	}
	x.named(f, x.engine.language.Type(b.args.text("name")))
	return x.failed == nil
}

// intro prints an object of introspection. It calls print for the value of each field.
func (x *execution) intro(s *selection, print func(*field)) {
	x.buf = append(x.buf, '{')
	for i, f := range s.fields {
		if !x.mayContinue() {
			return
		}
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = append(x.buf, f.key...)
		if f.as == asTypename {
			x.text(s.typ.Name)
		} else {
			print(f)
		}
	}
	x.buf = append(x.buf, '}')
}

// introList prints a list of n items.
func (x *execution) introList(n int, print func(i int)) {
	x.buf = append(x.buf, '[')
	for i := range n {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		print(i)
	}
	x.buf = append(x.buf, ']')
}

func (x *execution) str(s string) { x.buf = jsontree.AppendString(x.buf, s) }

// described prints a description, or null if it is empty.
func (x *execution) described(s string) {
	if s == "" {
		x.null()
	} else {
		x.str(s)
	}
}

func (x *execution) boolean(b bool) { x.buf = jsontree.Append(x.buf, b) }

func (x *execution) schemaField(f *field) {
	l := x.engine.language
	switch f.node.Name {
	case "types":
		names := l.TypeNames()
		x.introList(len(names), func(i int) { x.named(f, l.Type(names[i])) })
	case "queryType":
		x.named(f, l.Query)
	case "mutationType":
		x.named(f, l.Mutation)
	case "subscriptionType":
		x.named(f, l.Subscription)
	case "directives":
		list := l.Directives()
		if !x.withDeprecated(f) {
			list = slices.DeleteFunc(list, func(d *ast.DirectiveDefinition) bool { return d.Directives.ForName("deprecated") != nil })
		}
		x.introList(len(list), func(i int) { x.intro(f.of, func(p *field) { x.directiveField(p, list[i]) }) })
	default:
		x.null()
	}
}

// named prints a named type, or null if t is nil.
func (x *execution) named(f *field, t *language.Type) {
	if t == nil {
		x.null()
		return
	}
	x.intro(f.of, func(p *field) { x.typeField(p, t) })
}

// typeRef prints a type reference: each list and non-null as a type of its own, whose ofType is the type within.
func (x *execution) typeRef(f *field, t *ast.Type) {
	if !t.NonNull && t.Elem == nil {
		x.named(f, x.engine.language.Type(t.NamedType))
		return
	}
	kind, of := "LIST", t.Elem
	if t.NonNull {
		nullable := *t
		nullable.NonNull = false
		kind, of = "NON_NULL", &nullable
	}
	x.intro(f.of, func(p *field) {
		switch p.node.Name {
		case "kind":
			x.text(kind)
		case "ofType":
			x.typeRef(p, of)
		default:
			x.null()
		}
	})
}

func (x *execution) typeField(f *field, t *language.Type) {
	switch f.node.Name {
	case "kind":
		x.text(string(t.Kind))
	case "name":
		x.str(t.Name)
	case "description":
		x.described(t.Description)
	case "specifiedByURL":
		x.specified(t)
	case "fields":
		if t.Kind != ast.Object && t.Kind != ast.Interface {
			x.null()
			return
		}
		fields := x.shown(f, t.Fields)
		x.introList(len(fields), func(i int) { x.intro(f.of, func(p *field) { x.fieldField(p, fields[i]) }) })
	case "inputFields":
		if t.Kind != ast.InputObject {
			x.null()
			return
		}
		fields := x.shown(f, t.Fields)
		x.introList(len(fields), func(i int) {
			d := fields[i]
			x.intro(f.of, func(p *field) { x.inputField(p, d.Name, d.Description, d.Type, d.DefaultValue, d.Directives) })
		})
	case "interfaces":
		if t.Kind != ast.Object && t.Kind != ast.Interface {
			x.null()
			return
		}
		x.introList(len(t.Interfaces), func(i int) { x.named(f, x.engine.language.Type(t.Interfaces[i])) })
	case "possibleTypes":
		if !t.IsAbstractType() {
			x.null()
			return
		}
		names := t.Possible()
		x.introList(len(names), func(i int) { x.named(f, names[i]) })
	case "enumValues":
		x.enumValues(f, t)
	case "isOneOf":
		if t.Kind != ast.InputObject {
			x.null()
			return
		}
		x.boolean(t.Directives.ForName("oneOf") != nil)
	default:
		x.null()
	}
}

func (x *execution) specified(t *language.Type) {
	if d := t.Directives.ForName("specifiedBy"); d != nil {
		if url := d.Arguments.ForName("url"); url != nil {
			x.str(url.Value.Raw)
			return
		}
	}
	x.null()
}

// withDeprecated reports whether the argument includeDeprecated of a field is true.
func (x *execution) withDeprecated(f *field) bool {
	if f.slot < 0 {
		return false
	}
	all, _ := x.bindings[f.slot].args.value("includeDeprecated").(bool)
	return all
}

func (x *execution) shown(f *field, list ast.FieldList) ast.FieldList {
	all := x.withDeprecated(f)
	shown := make(ast.FieldList, 0, len(list))
	for _, d := range list {
		if !strings.HasPrefix(d.Name, "__") && (all || d.Directives.ForName("deprecated") == nil) {
			shown = append(shown, d)
		}
	}
	return shown
}

func (x *execution) enumValues(f *field, t *language.Type) {
	if t.Kind != ast.Enum {
		x.null()
		return
	}
	all := x.withDeprecated(f)
	var values ast.EnumValueList
	for _, v := range t.EnumValues {
		if all || v.Directives.ForName("deprecated") == nil {
			values = append(values, v)
		}
	}
	x.introList(len(values), func(i int) {
		v := values[i]
		x.intro(f.of, func(p *field) {
			switch p.node.Name {
			case "name":
				x.str(v.Name)
			case "description":
				x.described(v.Description)
			default:
				x.deprecation(p, v.Directives)
			}
		})
	})
}

// deprecation prints isDeprecated or deprecationReason.
func (x *execution) deprecation(f *field, list ast.DirectiveList) {
	d := list.ForName("deprecated")
	switch {
	case f.node.Name == "isDeprecated":
		x.boolean(d != nil)
	case d == nil:
		x.null()
	default:
		reason := "No longer supported"
		if arg := d.Arguments.ForName("reason"); arg != nil {
			reason = arg.Value.Raw
		}
		x.str(reason)
	}
}

func (x *execution) fieldField(f *field, d *ast.FieldDefinition) {
	switch f.node.Name {
	case "name":
		x.str(d.Name)
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

func (x *execution) arguments(f *field, list ast.ArgumentDefinitionList) {
	all := x.withDeprecated(f)
	var shown ast.ArgumentDefinitionList
	for _, a := range list {
		if all || a.Directives.ForName("deprecated") == nil {
			shown = append(shown, a)
		}
	}
	x.introList(len(shown), func(i int) {
		a := shown[i]
		x.intro(f.of, func(p *field) { x.inputField(p, a.Name, a.Description, a.Type, a.DefaultValue, a.Directives) })
	})
}

func (x *execution) inputField(f *field, name, description string, t *ast.Type, otherwise *ast.Value, directives ast.DirectiveList) {
	switch f.node.Name {
	case "name":
		x.str(name)
	case "description":
		x.described(description)
	case "type":
		x.typeRef(f, t)
	case "defaultValue":
		if otherwise == nil {
			x.null()
		} else {
			x.str(language.Print(otherwise))
		}
	default:
		x.deprecation(f, directives)
	}
}

func (x *execution) directiveField(f *field, d *ast.DirectiveDefinition) {
	switch f.node.Name {
	case "name":
		x.str(d.Name)
	case "description":
		x.described(d.Description)
	case "isRepeatable":
		x.boolean(d.IsRepeatable)
	case "locations":
		x.introList(len(d.Locations), func(i int) { x.text(string(d.Locations[i])) })
	case "args":
		x.arguments(f, d.Arguments)
	default:
		x.deprecation(f, d.Directives)
	}
}
