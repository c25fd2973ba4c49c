package contenttypes

// GraphQLName is the name that words have as a GraphQL type: meal-plan is MealPlan, and component, default, dish is
// ComponentDefaultDish. The loader has made sure that no two definitions come to the same name.
func GraphQLName(names ...string) string { return pascal(names...) }
