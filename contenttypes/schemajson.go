package contenttypes

import (
	"strings"

	"lectern/jsontree"
)

// CollectionName returns the name of the table that Strapi gives to a type whose definition does not name one.
func (t *ContentType) CollectionName() string { return strings.ReplaceAll(t.Plural, "-", "_") }

// CollectionName returns the name of the table that Strapi gives to a component whose definition does not name one.
func (c *Component) CollectionName() string {
	return strings.ReplaceAll("components_"+c.Category+"_"+c.Name+"s", "-", "_")
}

// AttributesJSON returns the attributes that a definition lists, with the keys that they have in a schema.json of
// Strapi.
func (s *Schema) AttributesJSON() *jsontree.Object {
	localized := s.typ != nil && s.typ.Localized
	all := jsontree.NewObject()
	for _, a := range s.Attributes {
		if a.System {
			continue
		}
		o := jsontree.ObjectOf("type", a.Type.String())
		addRelationJSON(o, a)
		addComponentsJSON(o, a)
		addRulesJSON(o, a)
		if localized && a.Localized && a.Type != RelationType {
			o.Set("pluginOptions", jsontree.ObjectOf("i18n", jsontree.ObjectOf("localized", true)))
		}
		all.Set(a.Name, o)
	}
	return all
}

func addRelationJSON(o *jsontree.Object, a *Attribute) {
	switch a.Type {
	case Media:
		o.Set("multiple", a.Multiple)
		if len(a.AllowedTypes) > 0 {
			o.Set("allowedTypes", jsontree.ListOf(a.AllowedTypes))
		}
	case RelationType:
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

func addComponentsJSON(o *jsontree.Object, a *Attribute) {
	switch a.Type {
	case ComponentType:
		o.Set("repeatable", a.Repeatable)
		o.Set("component", a.Component.UID)
	case DynamicZone:
		var uids []string
		for _, c := range a.Components {
			uids = append(uids, c.UID)
		}
		o.Set("components", jsontree.ListOf(uids))
	}
}

// addRulesJSON adds the rules that values are checked by.
func addRulesJSON(o *jsontree.Object, a *Attribute) {
	rules := []struct {
		key   string
		value any
		given bool
	}{
		{"required", true, a.Required}, {"unique", true, a.Unique && a.Type != UID}, {"private", true, a.Private},
		{"min", pointedTo(a.Min), a.Min != nil}, {"max", pointedTo(a.Max), a.Max != nil},
		{"minLength", pointedTo(a.MinLength), a.MinLength != nil},
		{"maxLength", pointedTo(a.MaxLength), a.MaxLength != nil},
		{"regex", a.RegexSource, a.RegexSource != ""}, {"targetField", a.TargetField, a.TargetField != ""},
		{"enum", jsontree.ListOf(a.Enum), a.Enum != nil}, {"enumName", a.EnumName(), a.EnumName() != ""},
		{"default", a.Default, a.HasDefault},
	}
	for _, rule := range rules {
		if rule.given {
			o.Set(rule.key, rule.value)
		}
	}
}

// pointedTo returns the number that p points to.
func pointedTo[T int | float64](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
