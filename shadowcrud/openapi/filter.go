package openapi

import (
	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
)

// filters returns a reference to the schema of filters on documents or components.
func (b *builder) filters(s *contenttypes.Schema) *jsontree.Object {
	name := b.names.of[s] + "Filters"
	return b.schema(name, func() any {
		self := reference("schemas", name)
		properties := jsontree.NewObject()
		for _, a := range s.Attributes {
			if !b.shows(a) {
				continue
			}
			if a.IsScalar() {
				properties.Set(a.Name, b.comparison(a))
			} else if target := a.TargetSchema(); target != nil {
				properties.Set(a.Name, anyOf(b.comparisons("Id", typed("integer")), b.filters(target)))
			}
		}
		properties.Set("$and", arrayOf(self))
		properties.Set("$or", arrayOf(self))
		properties.Set("$not", self)
		return jsontree.ObjectOf("type", "object", "properties", properties, "additionalProperties", false)
	})
}

// comparison returns a reference to the schema of the comparisons of a scalar.
func (b *builder) comparison(a *contenttypes.Attribute) *jsontree.Object {
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		return b.comparisons("Number", typed("number"))
	case contenttypes.BigIntegerValue:
		return b.comparisons("BigInteger", typed("string"))
	case contenttypes.BooleanValue:
		return b.comparisons("Boolean", typed("boolean"))
	}
	return b.comparisons("Text", typed("string"))
}

// comparisons returns a reference to the schema of the comparisons with operands of a kind: a value, a list of which
// one must match, or an object of operators.
func (b *builder) comparisons(kind string, operand *jsontree.Object) *jsontree.Object {
	return b.schema(kind+"Filter", func() any {
		self := reference("schemas", kind+"Filter")
		oneOrMore := func(schema any) *jsontree.Object { return anyOf(schema, arrayOf(schema)) }
		properties := jsontree.NewObject()
		params.Operators(func(key string, takes params.Operand) bool {
			switch takes {
			case params.OneOrMore:
				properties.Set(key, oneOrMore(operand))
			case params.Pair:
				properties.Set(key, typed("array", "items", operand, "minItems", 2, "maxItems", 2))
			case params.TextOrMore:
				properties.Set(key, oneOrMore(typed("string")))
			case params.Flag:
				properties.Set(key, typed("boolean"))
			}
			return true
		})
		properties.Set("$and", arrayOf(self))
		properties.Set("$or", arrayOf(self))
		properties.Set("$not", self)
		return anyOf(operand, arrayOf(operand), jsontree.ObjectOf("type", "object", "properties", properties,
			"additionalProperties", false))
	})
}

// populate returns a reference to the schema of the parameter populate on documents or components.
func (b *builder) populate(s *contenttypes.Schema) *jsontree.Object {
	return b.schema(b.names.of[s]+"Populate", func() any {
		properties := jsontree.NewObject()
		for _, a := range s.Attributes {
			if a.IsScalar() || !b.shows(a) {
				continue
			}
			properties.Set(a.Name, anyOf(typed("boolean"), b.populated(a)))
		}
		text := typed("string", "description",
			"`*` for all, one level deep, or names with commas; a dot leads further: `owner.avatar`.")
		return anyOf(text, arrayOf(typed("string")), jsontree.ObjectOf("type", "object", "properties", properties,
			"additionalProperties", false))
	})
}

// populated returns the schema of the options of one attribute in a populate.
func (b *builder) populated(a *contenttypes.Attribute) *jsontree.Object {
	if target := a.TargetSchema(); target != nil {
		return b.populateOptions(target)
	}
	options := jsontree.ObjectOf("populate", jsontree.ObjectOf("const", "*"))
	if a.Type == contenttypes.DynamicZone {
		on := jsontree.NewObject()
		for _, c := range a.Components {
			on.Set(c.UID, anyOf(typed("boolean"), b.populateOptions(&c.Schema)))
		}
		options.Set("on", jsontree.ObjectOf("type", "object", "properties", on, "additionalProperties", false))
	} else {
		options.Set("on", jsontree.ObjectOf("type", "object", "description",
			"By the uid of a type: what to show of documents of this type."))
	}
	return jsontree.ObjectOf("type", "object", "properties", options, "additionalProperties", false)
}

// populateOptions returns a reference to the schema of the options with which documents or components are populated.
func (b *builder) populateOptions(s *contenttypes.Schema) *jsontree.Object {
	return b.schema(b.names.of[s]+"PopulateOptions", func() any {
		return jsontree.ObjectOf("type", "object", "properties", jsontree.ObjectOf(
			"fields", anyOf(typed("string", "description", "Names with commas."), b.fields(s)),
			"filters", b.filters(s),
			"sort", anyOf(typed("string"), arrayOf(typed("string")), typed("object")),
			"populate", b.populate(s),
			"count", typed("boolean", "description", "Answer `{count}` in place of the documents."),
		), "additionalProperties", false)
	})
}

// fields returns the schema of a choice of scalars.
func (b *builder) fields(s *contenttypes.Schema) *jsontree.Object {
	names := []any{"*"}
	for _, a := range s.Attributes {
		if a.IsScalar() && b.shows(a) {
			names = append(names, a.Name)
		}
	}
	return arrayOf(typed("string", "enum", names))
}
