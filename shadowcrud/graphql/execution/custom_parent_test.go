package execution_test

import (
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/documents"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// TestComputedOverAMap checks that a field computed from its document fails, with an explanation in the log, if another
// resolver returned a map in place of the document. It also checks that the field works for rows that a query found.
func TestComputedOverAMap(t *testing.T) {
	const uid = "api::restaurant.restaurant"
	resolvers := schema.Resolvers{
		"Query": {
			"sample": func(graphql.ResolveParams) (any, error) { return map[string]any{"name": "x"}, nil },
			"largest": func(p graphql.ResolveParams) (any, error) {
				return schema.CallerOf(p.Context).Server.Documents().Query(uid).Sort("seats:desc").First(p.Context)
			},
			"none": func(p graphql.ResolveParams) (any, error) {
				return schema.CallerOf(p.Context).Server.Documents().Query(uid).Where(
					documents.Eq("name", "none")).First(p.Context)
			},
			"sorted": func(p graphql.ResolveParams) (any, error) {
				return schema.CallerOf(p.Context).Server.Documents().Query(uid).Sort("seats").All(p.Context)
			},
		},
		"Restaurant": {"length": func(p graphql.ResolveParams) (any, error) {
			row, err := schema.ParentOf(p)
			if err != nil {
				return nil, err
			}
			return len(row.Text("name")), nil
		}},
	}
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs:  "extend type Query { sample: Restaurant largest: Restaurant none: Restaurant sorted: [Restaurant] } extend type Restaurant { length: Int }",
		Resolvers: resolvers,
	})
	s := newExtended(t, limits.Operation{}, &e)
	s.fill(3)
	for query, want := range map[string]string{
		"{largest{seats length owner{firstName}}}": `{"data":{"largest":{"seats":3,"length":12,"owner":{"firstName":"P2"}}}}`,
		"{sorted{seats length}}":                   `{"data":{"sorted":[{"seats":1,"length":12},{"seats":2,"length":12},{"seats":3,"length":12}]}}`,
		"{none{length}}":                           `{"data":{"none":null}}`,
		"{sample{name length}}": `{"errors":[{"message":"Internal Server Error","path":["sample","length"],"extensions":{"code":"INTERNAL_SERVER_ERROR",` +
			`"error":{"name":"InternalServerError","message":"Internal Server Error","details":{}}}}],"data":{"sample":{"name":"x","length":null}}}`,
	} {
		if got := s.ask(query); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
	log := s.log.String()
	if !strings.Contains(
		log, "Restaurant.length is computed of a document, and its parent is a map[string]interface {}") ||
		strings.Contains(log, "panic") {
		t.Errorf("the log says %s", log)
	}
}
