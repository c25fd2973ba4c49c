package contenttypes

import (
	"regexp"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

var attributeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// reservedAttributes are the names that every document uses for system attributes.
var reservedAttributes = []string{"id", "documentId", "createdAt", "updatedAt", "publishedAt", "createdBy", "updatedBy",
	"locale", "localizations"}

// attributeName checks that the name of an attribute is well formed, not reserved, and not taken by another attribute.
// It adds the name to seen, which is keyed by lower case.
func (l *loader) attributeName(attributes *yamlfile.Node, e yamlfile.Entry, seen map[string]string) {
	name := e.Key
	report := func(format string, args ...any) { l.report(attributes.EntryProblem(e, format, args...)) }
	switch {
	case strings.HasPrefix(name, "$"):
		report("attribute name %q begins with $, as operators do; take it away", name)
	case strings.HasPrefix(name, "__"):
		report("attribute name %q begins with __, which is reserved; take it away", name)
	case !attributeForm.MatchString(name):
		report("attribute name %q must be letters, digits and _, and begin with a letter; call it %q", name,
			toCamel(name))
	case name == "and" || name == "or" || name == "not":
		report("attribute name %q is that of an operator of filters; choose another", name)
	}
	for _, reserved := range reservedAttributes {
		if strings.EqualFold(name, reserved) {
			report("attribute name %q is reserved for the attribute %s that every document may have; choose another",
				name, reserved)
			return
		}
	}
	if other, twice := seen[strings.ToLower(name)]; twice {
		report("attribute names %q and %q differ in case alone; choose another", name, other)
	}
	seen[strings.ToLower(name)] = name
}

// toCamel converts a text to camel case, for a message that proposes a name.
func toCamel(s string) string {
	name := strings.TrimLeft(GraphQLName(s), "0123456789")
	if name == "" {
		return "aName"
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// A claim says which definition uses a name.
type claim struct {
	name string // as it is written in the definition
	at   *yamlfile.Node
	of   string // the uid of the type or component
}

// clashes reports types and components that would get the same name in the generated APIs.
func (l *loader) clashes() {
	graphQL := map[string]claim{}
	for _, name := range reservedGraphQLNames {
		graphQL[name] = claim{of: "GraphQL itself"}
	}
	fields := map[string]claim{}
	if !l.opts.WithoutUsersPermissions {
		fields["Me"] = claim{of: "the plugin users-permissions"}
	}
	for _, d := range l.schemas {
		switch t := d.typ; {
		case t == nil:
			l.claimTypes(graphQL, GraphQLName("component", d.comp.Category, d.comp.Name),
				claim{d.comp.UID, &yamlfile.Node{File: d.root.File}, d.comp.UID})
			l.connections(d)
		case t.BuiltIn:
			plugin, _, _ := strings.Cut(strings.TrimPrefix(t.UID, "plugin::"), ".")
			plugin, _, _ = strings.Cut(plugin, "::") // lectern, for types that belong to no plugin
			graphQL[GraphQLName(plugin, t.Singular)] = claim{of: t.UID}
			fields[GraphQLName(plugin, t.Singular)] = claim{of: t.UID}
			fields[GraphQLName(plugin, t.Plural)] = claim{of: t.UID}
			l.connections(d)
		default:
			l.routes(d)
			singular, plural := d.root.At("info", "singularName"), d.root.At("info", "pluralName")
			if t.Singular != "" && l.claimTypes(graphQL, GraphQLName(t.Singular), claim{t.Singular, singular, t.UID}) {
				l.claim(fields, GraphQLName(t.Singular), claim{t.Singular, singular, t.UID})
			}
			if t.Plural != "" && t.Plural != t.Singular {
				l.claim(fields, GraphQLName(t.Plural), claim{t.Plural, plural, t.UID})
			}
			l.connections(d)
		}
	}
}

// claimTypes claims the name of a GraphQL type and of the types derived from it. It returns false if another definition
// has one of them.
func (l *loader) claimTypes(taken map[string]claim, name string, c claim) bool {
	for _, suffix := range []string{"", "Input", "FiltersInput", "EntityResponse", "EntityResponseCollection",
		"RelationResponseCollection"} {
		if !l.claim(taken, name+suffix, c) {
			return false
		}
	}
	return true
}

// claim records which definition uses a name. It reports a clash and returns false if another definition has the name.
func (l *loader) claim(taken map[string]claim, key string, c claim) bool {
	first, clash := taken[key]
	switch {
	case !clash:
		taken[key] = c
		return true
	case first.of == c.of:
		return true // two files with one uid, or a singular name equal to the plural one; both are reported elsewhere
	case first.name == c.name:
		l.report(c.at.Problem("name %q is already used by %s; choose another", c.name, first.of))
	case first.name == "":
		l.report(c.at.Problem("name %q becomes %s in GraphQL, which belongs to %s; choose another", c.name, key,
			first.of))
	default:
		l.report(c.at.Problem("name %q and name %q of %s both become %s in GraphQL; choose another", c.name, first.name,
			first.of, key))
	}
	return false
}

// routes reports a type whose REST path belongs to a plugin of the server.
func (l *loader) routes(d *definition) {
	name, key := d.typ.Plural, "pluralName"
	if d.typ.Kind == SingleType {
		name, key = d.typ.Singular, "singularName"
	}
	for _, plugin := range []struct {
		name  string
		off   bool
		paths []string
	}{
		{"users-permissions", l.opts.WithoutUsersPermissions,
			[]string{"users", "auth", "connect", "users-permissions"}},
		{"upload", l.opts.WithoutUpload, []string{"upload"}},
		{"i18n", l.opts.WithoutI18N, []string{"i18n"}},
	} {
		if !plugin.off && slices.Contains(plugin.paths, name) {
			instead := "choose another"
			if name == "users" {
				instead += ", or give the users that there are attributes of your own, with uid: " + extensible
			}
			l.report(d.root.At("info", key).Problem("%s %q is a path of the plugin %s; %s", key, name, plugin.name,
				instead))
		}
	}
}

// connections reports an attribute whose name is that of a connection field in GraphQL.
func (l *loader) connections(d *definition) {
	for _, a := range d.attributes {
		base, ok := strings.CutSuffix(a.attr.Name, "_connection")
		if !ok {
			continue
		}
		if other := d.schema.Attribute(base); other != nil && other.IsRelation() {
			l.report(a.node.Problem("attribute name %q is what GraphQL calls the pages of %s; choose another",
				a.attr.Name, base))
		}
	}
}

// reservedGraphQLNames are the types that every generated GraphQL schema has.
var reservedGraphQLNames = []string{"Query", "Mutation", "Subscription", "String", "Int", "Float", "Boolean", "Id",
	"Json",
	"Date", "Time", "DateTime", "Long", "Error", "Pagination", "PaginationArg", "PublicationStatus",
	"PublicationFilter",
	"GenericMorph", "DeleteMutationResponse", "FileInfoInput", "BooleanFilterInput", "DateTimeFilterInput",
	"DateFilterInput",
	"TimeFilterInput", "FloatFilterInput", "IdFilterInput", "IntFilterInput", "LongFilterInput", "JsonFilterInput",
	"StringFilterInput"}

// GraphQLName joins words to the name of a GraphQL type: meal-plan becomes MealPlan, and component, default, dish
// become ComponentDefaultDish. The loader makes sure that no two definitions get the same name.
func GraphQLName(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		for _, word := range words(name) {
			b.WriteString(strings.ToUpper(word[:1]) + strings.ToLower(word[1:]))
		}
	}
	return b.String()
}

// words splits a name at every character that is not a letter or digit, and where a lower-case letter is followed by an
// upper-case one.
func words(s string) []string {
	var out []string
	start, last := -1, 0
	kindOf := func(r rune) int {
		switch {
		case 'a' <= r && r <= 'z':
			return 1
		case 'A' <= r && r <= 'Z':
			return 2
		case '0' <= r && r <= '9':
			return 3
		}
		return 0
	}
	for i, r := range s {
		kind := kindOf(r)
		if start >= 0 && kind != last && !(last == 2 && kind == 1) {
			out = append(out, s[start:i])
			start = -1
		}
		if kind != 0 && start < 0 {
			start = i
		}
		last = kind
	}
	if start >= 0 {
		out = append(out, s[start:])
	}
	return slices.Clip(out)
}
