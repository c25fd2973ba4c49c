package moveout

import (
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/strapi/archive"
)

// schemas writes the definitions of the project's own types and components. Strapi compares those that an archive has with its own, so
// those of plugins, whose details belong to a release of Strapi, are left out.
func (e *exporter) schemas() error {
	for _, t := range e.Model.Types {
		if t.BuiltIn {
			continue
		}
		if err := e.w.WriteSchema(archive.Schema{UID: t.UID, Data: typeSchema(t)}); err != nil {
			return err
		}
	}
	for _, c := range e.Model.Components {
		if err := e.w.WriteSchema(archive.Schema{UID: c.UID, Data: componentSchema(c)}); err != nil {
			return err
		}
	}
	return nil
}

func typeSchema(t *contenttypes.ContentType) *jsontree.Object {
	info := jsontree.ObjectOf("singularName", t.Singular, "pluralName", t.Plural, "displayName", t.DisplayName)
	if t.Description != "" {
		info.Set("description", t.Description)
	}
	plugins := jsontree.NewObject()
	if t.Localized {
		plugins.Set("i18n", jsontree.ObjectOf("localized", true))
	}
	return jsontree.ObjectOf(
		"collectionName", collectionName(t.Plural), "info", info, "options", jsontree.ObjectOf("draftAndPublish", t.DraftAndPublish),
		"pluginOptions", plugins, "attributes", attributesOf(&t.Schema, t.Localized), "kind", t.Kind.String(),
		"modelType", "contentType", "modelName", t.Singular, "uid", t.UID, "globalId", pascal(t.Singular),
	)
}

func componentSchema(c *contenttypes.Component) *jsontree.Object {
	return jsontree.ObjectOf(
		"collectionName", collectionName("components_"+c.Category+"_"+c.Name+"s"), "info", jsontree.ObjectOf("displayName", c.DisplayName),
		"attributes", attributesOf(&c.Schema, false), "modelType", "component", "modelName", c.Name, "uid", c.UID,
		"globalId", "Component"+pascal(c.Category)+pascal(c.Name),
	)
}

// pascal returns a name such as meal-plan as MealPlan.
func pascal(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// attributesOf returns the attributes of a schema that its definition names.
func attributesOf(s *contenttypes.Schema, localized bool) *jsontree.Object {
	all := jsontree.NewObject()
	for _, a := range s.Attributes {
		if a.System {
			continue
		}
		o := jsontree.ObjectOf("type", a.Type.String())
		addRelation(o, a)
		addComponents(o, a)
		addRules(o, a)
		if localized && a.Localized && a.Type != contenttypes.RelationType {
			o.Set("pluginOptions", jsontree.ObjectOf("i18n", jsontree.ObjectOf("localized", true)))
		}
		all.Set(a.Name, o)
	}
	return all
}

func addRelation(o *jsontree.Object, a *contenttypes.Attribute) {
	switch a.Type {
	case contenttypes.Media:
		o.Set("multiple", a.Multiple)
		if len(a.AllowedTypes) > 0 {
			o.Set("allowedTypes", texts(a.AllowedTypes))
		}
	case contenttypes.RelationType:
		o.Set("relation", a.Relation.String())
		if a.Target != nil {
			o.Set("target", a.Target.UID)
		}
		switch {
		case a.Inverse == nil:
		case a.IsMorph():
			o.Set("morphBy", a.Inverse.Name)
		case a.Mapped:
			o.Set("mappedBy", a.Inverse.Name)
		default:
			o.Set("inversedBy", a.Inverse.Name)
		}
	}
}

func addComponents(o *jsontree.Object, a *contenttypes.Attribute) {
	switch a.Type {
	case contenttypes.ComponentType:
		o.Set("repeatable", a.Repeatable)
		o.Set("component", a.Component.UID)
	case contenttypes.DynamicZone:
		var uids []string
		for _, c := range a.Components {
			uids = append(uids, c.UID)
		}
		o.Set("components", texts(uids))
	}
}

// addRules adds the rules that values are checked by.
func addRules(o *jsontree.Object, a *contenttypes.Attribute) {
	rules := []struct {
		key   string
		value any
		given bool
	}{
		{"required", true, a.Required}, {"unique", true, a.Unique && a.Type != contenttypes.UID}, {"private", true, a.Private},
		{"min", valueOf(a.Min), a.Min != nil}, {"max", valueOf(a.Max), a.Max != nil},
		{"minLength", valueOf(a.MinLength), a.MinLength != nil}, {"maxLength", valueOf(a.MaxLength), a.MaxLength != nil},
		{"regex", a.RegexSource, a.RegexSource != ""}, {"targetField", a.TargetField, a.TargetField != ""},
		{"enum", texts(a.Enum), a.Enum != nil}, {"enumName", a.EnumName(), a.EnumName() != ""}, {"default", a.Default, a.HasDefault},
	}
	for _, rule := range rules {
		if rule.given {
			o.Set(rule.key, rule.value)
		}
	}
}

// valueOf returns the number that p points to.
func valueOf[T int | float64](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// texts returns a list of texts as JSON.
func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}
