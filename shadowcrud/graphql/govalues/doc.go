// Package govalues converts between the values of GraphQL and the Go values that functions of programs take and return.
//
// Resolvers and middlewares get arguments as graphql-go passes them: Int is int, Float float64, Long int64, an enum the
// value of its name, an input a map[string]any, a list a []any, JSON the types of encoding/json, a scalar made in Go
// the result of its ParseValue, and everything else a string. Arguments that middlewares do not change reach the engine
// as the request sent them.
package govalues
