package answers

import (
	"strings"
)

// A Request is a GraphQL document with one operation.
type Request struct {
	Name     string // name of the operation; "" if it has none
	Limited  bool   // sent by the principal with limited permissions
	Mutation bool
	Roots    []*Selection
}

// A Selection is a field, or a fragment with selections.
type Selection struct {
	Alias      string
	Name       string     // name of the field, such as an attribute or __typename; "" for a fragment
	Attr       *Attribute // the attribute that the field shows
	Connection bool       // the field is a connection with nodes, not a list
	Args       *Args      // shared by all repetitions of a field
	Of         []*Selection

	Fragment   string // named, inline or bare
	On         string // type condition of a fragment
	Directives []Directive
}

// A Directive is @include or @skip.
type Directive struct {
	Skip, If bool
	Variable bool
}

// Args are the arguments of a field.
type Args struct {
	Question            // its Filter and Sort apply to relations and lists of components, too
	Form     string     // of a root field: one, list, connection or single
	Paging   *Paging    // nil if the argument is missing
	Write    *Operation // of a root field of a mutation
	Null     []string   // arguments that are null
	Variable []string   // arguments passed by a variable
	Omitted  []string   // arguments passed by a variable without a value
}

// A Paging is the argument pagination: its fields in the order in which they are written.
type Paging struct {
	Fields []string
	Values []any // int or nil
}

// key returns the response key of a field.
func (s *Selection) key() string {
	if s.Alias != "" {
		return s.Alias
	}
	return s.Name
}

// shown reports whether the directives include a field or fragment.
func (s *Selection) shown() bool {
	for _, d := range s.Directives {
		if d.Skip == d.If {
			return false
		}
	}
	return true
}

// A collectedField is what one key of a response object shows: selections of the same field, perhaps from several
// fragments.
type collectedField struct {
	*Selection
	of []*Selection
}

// collectFields returns the fields of an object of a type, in the order of the response.
func collectFields(list []*Selection, typ string) []*collectedField {
	var all []*collectedField
	var add func(list []*Selection)
	add = func(list []*Selection) {
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

func gatherField(all []*collectedField, s *Selection) []*collectedField {
	for _, g := range all {
		if g.key() == s.key() {
			g.of = append(g.of[:len(g.of):len(g.of)], s.Of...)
			return all
		}
	}
	return append(all, &collectedField{s, s.Of})
}

// Names of types in the GraphQL schema.

func (t *Type) word() string {
	if plugin, ok := strings.CutPrefix(t.UID, "plugin::"); ok {
		return pascal(strings.ReplaceAll(plugin, ".", "-"))
	}
	return pascal(t.Singular)
}

func (c *Component) word() string { return "Component" + pascal(c.Category) + pascal(c.Name) }

// Names of root fields.

func (t *Type) oneField() string  { return camel(t.Singular) }
func (t *Type) listField() string { return camel(t.Plural) }

// pascal joins the words of a name, each with a capital letter: meal-plan becomes MealPlan.
func pascal(name string) string {
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		b.WriteString(capital(word))
	}
	return b.String()
}

func camel(name string) string {
	s := pascal(name)
	return strings.ToLower(s[:1]) + s[1:]
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// word returns the name of the GraphQL type of a schema.
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

// enumWord returns the name of the GraphQL enumeration of an attribute.
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

// enumName returns a value of an enumeration in GraphQL's spelling.
func enumName(value string) string { return strings.ReplaceAll(value, " ", "_") }

// scalarWord returns the GraphQL scalar for a type of attribute.
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
