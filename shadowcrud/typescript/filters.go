package typescript

import (
	"fmt"

	"lectern/contenttypes"
)

// filters writes the interface of the filters of a schema.
func (w *writer) filters(s *contenttypes.Schema, name string) {
	w.line("export interface %s extends Logic<%[1]s> {", name+filtersSuffix)
	for _, a := range s.Attributes {
		if typ := w.filter(a); typ != "" {
			w.line("  %s?: %s", key(a.Name), optional(a.Name, typ))
		}
	}
	w.line("}")
	w.line("")
}

// filterTypes are the types of filters by kind of value.
var filterTypes = map[contenttypes.ValueKind]string{
	contenttypes.TextValue: "TextFilter", contenttypes.JSONValue: "TextFilter",
	contenttypes.NumberValue:     "NumberFilter",
	contenttypes.BigIntegerValue: "BigIntegerFilter", contenttypes.BooleanValue: "BooleanFilter",
	contenttypes.DateValue: "DateFilter", contenttypes.TimeValue: "TimeFilter",
	contenttypes.DateTimeValue: "DateTimeFilter",
}

// filter returns the type of the filters on an attribute; "" if there are none.
func (w *writer) filter(a *contenttypes.Attribute) string {
	switch {
	case a.IsScalar() && !w.isField(a) || !a.IsScalar() && !w.isPopulated(a):
		return ""
	case a.Type == contenttypes.Enumeration:
		return fmt.Sprintf("TextFilter<%s>", union(a.Enum))
	case a.IsScalar():
		return filterTypes[a.Type.Kind()]
	case a.Target != nil:
		return fmt.Sprintf("RelationFilter<%s>", w.names[&a.Target.Schema]+filtersSuffix)
	case a.Component != nil:
		return fmt.Sprintf("RelationFilter<%s>", w.names[&a.Component.Schema]+filtersSuffix)
	}
	return ""
}
