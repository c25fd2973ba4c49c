package openapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// names has the name of each content-type and component in the document. The names depend on the whole Model, and not
// on the reader, so that all readers find a schema under the same name.
type names struct {
	of    map[*contenttypes.Schema]string
	taken map[string]bool
}

// suffixes are what the names of the schemas that belong to a type or component end in.
var suffixes = []string{"", "Input", "Create", "Entry", "EntryInput", "Filters", "Populate", "PopulateOptions",
	"Answer", "List", "History"}

// fixedNames are the schemas that belong to no type.
var fixedNames = []string{"AnyDocument", "Pagination", "Relation", "RelationItem", "RelationItems", "Login", "Session",
	"Change", "Changes", "Preview", "ServerStatus", "AuditEntry", "Webhook", "WebhookDeliveries", "ApiToken",
	"ApiTokenWithKey", "UserSession", "RoleWithRules", "HistoryItem", "DeletedItem", "Problem", "TextFilter", "NumberFilter", "BigIntegerFilter", "BooleanFilter", "IdFilter"}

func newNames(m *contenttypes.Model) *names {
	n := &names{of: map[*contenttypes.Schema]string{}, taken: map[string]bool{}}
	for _, name := range fixedNames {
		n.taken[name] = true
	}
	for _, f := range failures {
		n.taken[f.schema()] = true
	}
	for _, t := range m.Types {
		if !t.BuiltIn {
			n.add(&t.Schema, contenttypes.GraphQLName(t.Singular))
		}
	}
	for _, t := range m.Types {
		if t.BuiltIn {
			plugin, _, _ := strings.Cut(strings.TrimPrefix(t.UID, "plugin::"), ".")
			plugin, _, _ = strings.Cut(plugin, "::") // lectern, for types that belong to no plugin
			n.add(&t.Schema, contenttypes.GraphQLName(plugin, t.Singular))
		}
	}
	for _, c := range m.Components {
		n.add(&c.Schema, contenttypes.GraphQLName("component", c.Category, c.Name))
	}
	return n
}

// add names a schema. No two schemas share a name, also with suffixes.
func (n *names) add(s *contenttypes.Schema, name string) {
	name = unique(name, func(name string) bool {
		return slices.ContainsFunc(suffixes, func(suffix string) bool { return n.taken[name+suffix] })
	})
	for _, suffix := range suffixes {
		n.taken[name+suffix] = true
	}
	n.of[s] = name
}

// unique returns name, with a number at its end if it is taken.
func unique(name string, taken func(string) bool) string {
	free := name
	for i := 2; taken(free); i++ {
		free = name + strconv.Itoa(i)
	}
	return free
}

// schema returns a reference to a named schema. The first call for a name adds the schema; make may refer to the name
// itself.
func (b *builder) schema(name string, build func() any) *jsontree.Object {
	if _, ok := b.schemas[name]; !ok {
		b.schemas[name] = nil
		b.schemas[name] = build()
	}
	return reference("schemas", name)
}

// parameter returns a reference to a parameter that several operations have.
func (b *builder) parameter(name string, build func() *jsontree.Object) *jsontree.Object {
	if b.parameters[name] == nil {
		b.parameters[name] = build()
	}
	return reference("parameters", name)
}

func reference(part, name string) *jsontree.Object {
	return jsontree.ObjectOf("$ref", "#/components/"+part+"/"+name)
}

// sorted returns an object with the members of a map in the order of their keys.
func sorted(m map[string]any) *jsontree.Object {
	o := jsontree.NewObjectOf(len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o.Set(key, m[key])
	}
	return o
}
