package openapi

import (
	"lectern/contenttypes"
	"lectern/jsontree"
)

// anyOf returns a schema that holds for what one of some schemas holds for.
func anyOf(schemas ...any) *jsontree.Object { return jsontree.ObjectOf("anyOf", schemas) }

// typed returns a schema of a type, with further members.
func typed(name string, more ...any) *jsontree.Object {
	return jsontree.ObjectOf(append([]any{"type", name}, more...)...)
}

// nullable returns a schema of a type or null, with further members.
func nullable(name string, more ...any) *jsontree.Object {
	return jsontree.ObjectOf(append([]any{"type", []any{name, "null"}}, more...)...)
}

func arrayOf(items any) *jsontree.Object { return typed("array", "items", items) }

func orNull(schema any) *jsontree.Object { return anyOf(schema, typed("null")) }

// shows reports whether the reader may see an attribute.
func (b *builder) shows(a *contenttypes.Attribute) bool {
	if a.IsScalar() {
		return b.access.Sees(a)
	}
	if a.Target != nil && a.Target.Internal {
		return false
	}
	return b.access.Follows(a)
}

// read returns a reference to the schema of a document or component in an answer.
func (b *builder) read(s *contenttypes.Schema) *jsontree.Object {
	return b.schema(b.names.of[s], func() any { return b.readObject(s) })
}

// entry returns a reference to the schema of a component in a dynamic zone.
func (b *builder) entry(c *contenttypes.Component) *jsontree.Object {
	return b.schema(b.names.of[&c.Schema]+"Entry", func() any {
		return withFirst(b.readObject(&c.Schema), "__component", jsontree.ObjectOf("const", c.UID))
	})
}

// withFirst adds a required property at the beginning of an object schema.
func withFirst(object *jsontree.Object, name string, schema any) *jsontree.Object {
	properties := jsontree.ObjectOf(name, schema)
	old := object.Value("properties").(*jsontree.Object)
	for _, key := range old.Keys {
		properties.Set(key, old.Value(key))
	}
	required, _ := object.Value("required").([]any)
	return jsontree.ObjectOf("type", "object", "required", append([]any{name}, required...), "properties", properties)
}

// readObject returns the schema of a document or component in an answer. Only ids are required, since the parameters of
// a request choose the other fields and what is populated.
func (b *builder) readObject(s *contenttypes.Schema) *jsontree.Object {
	required, properties := []any{}, jsontree.NewObject()
	for _, a := range s.Attributes {
		if !b.shows(a) {
			continue
		}
		properties.Set(a.Name, b.readValue(a))
		if a.Type == contenttypes.ID || a.Type == contenttypes.DocumentID {
			required = append(required, a.Name)
		}
	}
	if s.UID == contenttypes.FileUID {
		properties.Set("isUrlSigned", typed("boolean"))
	}
	return jsontree.ObjectOf("type", "object", "required", required, "properties", properties)
}

// readValue returns the schema of the value of an attribute in an answer.
func (b *builder) readValue(a *contenttypes.Attribute) *jsontree.Object {
	switch a.Type {
	case contenttypes.ComponentType:
		return oneOrMany(b.read(&a.Component.Schema), a.Repeatable)
	case contenttypes.DynamicZone:
		return arrayOf(union(a.Components, b.entry))
	case contenttypes.Media, contenttypes.RelationType:
		return oneOrMany(b.target(a), a.ToMany())
	}
	return scalar(a)
}

func oneOrMany(schema any, many bool) *jsontree.Object {
	if many {
		return arrayOf(schema)
	}
	return orNull(schema)
}

// target returns the schema of the targets of a relation.
func (b *builder) target(a *contenttypes.Attribute) *jsontree.Object {
	if a.Target != nil {
		return b.read(&a.Target.Schema)
	}
	return b.schema("AnyDocument", func() any {
		return jsontree.ObjectOf("type", "object", "description", "A document of the type that `__type` names.",
			"required", []any{"id", "documentId"},
			"properties", jsontree.ObjectOf("__type", typed("string"), "id", typed("integer"), "documentId",
				typed("string")), "additionalProperties", true)
	})
}

// union returns the schema of an entry of a dynamic zone. Its property __component says which component it is.
func union(components []*contenttypes.Component,
	schemaOf func(*contenttypes.Component) *jsontree.Object) *jsontree.Object {
	variants, mapping := make([]any, len(components)), jsontree.NewObject()
	for i, c := range components {
		ref := schemaOf(c)
		variants[i] = ref
		mapping.Set(c.UID, ref.Value("$ref"))
	}
	return jsontree.ObjectOf("oneOf", variants, "discriminator",
		jsontree.ObjectOf("propertyName", "__component", "mapping", mapping))
}

// scalar returns the schema of a scalar in an answer.
func scalar(a *contenttypes.Attribute) *jsontree.Object {
	switch a.Type {
	case contenttypes.ID:
		return typed("integer", "description",
			"The number of this version. It changes with each publication: documentId does not.")
	case contenttypes.DocumentID:
		return typed("string")
	case contenttypes.Integer:
		return nullable("integer")
	case contenttypes.Blocks:
		return nullable("array", "items", typed("object", "additionalProperties", true))
	case contenttypes.Email:
		return nullable("string", "format", "email")
	}
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		return nullable("number")
	case contenttypes.BigIntegerValue:
		return nullable("string", "pattern", "^-?[0-9]+$", "description",
			"An integer of up to 64 bits, as a text, since JavaScript has no such numbers.")
	case contenttypes.BooleanValue:
		return nullable("boolean")
	case contenttypes.EnumValue:
		return nullable("string", "enum", append(jsontree.ListOf(a.Enum), nil))
	case contenttypes.DateValue:
		return nullable("string", "format", "date")
	case contenttypes.TimeValue:
		return nullable("string", "pattern", `^\d{2}:\d{2}:\d{2}\.\d{3}$`, "examples", []any{"18:30:00.000"})
	case contenttypes.DateTimeValue:
		if a.System && a.Name != "publishedAt" {
			return typed("string", "format", "date-time")
		}
		return nullable("string", "format", "date-time")
	case contenttypes.JSONValue:
		return jsontree.ObjectOf("description", "Any JSON.")
	}
	return nullable("string")
}
