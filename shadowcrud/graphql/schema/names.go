package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"lectern/contenttypes"
)

// typeName is the object type of a content-type: MealPlan, and UsersPermissionsUser for those of plugins.
func typeName(t *contenttypes.ContentType) string {
	return contenttypes.GraphQLName(plugin(t.UID), t.Singular)
}

// pluralName is typeName of many: MealPlans.
func pluralName(t *contenttypes.ContentType) string {
	return contenttypes.GraphQLName(plugin(t.UID), t.Plural)
}

// componentName is the object type of a component: ComponentDefaultDish.
func componentName(c *contenttypes.Component) string {
	return contenttypes.GraphQLName("component", c.Category, c.Name)
}

// plugin is the plugin that a uid belongs to, empty for the types of the project.
func plugin(uid string) string {
	if rest, ok := strings.CutPrefix(uid, "plugin::"); ok {
		name, _, _ := strings.Cut(rest, ".")
		return name
	}
	return ""
}

// fieldName makes the name of a field from that of a type: MealPlans is mealPlans.
func fieldName(typ string) string {
	first, size := utf8.DecodeRuneInString(typ)
	return string(unicode.ToLower(first)) + typ[size:]
}

// enumName is the enum of an enumeration attribute: ENUM_MEALPLAN_LEVEL.
func enumName(owner string, a *contenttypes.Attribute) string {
	if a.EnumName() != "" {
		return a.EnumName()
	}
	return "ENUM_" + strings.ToUpper(owner) + "_" + strings.ToUpper(a.Name)
}

// zoneName is the union of a dynamic zone: HomepageHeroDynamicZone.
func zoneName(owner string, a *contenttypes.Attribute) string {
	return owner + contenttypes.GraphQLName(a.Name) + "DynamicZone"
}
