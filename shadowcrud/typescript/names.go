package typescript

import (
	"fmt"
	"regexp"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// names maps a schema to the name of its interface. Those of its inputs and filters begin with it.
type names map[*contenttypes.Schema]string

// Suffixes of the names of the interfaces of a schema.
const (
	inputSuffix   = "Input"
	filtersSuffix = "FiltersInput"
)

// newNames names the schemas of a model as GraphQL does, so that no two have one name. A name that the file uses for
// something else, such as Result or Record, gets "Document" appended.
func newNames(m *contenttypes.Model) names {
	taken := reservedNames()
	ns := names{}
	add := func(s *contenttypes.Schema, name string) {
		for taken[name] || taken[name+inputSuffix] || taken[name+filtersSuffix] {
			name += "Document"
		}
		taken[name], taken[name+inputSuffix], taken[name+filtersSuffix] = true, true, true
		ns[s] = name
	}
	for _, t := range m.Types {
		if t.BuiltIn && !t.Internal {
			add(&t.Schema, builtInName(t))
		}
	}
	for _, c := range m.Components {
		add(&c.Schema, contenttypes.GraphQLName("component", c.Category, c.Name))
	}
	for _, t := range m.Types {
		if !t.BuiltIn {
			add(&t.Schema, contenttypes.GraphQLName(t.Singular))
		}
	}
	return ns
}

// builtInName returns the name of a built-in type: UploadFile for plugin::upload.file.
func builtInName(t *contenttypes.ContentType) string {
	plugin, _, _ := strings.Cut(strings.TrimPrefix(t.UID, "plugin::"), ".")
	return contenttypes.GraphQLName(plugin, t.Singular)
}

var typeName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)

// reservedNames returns all words of prelude and client that may be names of types, and a few that Write uses.
func reservedNames() map[string]bool {
	taken := map[string]bool{}
	for _, text := range []string{prelude, client, clientBatch, clientFollowing, clientFiles, clientSchedules,
		clientUsers, clientMembers,
		"Client Components ContentTypes Schemas Collections Singles Locale ErrorName"} {
		for _, word := range typeName.FindAllString(text, -1) {
			taken[word] = true
		}
	}
	for _, name := range []string{"UploadFile", "UsersPermissionsUser", "UsersPermissionsUserInput"} {
		delete(taken, name) // the client refers to these types of the model
	}
	return taken
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// key returns the name of a property, quoted if need be.
func key(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quote(name)
}

// inherited are the names that every object has from Object.prototype. The compiler takes an object without a property
// of its own of that name for one that has the inherited one.
var inherited = map[string]bool{
	"constructor": true, "hasOwnProperty": true, "isPrototypeOf": true, "propertyIsEnumerable": true,
	"toLocaleString": true, "toString": true, "valueOf": true,
}

// optional returns the type of a property that an object need not have. Under an inherited name it allows what is
// inherited, without which the compiler would refuse every object that lacks the property.
func optional(name, typ string) string {
	if inherited[name] {
		return fmt.Sprintf("%s | Inherited<%s>", typ, quote(name))
	}
	return typ
}

// quote returns a text as a string literal in single quotes.
func quote(s string) string {
	inner := string(jsontree.AppendString(nil, s))
	inner = strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}

// union returns the union of string literals, and never if there is none.
func union(texts []string) string {
	if len(texts) == 0 {
		return "never"
	}
	return strings.Join(quoted(texts), " | ")
}

func quoted(texts []string) []string {
	list := make([]string, len(texts))
	for i, s := range texts {
		list[i] = quote(s)
	}
	return list
}
