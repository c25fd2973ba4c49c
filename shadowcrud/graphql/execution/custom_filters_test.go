package execution_test

import (
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// TestFiltersOf checks that the conditions that a resolver gets from FiltersOf mean the same as on generated fields,
// and that nobody can filter by hidden attributes.
func TestFiltersOf(t *testing.T) {
	const uid = "api::restaurant.restaurant"
	find := func(argument, of string) graphql.FieldResolveFn {
		return func(p graphql.ResolveParams) (any, error) {
			when, err := schema.FiltersOf(p, argument)
			if err != nil {
				return nil, err
			}
			return schema.CallerOf(p.Context).Server.Documents().Query(of).Where(when).Sort("id").All(p.Context)
		}
	}
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs: `extend type Query { f(filters: RestaurantFiltersInput!, n: Int): [Restaurant] g(filters: RestaurantFiltersInput): [Restaurant]
			number(n: Int = 1): [Restaurant] none: [Restaurant] other(filters: RestaurantFiltersInput): [Category] }`,
		Resolvers: schema.Resolvers{"Query": {"f": find("filters", uid), "g": find("filters", uid),
			"number": find("n", uid), "none": find("filters", uid),
			"other": find("filters", "api::category.category")}},
		ResolversConfig: anybody("f", "g", "number", "none", "other"),
	})
	s := newExtended(t, limits.Operation{Conditions: 100}, &e)
	s.fill(3)
	failure := func(message string) string {
		return `{"errors":[{"message":"` + message
	}
	some := permission.NewAccess([]string{uid + ".find"})
	for _, tt := range []struct {
		name, query string
		access      *permission.Access
		want        string
		logged      string
	}{
		{name: "a comparison", query: `{f(filters:{seats:{gte:2}}){seats}}`,
			want: `{"data":{"f":[{"seats":2},{"seats":3}]}}`},
		{name: "joined", query: `{f(filters:{or:[{seats:{eq:1}},{name:{contains:"2"}}],not:{seats:{eq:1}}}){seats}}`,
			want: `{"data":{"f":[{"seats":3}]}}`},
		{name: "through a relation", query: `{f(filters:{owner:{firstName:{eq:"P1"}}}){seats}}`,
			want: `{"data":{"f":[{"seats":2}]}}`},
		{name: "nothing asked", query: `{f(filters:{}){seats}}`,
			want: `{"data":{"f":[{"seats":1},{"seats":2},{"seats":3}]}}`},
		{name: "not given", query: `{g{seats}}`, want: `{"data":{"g":[{"seats":1},{"seats":2},{"seats":3}]}}`},
		{name: "null", query: `{g(filters:null){seats}}`, want: `{"data":{"g":[{"seats":1},{"seats":2},{"seats":3}]}}`},
		{name: "what is hidden", query: `{f(filters:{owner:{firstName:{eq:"P1"}}}){seats}}`, access: some,
			want: failure("Invalid key owner")},
		{name: "what is hidden, without a condition", query: `{f(filters:{owner:{}}){seats}}`, access: some,
			want: failure("Invalid key owner")},
		{name: "what is hidden, null", query: `{f(filters:{and:[{owner:null}]}){seats}}`, access: some,
			want: failure("Invalid key owner")},
		{name: "a relation that is null", query: `{f(filters:{owner:null}){seats}}`,
			want: `{"data":{"f":[{"seats":1},{"seats":2},{"seats":3}]}}`},
		{name: "a password", query: `{f(filters:{secret:{eq:"x"}}){seats}}`, want: failure("Invalid key secret")},
		{name: "too many conditions", query: `{f(filters:{seats:{in:[` + strings.Repeat("1 ", 100) + `]}}){seats}}`,
			want: failure("Too many conditions: at most 100 are allowed (graphql.config.limits.conditions)")},
		{name: "no filters", query: `{number{seats}}`, want: failure("Internal Server Error"),
			logged: "Int is no input of filters"},
		{name: "no such argument", query: `{none{seats}}`, want: failure("Internal Server Error"),
			logged: `Query.none has no argument`},
		{name: "filters of another type", query: `{other(filters:{seats:{gte:2}}){name}}`,
			want:   failure("Internal Server Error"),
			logged: "a filter on api::restaurant.restaurant is used for api::category.category"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			access := tt.access
			if access == nil {
				access = permission.FullAccess
			}
			s.log.Reset()
			if got := s.askAs(access, tt.query); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if log := s.log.String(); !strings.Contains(log, tt.logged) || tt.logged == "" && log != "" {
				t.Errorf("the log says %s", log)
			}
		})
	}
}
