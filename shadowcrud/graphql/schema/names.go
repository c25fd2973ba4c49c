package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"lectern/contenttypes"
)

// typeName names the object type of a content-type: MealPlan, or UsersPermissionsUser for a type of a plugin.
func typeName(t *contenttypes.ContentType) string {
	return contenttypes.GraphQLName(plugin(t.UID), t.Singular)
}

// pluralName returns the plural of typeName: MealPlans.
func pluralName(t *contenttypes.ContentType) string {
	return contenttypes.GraphQLName(plugin(t.UID), t.Plural)
}

// componentName names the object type of a component: ComponentDefaultDish.
func componentName(c *contenttypes.Component) string {
	return contenttypes.GraphQLName("component", c.Category, c.Name)
}

// plugin returns the plugin of a uid, lectern for types that belong to none, "" for types of the project.
func plugin(uid string) string {
	if rest, ok := strings.CutPrefix(uid, "plugin::"); ok {
		name, _, _ := strings.Cut(rest, ".")
		return name
	}
	if strings.HasPrefix(uid, "lectern::") {
		return "lectern"
	}
	return ""
}

// fieldName converts the name of a type to that of a field: MealPlans becomes mealPlans.
func fieldName(typ string) string {
	first, size := utf8.DecodeRuneInString(typ)
	return string(unicode.ToLower(first)) + typ[size:]
}

// enumName names the enum of an enumeration attribute: ENUM_MEALPLAN_LEVEL.
func enumName(owner string, a *contenttypes.Attribute) string {
	if a.EnumName() != "" {
		return a.EnumName()
	}
	return "ENUM_" + strings.ToUpper(owner) + "_" + strings.ToUpper(a.Name)
}

// zoneName names the union of a dynamic zone: HomepageHeroDynamicZone.
func zoneName(owner string, a *contenttypes.Attribute) string {
	return owner + contenttypes.GraphQLName(a.Name) + "DynamicZone"
}
