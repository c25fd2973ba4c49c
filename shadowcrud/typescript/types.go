package typescript

import (
	"fmt"
	"strings"

	"lectern/contenttypes"
)

// contentType writes the interfaces of a content-type.
func (w *writer) contentType(t *contenttypes.ContentType) {
	s, name := &t.Schema, w.names[&t.Schema]
	w.comment("", describe(t), t.Description)
	w.fields(s, name)
	if w.writable(t) {
		w.comment("", fmt.Sprintf("What a write of %s sends.", name))
		w.input(s, name)
	}
	w.comment("", fmt.Sprintf("Filters of %s.", name))
	w.filters(s, name)
}

// describe returns the first sentence about a type.
func describe(t *contenttypes.ContentType) string {
	switch {
	case t.BuiltIn:
		return t.DisplayName + " (" + t.UID + ")."
	case t.Kind == contenttypes.SingleType:
		return fmt.Sprintf("%s, the single type %s (%s).", t.DisplayName, t.Singular, t.UID)
	}
	return fmt.Sprintf("%s, of the collection %s (%s).", t.DisplayName, t.Plural, t.UID)
}

// writable reports whether the client may send documents of a type. Everybody may send a user: themselves.
func (w *writer) writable(t *contenttypes.ContentType) bool {
	if t.BuiltIn {
		return t.UID == contenttypes.UserUID
	}
	return w.access.Allows(t, "create") || w.access.Allows(t, "update")
}

// component writes the interfaces of a component.
func (w *writer) component(c *contenttypes.Component) {
	s, name := &c.Schema, w.names[&c.Schema]
	w.comment("", fmt.Sprintf("%s, a component (%s).", c.DisplayName, c.UID))
	w.fields(s, name)
	w.comment("", fmt.Sprintf("What a write of %s sends.", name))
	w.input(s, name)
	w.comment("", fmt.Sprintf("Filters of %s.", name))
	w.filters(s, name)
}

// fields writes the interface of the scalars that an answer shows.
func (w *writer) fields(s *contenttypes.Schema, name string) {
	w.line("export interface %s {", name)
	for _, a := range s.Attributes {
		if !w.isField(a) {
			continue
		}
		typ := w.value(a)
		if !filled(a) {
			typ += " | null"
		}
		w.line("  %s: %s", key(a.Name), typ)
	}
	w.line("}")
	w.line("")
}

// isField reports whether answers may show an attribute as a field.
func (w *writer) isField(a *contenttypes.Attribute) bool { return a.IsScalar() && w.access.Sees(a) }

// isPopulated reports whether the client may populate an attribute.
func (w *writer) isPopulated(a *contenttypes.Attribute) bool {
	return !a.IsScalar() && !leadsInside(a) && w.access.Follows(a)
}

// leadsInside reports whether a relation leads to a type that is not part of the API.
func leadsInside(a *contenttypes.Attribute) bool { return a.Target != nil && a.Target.Internal }

// filled reports whether an attribute has a value in every published document.
func filled(a *contenttypes.Attribute) bool {
	if a.System {
		return a.Name != "publishedAt"
	}
	return a.Required
}

// scalarTypes are the TypeScript types of values. An enumeration has a type of its own.
var scalarTypes = map[contenttypes.Type]string{
	contenttypes.String: "string", contenttypes.Text: "string", contenttypes.RichText: "string",
	contenttypes.Email: "string",
	contenttypes.UID:   "string", contenttypes.Password: "string", contenttypes.DocumentID: "string",
	contenttypes.Locale: "Locale",
	contenttypes.Blocks: "Blocks", contenttypes.JSON: "JSONValue", contenttypes.Boolean: "boolean",
	contenttypes.Integer: "number", contenttypes.Float: "number", contenttypes.Decimal: "number",
	contenttypes.ID:         "number",
	contenttypes.BigInteger: "BigIntegerString",
	contenttypes.Date:       "DateString", contenttypes.Time: "TimeString", contenttypes.DateTime: "DateTimeString",
}

// fileValues are the types of attributes of files whose definition says only that they are JSON.
var fileValues = map[string]string{"formats": "Record<string, ImageFormat>", "focalPoint": "{ x: number; y: number }"}

