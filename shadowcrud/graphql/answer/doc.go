// Package answer writes the JSON of GraphQL answers: values, null in place of what failed, and the errors with their
// paths. It accounts for the memory of an answer, and knows neither schemas nor the store's rows.
package answer
