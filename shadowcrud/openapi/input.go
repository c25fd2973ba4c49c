package openapi

import (
	"strings"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// input returns a reference to the schema of the data of a document that is changed: no attribute is required.
func (b *builder) input(s *contenttypes.Schema) *jsontree.Object {
	return b.schema(b.names.of[s]+"Input", func() any { return b.inputObject(s, b.limit(s, "update")) })
}

// limit returns what limits an action of the reader on documents with a schema; nil if nothing does.
func (b *builder) limit(s *contenttypes.Schema, action string) *permission.Limit {
	if t := b.Model.Type(s.UID); t != nil {
		return b.access.LimitOf(t, action)
	}
	return nil
}

// create returns a reference to the schema of the data of a new document. A draft may lack required attributes, but for
// dynamic zones and repeatable components. So of types with drafts only these are required.
func (b *builder) create(t *contenttypes.ContentType) *jsontree.Object {
	limit := b.limit(&t.Schema, "create")
	always, published := b.required(t, limit)
	if len(always)+len(published) == 0 && limit == b.limit(&t.Schema, "update") {
		return b.input(&t.Schema)
	}
	return b.schema(b.names.of[&t.Schema]+"Create", func() any {
		o := b.inputObject(&t.Schema, limit)
		if len(published) > 0 {
			o.Set("description", "A published document needs "+strings.Join(published, ", ")+
				". A draft (`status=draft`) does not.")
		}
		if len(always) > 0 {
			o.Set("required", jsontree.ListOf(always))
		}
		return o
	})
}

// required returns the attributes without which a new document is refused: always, or if it is published.
func (b *builder) required(t *contenttypes.ContentType, l *permission.Limit) (always, published []string) {
	for _, a := range t.Attributes {
		switch isList := a.Type == contenttypes.DynamicZone || a.Type == contenttypes.ComponentType && a.Repeatable; {
		case !a.Required || a.HasDefault || a.System || a.Generate || !b.access.MaySend(a, l):
		case isList || !t.DraftAndPublish:
			always = append(always, a.Name)
		default:
			published = append(published, a.Name)
		}
	}
	return always, published
}

// inputObject returns the schema of the data of a document or component.
func (b *builder) inputObject(s *contenttypes.Schema, l *permission.Limit) *jsontree.Object {
	properties := jsontree.NewObject()
	for _, a := range s.Attributes {
		if a.Type == contenttypes.ID && b.isComponent(s) {
			properties.Set("id",
				typed("integer", "description", "Of a component that is there already: it is changed, not replaced."))
		} else if b.access.MaySend(a, l) {
			properties.Set(a.Name, b.inputValue(a))
		}
	}
	return jsontree.ObjectOf("type", "object", "properties", properties, "additionalProperties", false)
}

func (b *builder) isComponent(s *contenttypes.Schema) bool { return b.Model.Component(s.UID) != nil }

// inputValue returns the schema of an attribute in a write. One that no answer shows is marked as writeOnly. A default
// is told in words: the keyword default would tell generators that an update sets it, too, and some then demand a value
// for the attribute in each request.
func (b *builder) inputValue(a *contenttypes.Attribute) *jsontree.Object {
	schema := b.writtenValue(a)
	var notes []string
	if a.HasDefault {
		notes = append(notes, "A new document without it has "+string(jsontree.Append(nil, a.Default))+".")
	}
	hidden := a.Private && !b.shows(a) || a.Type == contenttypes.Password
	if hidden {
		notes = append(notes, "It is never shown.")
	}
	if len(notes) == 0 {
		return schema
	}
	if text := schema.Text("description"); text != "" {
		notes = append([]string{text}, notes...)
	}
	if schema.Value("$ref") != nil { // a shared schema stays as it is
		schema = jsontree.ObjectOf("allOf", []any{schema})
	}
	schema.Set("description", strings.Join(notes, " "))
	if hidden {
		schema.Set("writeOnly", true)
	}
	return schema
}

// writtenValue returns the schema of the values that a write may send for an attribute.
func (b *builder) writtenValue(a *contenttypes.Attribute) *jsontree.Object {
	switch a.Type {
	case contenttypes.ComponentType:
		if !a.Repeatable {
			return orNull(b.input(&a.Component.Schema))
		}
		return bounded(arrayOf(b.input(&a.Component.Schema)), a)
	case contenttypes.DynamicZone:
		return bounded(arrayOf(union(a.Components, b.entryInput)), a)
	case contenttypes.Media, contenttypes.RelationType:
		return b.relation()
	case contenttypes.BigInteger:
		return jsontree.ObjectOf("type", []any{"string", "integer", "null"})
	case contenttypes.Time:
		return nullable("string", "examples", []any{"18:30:00.000"})
	}
	schema := scalar(a)
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		setNumber(schema, "minimum", a.Min)
		setNumber(schema, "maximum", a.Max)
	case contenttypes.TextValue, contenttypes.HashValue:
		setText(schema, a)
	}
	return schema
}