// value returns the type of the values of a scalar attribute in answers.
func (w *writer) value(a *contenttypes.Attribute) string {
	if typ, ok := fileValues[a.Name]; ok && a.Owner.UID == contenttypes.FileUID {
		return typ
	}
	if a.Type == contenttypes.Enumeration {
		return union(a.Enum)
	}
	return scalarTypes[a.Type]
}

// index writes the interfaces in which the compiler looks up types: by uid, and by name in paths.
func (w *writer) index() {
	w.section("Everything by uid: what Result, FindParams and the like look up.")
	w.line("export interface ContentTypes {")
	for _, t := range w.types() {
		input := "never"
		if w.writable(t) {
			input = w.names[&t.Schema] + inputSuffix
		}
		w.schema(&t.Schema, input, t.DraftAndPublish)
	}
	w.line("}")
	w.line("")
	w.line("export interface Components {")
	for _, c := range w.components {
		w.schema(&c.Schema, w.names[&c.Schema]+inputSuffix, true)
	}
	w.line("}")
	w.line("")
	w.line("export interface Schemas extends ContentTypes, Components {}")
	w.line("")
	w.byPath("Collections", "The uids of collection types by their names in paths.", contenttypes.CollectionType)
	w.byPath("Singles", "The uids of single types by their names in paths.", contenttypes.SingleType)
}

// schema writes the member of a schema. If it has drafts, `required` names the fields that a draft may lack.
// `requiredLists` names the repeatable components and dynamic zones that a new document needs, even as a draft.
func (w *writer) schema(s *contenttypes.Schema, input string, drafts bool) {
	name := w.names[s]
	var required, lists []string
	for _, a := range s.Attributes {
		if w.isDemanded(a) && (a.Type == contenttypes.DynamicZone || a.Type == contenttypes.ComponentType &&
			a.Repeatable) {
			lists = append(lists, a.Name)
		}
		if drafts && w.isField(a) && !a.System && a.Required {
			required = append(required, a.Name)
		}
	}
	w.line("  %s: {", key(s.UID))
	w.line("    fields: %s", name)
	w.line("    drafts: %t", drafts)
	w.line("    required: %s", union(required))
	w.line("    requiredLists: %s", union(lists))
	w.line("    input: %s", input)
	w.line("    filters: %s", name+filtersSuffix)
	var relations []string
	for _, a := range s.Attributes {
		if w.isPopulated(a) {
			relations = append(relations, fmt.Sprintf("      %s: %s", key(a.Name), leadsTo(a)))
		}
	}
	if len(relations) == 0 {
		w.line("    relations: {}")
	} else {
		w.line("    relations: {\n%s\n    }", strings.Join(relations, "\n"))
	}
	w.line("  }")
}

// leadsTo returns the type that says what a relation, media, component or zone attribute leads to.
func leadsTo(a *contenttypes.Attribute) string {
	switch {
	case a.Type == contenttypes.DynamicZone:
		return fmt.Sprintf("Zone<%s>", union(componentUIDs(a)))
	case a.Type == contenttypes.ComponentType && a.Repeatable:
		return fmt.Sprintf("Many<%s>", quote(a.Component.UID))
	case a.Type == contenttypes.ComponentType:
		return fmt.Sprintf("One<%s>", quote(a.Component.UID))
	case a.Target == nil && a.ToMany():
		return "MorphMany"
	case a.Target == nil:
		return "MorphOne"
	case a.ToMany():
		return fmt.Sprintf("Many<%s>", quote(a.Target.UID))
	}
	return fmt.Sprintf("One<%s>", quote(a.Target.UID))
}

func componentUIDs(a *contenttypes.Attribute) (uids []string) {
	for _, c := range a.Components {
		uids = append(uids, c.UID)
	}
	return uids
}

func (w *writer) byPath(name, comment string, kind contenttypes.Kind) {
	w.comment("", comment)
	w.line("export interface %s {", name)
	for _, t := range w.types() {
		if !t.BuiltIn && t.Kind == kind {
			w.line("  %s: %s", key(t.PathName()), quote(t.UID))
		}
	}
	w.line("}")
	w.line("")
}
