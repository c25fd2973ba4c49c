package simulation

import (
	"strings"
)

// A Request is a GraphQL document of one operation.
type Request struct {
	Name     string // of the operation; "" is none
	Limited  bool   // put by the asker who may not do everything
	Mutation bool
	Roots    []*Selected
}

// A Selected is one thing in a selection: a field, or a fragment that holds some.
type Selected struct {
	Alias      string
	Name       string     // of the field: an attribute, __typename, nodes, …; "" in a fragment
	Attr       *Attribute // that is shown
	Connection bool       // as {nodes} rather than flat
	Args       *Args      // one value for all places where a field is repeated
	Of         []*Selected

	Fragment   string // named, inline or bare
	On         string // the type of a fragment
	Directives []Directive
}

// A Directive is @include or @skip.
type Directive struct {
	Skip, If bool
	Variable bool
}

// Args are the arguments of a field.
type Args struct {
	Question            // what is asked for: of a relation or a list of components its Filter and Sort
	Form     string     // of a root field: one, list, connection or single
	Paging   *Paging    // nil: the argument is not there
	Write    *Operation // of a root field of a mutation
	Null     []string   // arguments that are null
	Variable []string   // that are given by a variable
	Omitted  []string   // that are given by a variable without a value
}

// A Paging is the argument pagination: its fields in the order in which they are written.
type Paging struct {
	Fields []string
	Values []any // int or nil
}

// key is the name under which an answer shows a field.
func (s *Selected) key() string {
	if s.Alias != "" {
		return s.Alias
	}
	return s.Name
}

// shown reports whether the directives let a field or fragment stand.
func (s *Selected) shown() bool {
	for _, d := range s.Directives {
		if d.Skip == d.If {
			return false
		}
	}
	return true
}

// A gathered field is what one key of an answer's object shows: the same field, perhaps from several places.
type gathered struct {
	*Selected
	of []*Selected
}

// gather returns the fields of an object of a type, in the order in which an answer has them.
func gather(list []*Selected, typ string) []*gathered {
	var all []*gathered
	var add func(list []*Selected)
	add = func(list []*Selected) {
		for _, s := range list {
			switch {
			case !s.shown():
			case s.Fragment != "":
				if s.On == typ || s.Fragment == "bare" {
					add(s.Of)
				}
			default:
				all = gatherField(all, s)
			}
		}
	}
	add(list)
	return all
}

func gatherField(all []*gathered, s *Selected) []*gathered {
	for _, g := range all {
		if g.key() == s.key() {
			g.of = append(g.of[:len(g.of):len(g.of)], s.Of...)
			return all
		}
	}
	return append(all, &gathered{s, s.Of})
}

// Names of types in the schema.

func (t *Type) word() string { return capital(t.Singular) }

func (c *Component) word() string { return "Component" + capital(c.Category) + capital(c.Name) }

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// word is the name of the type that a schema has.
func (m *Model) word(s *Schema) string {
	for _, t := range m.Types {
		if &t.Schema == s {
			return t.word()
		}
	}
	for _, c := range m.Components {
		if &c.Schema == s {
			return c.word()
		}
	}
	if s == fileSchema {
		return "UploadFile"
	}
	return ""
}

// enumWord is the name of the enumeration of an attribute.
func (m *Model) enumWord(a *Attribute) string {
	var schemas []*Schema
	for _, t := range m.Types {
		schemas = append(schemas, &t.Schema)
	}
	for _, c := range m.Components {
		schemas = append(schemas, &c.Schema)
	}
	for _, s := range schemas {
		if indexOf(s.Attributes, a) >= 0 {
			return "ENUM_" + strings.ToUpper(m.word(s)) + "_" + strings.ToUpper(a.Name)
		}
	}
	return ""
}

// enumName is how GraphQL spells a value of an enumeration.
func enumName(value string) string { return strings.ReplaceAll(value, " ", "_") }

// scalarWord is the GraphQL scalar that holds values of a type of attribute.
func scalarWord(typ string) string {
	switch typ {
	case "integer":
		return "Int"
	case "biginteger":
		return "Long"
	case "float", "decimal":
		return "Float"
	case "date", "time", "boolean":
		return capital(typ)
	case "datetime":
		return "DateTime"
	case "json", "blocks":
		return "JSON"
	case "id", "documentId":
		return "ID"
	}
	return "String"
}
