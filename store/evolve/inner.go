package evolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// InnerKeys says which keys the inner index of an attribute has: the numbers in each of its UniquePaths, and the order
// of the values. It is "" if nothing inside the attribute is unique. An index that was built for other keys cannot be
// used.
func (c *Catalog) InnerKeys(a *contenttypes.Attribute) string {
	var keys []string
	for _, path := range a.UniquePaths() {
		var key strings.Builder
		for _, b := range path[1:] {
			schema, field := c.Field(b)
			fmt.Fprintf(&key, "%d.%d/", schema, field)
		}
		keys = append(keys, fmt.Sprint(key.String(), ordering(path[len(path)-1].Type)))
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// HasInner reports whether an attribute has a complete inner index. It has none if nothing inside it is unique.
func (c *Catalog) HasInner(a *contenttypes.Attribute) bool {
	keys, e := c.InnerKeys(a), c.Schemas[a.Owner.UID]
	return keys != "" && e.Inner[e.Fields[a.Name]] == keys
}

// LacksInner reports whether an attribute needs an inner index that is not complete.
func (c *Catalog) LacksInner(a *contenttypes.Attribute) bool {
	return len(a.UniquePaths()) > 0 && !c.HasInner(a)
}

// settleInner says which inner indexes are complete after the definitions were replaced: all those of new types, which
// have no rows, and of other types those that keep their keys.
func (c *Catalog) settleInner(m *contenttypes.Model, isNew func(uid string) bool) {
	for uid, e := range c.Schemas {
		complete := map[uint16]string{}
		if t := m.Type(uid); t != nil {
			for _, a := range t.Attributes {
				f := e.Fields[a.Name]
				if keys := c.InnerKeys(a); keys != "" && (isNew(uid) || e.Inner[f] == keys) {
					complete[f] = keys
				}
			}
		}
		e.Inner = complete
	}
}

// droppedInner plans to remove the inner indexes that are complete in the catalog before and not in the one after.
func droppedInner(before, after *Catalog) (list []*Step) {
	left := map[uint16]map[uint16]string{}
	for _, e := range after.Schemas {
		left[e.Number] = e.Inner
	}
	for _, uid := range slices.Sorted(maps.Keys(before.Schemas)) {
		e := before.Schemas[uid]
		for _, f := range slices.Sorted(maps.Keys(e.Inner)) {
			if left[e.Number][f] == "" {
				list = append(list, &Step{Work: &DropIndex{e.Number, f, uid + "." + e.nameOf(f)}})
			}
		}
	}
	return list
}

func (e *SchemaEntry) nameOf(field uint16) string {
	for name, f := range e.Fields {
		if f == field {
			return name
		}
	}
	return ""
}

// lacksInner reports whether an attribute of a type needs an inner index that is not complete.
func (c *Catalog) lacksInner(t *contenttypes.ContentType) bool {
	return slices.ContainsFunc(t.Attributes, c.LacksInner)
}
