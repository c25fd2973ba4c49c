package schema

import (
	"strings"
)

// printSchema prints types in the schema definition language.
func printSchema(types []*namedType) string {
	var p printer
	for i, r := range types {
		if i > 0 {
			p.WriteByte('\n')
		}
		p.record(r)
	}
	return p.String()
}

type printer struct{ strings.Builder }

// words appends strings to the text.
func (p *printer) words(words ...string) {
	for _, w := range words {
		p.WriteString(w)
	}
}

func (p *printer) record(r *namedType) {
	switch {
	case r.object != nil:
		p.description("", r.object.description)
		p.words("type ", r.name)
		for i, of := range r.object.interfaces {
			if i == 0 {
				p.words(" implements ", of.Name)
			} else {
				p.words(" & ", of.Name)
			}
		}
		p.fields(r.object.Fields)
	case r.iface != nil:
		p.description("", r.iface.description)
		p.words("interface ", r.name)
		p.fields(r.iface.Fields)
	case r.union != nil:
		p.union(r.union)
	case r.enum != nil:
		p.enum(r.enum)
	case r.scalar != nil:
		p.description("", r.scalar.GraphQL.Description())
		p.words("scalar ", r.name)
		if r.scalar.specifiedBy != "" {
			p.words(" @specifiedBy(url: ", quote(r.scalar.specifiedBy), ")")
		}
		p.words("\n")
	case r.input != nil:
		p.description("", r.input.description)
		p.words("input ", r.name, " {\n")
		for _, a := range r.input.fields {
			p.description("  ", a.description)
			p.words("  ")
			p.argument(a)
			p.words("\n")
		}
		p.words("}\n")
	}
}

func (p *printer) fields(fields []*FieldSpec) {
	p.words(" {\n")
	for _, m := range fields {
		p.description("  ", m.description)
		p.words("  ", m.Name)
		p.arguments(m.args)
		p.words(": ", m.out.String())
		p.deprecated(m.deprecated)
		p.words("\n")
	}
	p.words("}\n")
}

// arguments prints arguments in one line, or each in its own line where one has a description.
func (p *printer) arguments(args []*argument) {
	if len(args) == 0 {
		return
	}
	described := false
	for _, a := range args {
		described = described || a.description != ""
	}
	p.words("(")
	for i, a := range args {
		if described {
			p.words("\n")
			p.description("    ", a.description)
			p.words("    ")
		} else if i > 0 {
			p.words(", ")
		}
		p.argument(a)
	}
	if described {
		p.words("\n  ")
	}
	p.words(")")
}

func (p *printer) argument(a *argument) {
	p.words(a.name, ": ", a.typ.String())
	if a.literal != "" {
		p.words(" = ", a.literal)
	}
	p.deprecated(a.deprecated)
}

func (p *printer) union(u *Union) {
	p.description("", u.description)
	p.words("union ", u.Name)
	for i, o := range u.Members {
		if i == 0 {
			p.words(" = ", o.Name)
		} else {
			p.words(" | ", o.Name)
		}
	}
	p.words("\n")
}

func (p *printer) enum(e *Enum) {
	p.description("", e.description)
	p.words("enum ", e.Name, " {\n")
	for _, v := range e.Values {
		p.description("  ", v.description)
		p.words("  ", v.Name)
		p.deprecated(v.deprecated)
		p.words("\n")
	}
	p.words("}\n")
}

// description prints a description as a quoted string in one line.
func (p *printer) description(indent, text string) {
	if text != "" {
		p.words(indent, quote(text), "\n")
	}
}

func (p *printer) deprecated(reason string) {
	if reason != "" {
		p.words(" @deprecated(reason: ", quote(reason), ")")
	}
}