// entryInput returns a reference to the schema of an entry of a dynamic zone in a write.
func (b *builder) entryInput(c *contenttypes.Component) *jsontree.Object {
	return b.schema(b.names.of[&c.Schema]+"EntryInput", func() any {
		o := withFirst(b.inputObject(&c.Schema, nil), "__component", jsontree.ObjectOf("const", c.UID))
		o.Set("additionalProperties", false)
		return o
	})
}

// bounded adds how many items a repeatable component or a zone may have.
func bounded(array *jsontree.Object, a *contenttypes.Attribute) *jsontree.Object {
	setNumber(array, "minItems", a.Min)
	setNumber(array, "maxItems", a.Max)
	return array
}

func setNumber(schema *jsontree.Object, key string, n *float64) {
	if n != nil {
		schema.Set(key, *n)
	}
}

// setText adds the limits of a text. Lengths in definitions count UTF-16 units, of which a character has one or two: a
// text that is within maxLength has at most as many characters. minLength is left out where it could refuse a valid
// text.
func setText(schema *jsontree.Object, a *contenttypes.Attribute) {
	if a.MinLength != nil && *a.MinLength == 1 {
		schema.Set("minLength", 1)
	}
	if most, ok := a.LengthLimit(); ok {
		schema.Set("maxLength", most)
	}
	if _, source := a.Pattern(); source != "" {
		schema.Set("pattern", source)
	}
}

// relation returns a reference to the schema of the value of a relation in a write: the new targets, or changes of the
// present ones.
func (b *builder) relation() *jsontree.Object {
	item := b.schema("RelationItem", func() any { return relationItem() })
	items := b.schema("RelationItems", func() any { return anyOf(item, arrayOf(item)) })
	return b.schema("Relation", func() any {
		return jsontree.ObjectOf("description",
			"The targets of a relation or media: the new ones, or changes of the present ones.", "anyOf", []any{
				items,
				typed("null"),
				jsontree.ObjectOf("type", "object", "additionalProperties", false, "minProperties", 1, "properties",
					jsontree.ObjectOf(
						"set", anyOf(items, typed("null")),
						"connect", items,
						"disconnect", items,
						"options", typed("object", "properties",
							jsontree.ObjectOf("strict", typed("boolean", "default", true))),
					)),
			})
	})
}

// relationItem returns the schema of one target. It allows further properties, so that clients may send a document as
// they have read it.
func relationItem() *jsontree.Object {
	place := jsontree.NewObject()
	for _, name := range []string{"before", "after"} {
		place.Set(name, jsontree.ObjectOf("type", []any{"string", "integer"}, "description",
			"The documentId or id of the target beside it."))
	}
	place.Set("start", typed("boolean"))
	place.Set("end", typed("boolean"))
	place.Set("locale", nullable("string"))
	place.Set("status", typed("string", "enum", []any{"draft", "published"}))
	identified := func(by, kind string) *jsontree.Object {
		return jsontree.ObjectOf("type", "object", "required", []any{by}, "additionalProperties", true, "properties",
			jsontree.ObjectOf(
				by, typed(kind),
				"locale", nullable("string", "description",
					"Of the target, if it is localized and the document is not."),
				"status", typed("string", "enum", []any{"draft", "published"}),
				"__type", typed("string", "description",
					"The uid of the target's type, in a relation to several types."),
				"position", typed("object", "description",
					"Where a connected target goes in the list. Without it: to the end.", "properties", place),
			))
	}
	return anyOf(
		typed("string", "description", "A documentId."),
		typed("integer", "description", "An id."),
		identified("documentId", "string"),
		identified("id", "integer"),
	)
}
