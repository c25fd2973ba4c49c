package moveout

import (
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/strapi/archive"
)

// schemas writes the definitions of the project's own types and components, and that of users, to which a project may
// add attributes. Strapi compares those that an archive has with its own, so those of other built-in types, whose
// details belong to a release of Strapi, are left out.
func (e *exporter) schemas() error {
	for _, t := range e.Model.Types {
		if t.BuiltIn && t.UID != contenttypes.UserUID {
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
	schema := jsontree.ObjectOf(
		"collectionName", t.CollectionName(), "info", info, "options",
		jsontree.ObjectOf("draftAndPublish", t.DraftAndPublish),
		"pluginOptions", plugins, "attributes", t.AttributesJSON(), "kind", t.Kind.String(),
		"modelType", "contentType", "modelName", t.Singular, "uid", t.UID, "globalId", pascal(t.Singular),
	)
	if t.UID == contenttypes.UserUID {
		schema.Set("collectionName", "up_users")
		schema.Set("plugin", "users-permissions")
		schema.Set("globalId", "UsersPermissionsUser")
	}
	return schema
}

func componentSchema(c *contenttypes.Component) *jsontree.Object {
	return jsontree.ObjectOf(
		"collectionName", c.CollectionName(), "info", jsontree.ObjectOf("displayName", c.DisplayName),
		"attributes", c.AttributesJSON(), "modelType", "component", "modelName", c.Name, "uid", c.UID,
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
