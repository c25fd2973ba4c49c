package execution

import (
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
)

// inputTree converts the argument data to the form of REST bodies: stored values of enumerations in place of their
// names, documents by documentId or the id of a row, items of zones by their uid.
func inputTree(in *schema.Input, given *jsontree.Object) *jsontree.Object {
	o := jsontree.NewObject()
	if in == nil || given == nil {
		return o
	}
	for _, key := range given.Keys {
		f, v := in.Field(key), given.Value(key)
		if f == nil {
			continue
		}
		switch f.Kind {
		case schema.InputIgnored, schema.InputCustom: // only middlewares read these
		case schema.InputID:
			o.Set("id", componentID(v))
		default:
			o.Set(f.Attr.Name, inputValue(f, v))
		}
	}
	return o
}

func inputValue(f *schema.InputField, v any) any {
	if v == nil {
		return nil
	}
	switch f.Kind {
	case schema.InputValue:
		if f.Enum != nil {
			if name, ok := v.(string); ok {
				if value, ok := f.Enum.Value(name); ok {
					return value
				}
			}
		}
	case schema.InputRelation:
		return documentReference(v)
	case schema.InputRelationList:
		return each(v, documentReference)
	case schema.InputComponent:
		return componentTree(f.Input, v)
	case schema.InputComponentList:
		return each(v, func(item any) any { return componentTree(f.Input, item) })
	case schema.InputZone:
		return each(v, func(item any) any { return zoneTree(f.Zone, item) })
	}
	return v
}

// each maps the items of a list; nil items stay nil.
func each(v any, change func(any) any) any {
	items, ok := v.([]any)
	if !ok {
		return v
	}
	list := make([]any, len(items))
	for i, item := range items {
		if item != nil {
			list[i] = change(item)
		}
	}
	return list
}

// documentReference returns a reference to a document: by the id of a row if v consists of digits, and by its
// documentId otherwise, even if that begins with a digit.
func documentReference(v any) any {
	key := "documentId"
	if isRowID(v) {
		key = "id"
	}
	o := jsontree.NewObject()
	o.Set(key, v)
	return o
}

// isRowID reports whether a value of type ID spells the id of a row. A documentId has 24 characters.
func isRowID(v any) bool {
	s, ok := v.(string)
	return ok && s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == ""
}

func componentTree(in *schema.Input, v any) any {
	if o, ok := v.(*jsontree.Object); ok {
		return inputTree(in, o)
	}
	return v
}

// componentID converts the id of a component to a number if it spells one.
func componentID(v any) any {
	if isRowID(v) {
		return jsontree.Number(v.(string))
	}
	return v
}

// zoneTree converts an item of a dynamic zone to the form of REST, and leaves out keys that its component does not
// have.
func zoneTree(zone *schema.Union, v any) any {
	given, ok := v.(*jsontree.Object)
	if !ok {
		return v
	}
	name := given.Text("__typename")
	member := zone.ByName(name)
	if member == nil || member.Component == nil {
		return v
	}
	o := jsontree.NewObject()
	o.Set("__component", member.Component.UID)
	copyKnown(o, &member.Component.Schema, given)
	return o
}

// copyKnown copies the members of given that are attributes of a component, and does the same for nested components.
func copyKnown(to *jsontree.Object, s *contenttypes.Schema, given *jsontree.Object) {
	for _, key := range given.Keys {
		a, v := s.Attribute(key), given.Value(key)
		switch {
		case key == "id":
			to.Set(key, componentID(v))
		case a == nil || a.System:
		case a.Type == contenttypes.ComponentType:
			to.Set(key, known(&a.Component.Schema, v))
		default:
			to.Set(key, v)
		}
	}
}

func known(s *contenttypes.Schema, v any) any {
	switch v := v.(type) {
	case *jsontree.Object:
		o := jsontree.NewObject()
		copyKnown(o, s, v)
		return o
	case []any:
		return each(v, func(item any) any { return known(s, item) })
	}
	return v
}
