package execution_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphql-go/graphql"

	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// anybody returns configs that allow all callers to use these fields of Query.
func anybody(fields ...string) map[string]schema.FieldConfig {
	c := map[string]schema.FieldConfig{}
	for _, f := range fields {
		c["Query."+f] = schema.FieldConfig{Auth: schema.NoAuth}
	}
	return c
}

// value returns a resolver that always returns v.
func value(v any) graphql.FieldResolveFn {
	return func(graphql.ResolveParams) (any, error) { return v, nil }
}

func fails(err error) graphql.FieldResolveFn {
	return func(graphql.ResolveParams) (any, error) { return nil, err }
}

type stats struct {
	N     int
	Other string `json:"name"`
	Deep  *stats
}

// TestResolvers checks how the results of resolvers are converted to the types of their fields.
func TestResolvers(t *testing.T) {
	const at = `"locations":[{"line":1,"column":2}],`
	misfit := func(message, path, data string) string {
		return `{"errors":[{"message":"` + message + `",` + at + `"path":["` + path +
			`"],"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":` + data + `}`
	}
	failure := func(name, code, message, details string) string {
		return `{"errors":[{"message":"` + message + `","path":["f"],"extensions":{"code":"` + code +
			`","error":{"name":"` + name + `","message":"` + message + `","details":` + details +
			`}}}],"data":{"f":null}}`
	}
	instant := time.Date(2024, 5, 31, 20, 30, 0, 5e6, time.FixedZone("", 7200))
	for _, tt := range []struct {
		name     string
		typ      string // the type of the field Query.f
		defs     string
		resolve  graphql.FieldResolveFn
		query    string // empty: {f}
		want     string
		logged   string
		unlogged bool
	}{
		{name: "a text", typ: "String", resolve: value("hello"), want: `{"data":{"f":"hello"}}`},
		{name: "a number as a text", typ: "String", resolve: value(1.5), want: `{"data":{"f":"1.5"}}`},
		{name: "no text", typ: "String", resolve: value([]int{1}),
			want: misfit("String cannot represent value: […]", "f", `{"f":null}`)},
		{name: "an int", typ: "Int", resolve: value(uint8(5)), want: `{"data":{"f":5}}`},
		{name: "a pointer", typ: "Int", resolve: value(new(int)), want: `{"data":{"f":0}}`},
		{name: "a text that is an int", typ: "Int", resolve: value("12"), want: `{"data":{"f":12}}`},
		{name: "no int", typ: "Int", resolve: value("abc"),
			want: misfit(`Int cannot represent non-integer value: \"abc\"`, "f", `{"f":null}`)},
		{name: "too large an int", typ: "Int", resolve: value(int64(1) << 40),
			want: misfit(`Int cannot represent non 32-bit signed integer value: 1099511627776`, "f", `{"f":null}`)},
		{name: "a float", typ: "Float", resolve: value(float32(0.5)), want: `{"data":{"f":0.5}}`},
		{name: "a bool", typ: "Boolean", resolve: value(true), want: `{"data":{"f":true}}`},
		{name: "no bool", typ: "Boolean", resolve: value("true"),
			want: misfit(`Boolean cannot represent a non boolean value: \"true\"`, "f", `{"f":null}`)},
		{name: "an id", typ: "ID", resolve: value(7), want: `{"data":{"f":"7"}}`},
		{name: "a instant", typ: "DateTime", resolve: value(instant),
			want: `{"data":{"f":"2024-05-31T18:30:00.005Z"}}`},
		{name: "a day", typ: "Date", resolve: value(instant), want: `{"data":{"f":"2024-05-31"}}`},
		{name: "no day", typ: "Date", resolve: value("tomorrow"),
			want: misfit(`Date cannot represent value: \"tomorrow\"`, "f", `{"f":null}`)},
		{name: "a time", typ: "Time", resolve: value("10:00:00"), want: `{"data":{"f":"10:00:00.000"}}`},
		{name: "a long", typ: "Long", resolve: value(int64(1) << 60), want: `{"data":{"f":"1152921504606846976"}}`},
		{name: "JSON", typ: "JSON", resolve: value(map[string]any{"a": []int{1}, "b": nil}),
			want: `{"data":{"f":{"a":[1],"b":null}}}`},
		{name: "JSON in its order", typ: "JSON", resolve: value(ordered("b", "a")),
			want: `{"data":{"f":{"b":1,"a":1}}}`},
		{name: "a scalar of an extension", typ: "Money", defs: "scalar Money",
			resolve: value(map[string]any{"cents": 5}), want: `{"data":{"f":{"cents":5}}}`},
		{name: "an enum", typ: "Color", defs: "enum Color { RED GREEN }", resolve: value("RED"),
			want: `{"data":{"f":"RED"}}`},
		{name: "no enum", typ: "Color", defs: "enum Color { RED GREEN }", resolve: value("BLUE"),
			want: misfit(`Enum \"Color\" cannot represent value: \"BLUE\"`, "f", `{"f":null}`)},
		{name: "null", typ: "String", resolve: value(nil), want: `{"data":{"f":null}}`},
		{name: "a null pointer", typ: "Int", resolve: value((*int)(nil)), want: `{"data":{"f":null}}`},
		{name: "null where none may be", typ: "String!", resolve: value(nil),
			want: misfit("Cannot return null for non-nullable field Query.f.", "f", "null")},
		{name: "a list", typ: "[Int]", resolve: value([]int{1, 2}), want: `{"data":{"f":[1,2]}}`},
		{name: "a list of lists", typ: "[[Int!]]", resolve: value([][]any{{1}, nil, {nil}}),
			want: strings.Replace(misfit("Cannot return null for non-nullable field Query.f.", "f",
				`{"f":[[1],null,null]}`), `["f"]`, `["f",2,0]`, 1)},
		{name: "no list", typ: "[Int]", resolve: value(5),
			want: misfit(`Expected Iterable, but did not find one for field \"Query.f\".`, "f", `{"f":null}`)},
		{name: "an error in a list", typ: "[Int]",
			resolve: value([]any{1, &apierror.Error{Name: "NotFoundError", Message: "gone"}}),
			want:    `{"errors":[{"message":"gone","path":["f",1],"extensions":{"code":"STRAPI_NOT_FOUND_ERROR","error":{"name":"NotFoundError","message":"gone","details":{}}}}],"data":{"f":[1,null]}}`},
		{name: "null in a list", typ: "[Int!]", resolve: value([]any{1, nil}),
			want: strings.Replace(misfit("Cannot return null for non-nullable field Query.f.", "f", `{"f":null}`),
				`["f"]`, `["f",1]`, 1)},
		{name: "a struct", typ: "Stats", defs: "type Stats { n: Int name: String! deep: Stats }",
			resolve: value(&stats{N: 1, Other: "x", Deep: &stats{N: 2}}),
			query:   "{f{deep{name deep{n} n} name}}",
			want:    `{"data":{"f":{"deep":{"name":"","deep":null,"n":2},"name":"x"}}}`},
		{name: "a map", typ: "Stats", defs: "type Stats { n: Int name: String! deep: Stats }",
			resolve: value(map[string]any{"n": 1, "deep": map[string]any{"n": 2}}),
			query:   "{f{n x:__typename deep{n name}}}",
			want:    `{"errors":[{"message":"Cannot return null for non-nullable field Stats.name.","locations":[{"line":1,"column":26}],"path":["f","deep","name"],"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":{"f":{"n":1,"x":"Stats","deep":null}}}`},
		{name: "a union", typ: "[Thing]", defs: "type A { x: Int } type B { y: Int } union Thing = A | B",
			resolve: value([]any{map[string]any{"__typename": "B", "y": 3}, map[string]any{"__typename": "A", "x": 4}}),
			query:   "{f{__typename ...on A{x} ...on B{y}}}",
			want:    `{"data":{"f":[{"__typename":"B","y":3},{"__typename":"A","x":4}]}}`},
		{name: "nobody knows of what type", typ: "Node",
			defs:    "interface Node { id: ID } type A implements Node { id: ID }",
			resolve: value(map[string]any{"id": 1}), query: "{f{id}}",
			want: misfit(`Abstract type \"Node\" must resolve to an Object type at runtime for field \"Query.f\". Either the \"Node\" type should provide a \"resolveType\" function or each possible type should provide an \"isTypeOf\" function.`, "f", `{"f":null}`)},
		{name: "an interface", typ: "Node", defs: "interface Node { id: ID } type A implements Node { id: ID }",
			resolve: value(map[string]any{"id": 1, "__typename": "A"}), query: "{f{id __typename}}",
			want: `{"data":{"f":{"id":"1","__typename":"A"}}}`},
		{name: "put off", typ: "String", resolve: value(func() (any, error) { return "later", nil }),
			want: `{"data":{"f":"later"}}`},

		{name: "an error for clients", typ: "String",
			resolve: fails(&apierror.Error{Name: "ApplicationError", Message: "no", Details: []any{}}),
			want:    failure("ApplicationError", "STRAPI_APPLICATION_ERROR", "no", "[]"), unlogged: true},
		{name: "forbidden", typ: "String", resolve: fails(&apierror.Error{Name: "ForbiddenError", Message: "no"}),
			want: failure("ForbiddenError", "FORBIDDEN", "no", "{}")},
		{name: "unauthorized", typ: "String", resolve: fails(&apierror.Error{Name: "UnauthorizedError", Message: "no"}),
			want: failure("UnauthorizedError", "FORBIDDEN", "no", "{}")},
		{name: "a policy's error", typ: "String",
			resolve: fails(fmt.Errorf("wrapped: %w", &apierror.Error{Name: "PolicyError", Message: "no"})),
			want:    failure("PolicyError", "FORBIDDEN", "no", "{}")},
		{name: "wrong input", typ: "String", resolve: fails(apierror.Validation("no")),
			want: failure("ValidationError", "BAD_USER_INPUT", "no", "{}")},
		{name: "an error that clients may not see", typ: "String", resolve: fails(errors.New("secret cause")),
			want:   failure("InternalServerError", "INTERNAL_SERVER_ERROR", "Internal Server Error", "{}"),
			logged: "secret cause"},
		{name: "a panic", typ: "String", resolve: func(graphql.ResolveParams) (any, error) { panic("secret panic") },
			want:   failure("InternalServerError", "INTERNAL_SERVER_ERROR", "Internal Server Error", "{}"),
			logged: "path=[f]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e schema.Extensions
			x := schema.Extension{TypeDefs: "extend type Query { f: " + tt.typ + " } " + tt.defs,
				ResolversConfig: anybody("f")}
			if tt.resolve != nil {
				x.Resolvers = schema.Resolvers{"Query": {"f": tt.resolve}}
			}
			e.Use(x)
			s := newExtended(t, limits.Operation{}, &e)
			query := tt.query
			if query == "" {
				query = "{f}"
			}
			for range 2 {
				if got := s.askAs(permission.NewAccess(nil), query); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			}
			if !strings.Contains(s.log.String(), tt.logged) || tt.unlogged && s.log.Len() > 0 {
				t.Errorf("logged %q, want %q", s.log.String(), tt.logged)
			}
		})
	}
}

func ordered(keys ...string) *jsontree.Object {
	o := jsontree.NewObject()
	for _, key := range keys {
		o.Set(key, jsontree.Number("1"))
	}
	return o
}
