package execution_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

const restaurantUID = "api::restaurant.restaurant"

// A trail records which functions ran, in order.
type trail struct {
	mu    sync.Mutex
	steps []string
}

func (l *trail) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, fmt.Sprintf(format, args...))
}

func (l *trail) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	steps := l.steps
	l.steps = nil
	return steps
}

// traced returns a middleware that records when it begins and ends.
func (l *trail) traced(name string) schema.MiddlewareUse {
	return schema.MiddlewareUse{Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
		l.add("%s begins", name)
		v, err := next(p)
		l.add("%s ends", name)
		return v, err
	}}
}

func (l *trail) judging(name string, passes bool) schema.PolicyUse {
	return schema.PolicyUse{Func: func(*schema.PolicyContext, schema.Server) (bool, error) {
		l.add("%s", name)
		return passes, nil
	}}
}

// all returns the documentIds of the published documents of a type, in the order of creation.
func (s *server) all(uid string) (ids []string) {
	s.t.Helper()
	typ := s.model.Type(uid)
	err := s.store.View(func(snap *store.Snapshot) error {
		page, err := snap.Find(&store.Query{Type: typ, Limit: 100, Locales: store.LocaleSet{All: true},
			Sort: []store.SortKey{{Path: []*contenttypes.Attribute{typ.Attribute("id")}}}})
		for _, r := range page.Rows {
			ids = append(ids, schema.DocumentOf(r).DocumentID)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

func policyFailed(path string) string {
	return `{"message":"Policy Failed","path":` + path +
		`,"extensions":{"code":"FORBIDDEN","error":{"name":"PolicyError","message":"Policy Failed","details":{}}}}`
}

func forbidden(path string) string {
	return `{"message":"Forbidden access","path":` + path +
		`,"extensions":{"code":"FORBIDDEN","error":{"name":"ForbiddenError","message":"Forbidden access","details":{}}}}`
}

// TestCustomised checks configs and resolvers of generated fields, and resolvers that return values of generated types.
func TestCustomised(t *testing.T) {
	var s *server
	var ran trail
	everybody := permission.NewAccess(
		[]string{restaurantUID + ".find", restaurantUID + ".findOne", "api::category.category.find"})
	upper := schema.MiddlewareUse{Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
		v, err := next(p)
		name, _ := v.(string)
		return strings.ToUpper(name), err
	}}
	document := func(i int) schema.Document {
		return schema.Document{Type: restaurantUID, DocumentID: s.all(restaurantUID)[i]}
	}
	resolver := func(f func(graphql.ResolveParams) any) graphql.FieldResolveFn {
		return func(p graphql.ResolveParams) (any, error) { return f(p), nil }
	}
	config := func(key string, c schema.FieldConfig) map[string]schema.FieldConfig {
		return map[string]schema.FieldConfig{key: c}
	}
	around := func(f schema.Middleware) schema.FieldConfig {
		return schema.FieldConfig{Middlewares: []schema.MiddlewareUse{{Func: f}}}
	}
	for _, tt := range []struct {
		name     string
		defs     string
		resolve  schema.Resolvers
		config   map[string]schema.FieldConfig
		access   *permission.Access // nil: full
		query    string
		want     string
		ran      []string
		limits   limits.Operation
		variable string
	}{
		{name: "a field of an extension", defs: "extend type Restaurant { words(min: Int = 1): Int }",
			resolve: schema.Resolvers{"Restaurant": {"words": resolver(func(p graphql.ResolveParams) any {
				row := p.Source.(*schema.Row)
				return row.Get("seats").(int)*10 + len(row.Get("name").(string)) + p.Args["min"].(int)
			})}},
			query: `{restaurants(sort:"seats"){words seats x:words(min:100)}}`,
			want:  `{"data":{"restaurants":[{"words":23,"seats":1,"x":122},{"words":33,"seats":2,"x":132},{"words":43,"seats":3,"x":142}]}}`},
		{name: "below relations",
			defs: "extend type Person { initial: String } extend type ComponentDefaultGeo { where: String }",
			resolve: schema.Resolvers{
				"Person": {"initial": resolver(func(p graphql.ResolveParams) any { return p.Source.(*schema.Row).Get("firstName").(string)[:1] })},
				"ComponentDefaultGeo": {"where": resolver(func(p graphql.ResolveParams) any {
					return fmt.Sprint(p.Source.(*schema.Row).Get("lat"), p.Info.Path.AsArray())
				})}},
			query: `{restaurants_connection(sort:"seats",pagination:{limit:2}){nodes{owner{initial restaurants(sort:"seats"){owner{firstName initial}}} address{geo{where}} } pageInfo{total}}}`,
			want: `{"data":{"restaurants_connection":{"nodes":[{"owner":{"initial":"P","restaurants":[{"owner":{"firstName":"P0","initial":"P"}}]},"address":{"geo":{"where":"41.9 [restaurants_connection nodes 0 address geo where]"}}},` +
				`{"owner":{"initial":"P","restaurants":[{"owner":{"firstName":"P1","initial":"P"}}]},"address":{"geo":{"where":"41.9 [restaurants_connection nodes 1 address geo where]"}}}],"pageInfo":{"total":3}}}}`},
		{name: "in a zone", defs: "extend type ComponentBlocksSlider { loud: String }",
			resolve: schema.Resolvers{"ComponentBlocksSlider": {"loud": resolver(func(p graphql.ResolveParams) any { return p.Source.(*schema.Row).Get("caption").(string) + "!" })}},
			query:   `{restaurants(sort:"seats",pagination:{limit:1}){dz{__typename ...on ComponentBlocksSlider{loud}}}}`,
			want:    `{"data":{"restaurants":[{"dz":[{"__typename":"ComponentBlocksRichText"},{"__typename":"ComponentBlocksSlider","loud":"c!"}]}]}}`},
		{name: "a document", defs: "extend type Query { f: Restaurant g: [Restaurant!] h: [Restaurant]! }",
			config: anybody("f", "g", "h"), access: everybody,
			resolve: schema.Resolvers{"Query": {
				"f": resolver(func(graphql.ResolveParams) any { d := document(1); return &d }),
				"g": resolver(func(graphql.ResolveParams) any {
					return []schema.Document{document(2), {Type: restaurantUID, DocumentID: "none"}, document(0),
						document(2)}
				}),
				"h": value([]any{schema.Document{Type: restaurantUID, DocumentID: "none"}})}},
			query: `{g{name categories(sort:"name"){name}} f{__typename name owner{firstName} address{city}} h{name}}`,
			want: `{"errors":[` + forbidden(`["f","owner"]`) +
				`],"data":{"g":[{"name":"Restaurant 2","categories":[{"name":"C2"},{"name":"C3"}]},{"name":"Restaurant 0","categories":[{"name":"C0"},{"name":"C1"}]},{"name":"Restaurant 2","categories":[{"name":"C2"},{"name":"C3"}]}],` +
				`"f":{"__typename":"Restaurant","name":"Restaurant 1","owner":null,"address":{"city":"Rome"}},"h":[]}}`},
		{name: "no such document", defs: "extend type Query { f: Restaurant }", query: "{f{name}}",
			resolve: schema.Resolvers{"Query": {"f": value(schema.Document{Type: restaurantUID, DocumentID: "x"})}},
			want:    `{"data":{"f":null}}`},
		{name: "no such document where there must be one", defs: "extend type Query { g: Restaurant! }",
			query:   "{g{name}}",
			resolve: schema.Resolvers{"Query": {"g": value(schema.Document{Type: restaurantUID, DocumentID: "x"})}},
			want:    `{"errors":[{"message":"Cannot return null for non-nullable field Query.g.","locations":[{"line":1,"column":2}],"path":["g"],"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":null}`},
		{name: "a document of another type", defs: "extend type Query { f: Category }", query: "{f{name}}",
			resolve: schema.Resolvers{"Query": {"f": resolver(func(graphql.ResolveParams) any { return document(0) })}},
			want:    `{"errors":[{"message":"Internal Server Error","path":["f"],"extensions":{"code":"INTERNAL_SERVER_ERROR","error":{"name":"InternalServerError","message":"Internal Server Error","details":{}}}}],"data":{"f":null}}`},
		{name: "a document of a union",
			defs:  "extend type Query { f: [Thing] } union Thing = Restaurant | Category | Extra type Extra { x: Int }",
			query: "{f{__typename ...on Restaurant{seats} ...on Extra{x}}}",
			resolve: schema.Resolvers{"Query": {"f": resolver(func(graphql.ResolveParams) any {
				return []any{document(0), schema.Document{Type: "api::category.category",
					DocumentID: s.all("api::category.category")[0]}, map[string]any{"__typename": "Extra", "x": 1}}
			})}}, want: `{"data":{"f":[{"__typename":"Restaurant","seats":1},{"__typename":"Category"},{"__typename":"Extra","x":1}]}}`},
		{name: "a document that is found from its parent",
			defs:  "extend type Restaurant { self: Restaurant next: Restaurant }",
			query: `{restaurants(sort:"seats"){self{seats self{name}} next{seats next{seats}}}}`,
			resolve: schema.Resolvers{"Restaurant": {"self": resolver(func(p graphql.ResolveParams) any { return p.Source }),
				"next": resolver(func(p graphql.ResolveParams) any {
					if seats := p.Source.(*schema.Row).Get("seats").(int); seats < 3 {
						return document(seats)
					}
					return nil
				})}},
			want: `{"data":{"restaurants":[{"self":{"seats":1,"self":{"name":"Restaurant 0"}},"next":{"seats":2,"next":{"seats":3}}},{"self":{"seats":2,"self":{"name":"Restaurant 1"}},"next":{"seats":3,"next":null}},{"self":{"seats":3,"self":{"name":"Restaurant 2"}},"next":null}]}}`},
		{name: "a document of an interface",
			defs: "extend type Query { f: [Node] } interface Node { documentId: ID! name: String! } extend type Restaurant implements Node extend type Category implements Node", query: "{f{__typename name ...on Restaurant{seats}}}",
			resolve: schema.Resolvers{"Query": {"f": resolver(func(graphql.ResolveParams) any {
				return []schema.Document{document(0),
					{Type: "api::category.category", DocumentID: s.all("api::category.category")[0]}}
			})}}, want: `{"data":{"f":[{"__typename":"Restaurant","name":"Restaurant 0","seats":1},{"__typename":"Category","name":"C0"}]}}`},
		{name: "a document within a map, in no locale",
			defs: "extend type Query { f: [Best] } type Best { of: Restaurant }", query: "{f{of{name}}}",
			resolve: schema.Resolvers{"Query": {"f": resolver(func(graphql.ResolveParams) any {
				d := document(0)
				d.Locale = "xx"
				return []map[string]any{{"of": document(1)}, {"of": d}}
			})}}, want: `{"data":{"f":[{"of":{"name":"Restaurant 1"}},{"of":null}]}}`},
		{name: "a component of its parent",
			defs:  "extend type Restaurant { where: ComponentDefaultAddress zone: [RestaurantDzDynamicZone] }",
			query: `{restaurants(sort:"seats",pagination:{limit:1}){where{city geo{lat}} zone{__typename ...on ComponentBlocksSlider{caption}}}}`,
			resolve: schema.Resolvers{"Restaurant": {"where": resolver(func(p graphql.ResolveParams) any { return p.Source.(*schema.Row).Get("address") }),
				"zone": resolver(func(p graphql.ResolveParams) any { return p.Source.(*schema.Row).Get("dz") })}},
			want: `{"data":{"restaurants":[{"where":{"city":"Rome","geo":{"lat":41.9}},"zone":[{"__typename":"ComponentBlocksRichText"},{"__typename":"ComponentBlocksSlider","caption":"c"}]}]}}`},
		{name: "a map for a generated type", defs: "extend type Query { f: Restaurant }",
			query:  "{f{documentId name seats tier address{city} categories{name} words}}",
			config: config("Restaurant.name", schema.FieldConfig{Middlewares: []schema.MiddlewareUse{upper}}),
			resolve: schema.Resolvers{"Query": {"f": value(map[string]any{"documentId": "made", "name": "up",
				"seats": 4, "tier": "gold", "address": map[string]any{"city": "X"},
				"categories": []map[string]any{{"name": "Y"}}})},
				"Restaurant": {"words": resolver(func(p graphql.ResolveParams) any { return p.Source.(map[string]any)["seats"] })}},
			want: `{"data":{"f":{"documentId":"made","name":"UP","seats":4,"tier":"gold","address":{"city":"X"},"categories":[{"name":"Y"}],"words":4}}}`},
		{name: "a resolver in place of a generated field",
			resolve: schema.Resolvers{"Query": {"restaurants": resolver(func(p graphql.ResolveParams) any {
				return []any{document(2),
					map[string]any{"name": fmt.Sprint(p.Args["pagination"], p.Args["sort"], p.Args["status"])}}
			})}, "Restaurant": {"slug": value("same")}},
			query: `{restaurants(sort:["x"]){name slug} restaurants_connection(sort:"seats"){nodes{slug}}}`,
			want:  `{"data":{"restaurants":[{"name":"Restaurant 2","slug":"same"},{"name":"map[] [x]PUBLISHED","slug":"same"}],"restaurants_connection":{"nodes":[{"slug":"same"},{"slug":"same"},{"slug":"same"}]}}}`},
		{name: "a resolver in place of a generated page",
			resolve: schema.Resolvers{"Query": {"restaurants_connection": resolver(func(p graphql.ResolveParams) any {
				return map[string]any{"nodes": []schema.Document{document(0)},
					"pageInfo": map[string]any{"total": 7, "page": 1, "pageSize": 1, "pageCount": 7}}
			})}}, query: `{restaurants_connection{pageInfo{total} a:nodes{name} b:nodes{seats}}}`,
			want: `{"data":{"restaurants_connection":{"pageInfo":{"total":7},"a":[{"name":"Restaurant 0"}],"b":[{"seats":1}]}}}`},

		{name: "only full access and users, where nothing is said", defs: "extend type Query { f: Int }",
			resolve: schema.Resolvers{"Query": {"f": value(1)}}, access: everybody, query: "{f}", want: `{"errors":[` +
				forbidden(`["f"]`) + `],"data":{"f":null}}`},
		{name: "full access, where nothing is said", defs: "extend type Query { f: Int }",
			resolve: schema.Resolvers{"Query": {"f": value(1)}}, query: "{f}", want: `{"data":{"f":1}}`},
		{name: "all scopes", defs: "extend type Query { f: Int }", resolve: schema.Resolvers{"Query": {"f": value(1)}},
			access: everybody, query: "{f}",
			config: config("Query.f",
				schema.FieldConfig{Auth: schema.Scopes(restaurantUID+".find", "api::category.category.find")}),
			want: `{"data":{"f":1}}`},
		{name: "not all scopes", defs: "extend type Query { f: Int }",
			resolve: schema.Resolvers{"Query": {"f": value(1)}}, access: everybody, query: "{f}",
			config: config("Query.f",
				schema.FieldConfig{Auth: schema.Scopes(restaurantUID+".find", restaurantUID+".create")}),
			want: `{"errors":[` + forbidden(`["f"]`) + `],"data":{"f":null}}`},
		{name: "a generated field for anybody", access: permission.NewAccess(nil),
			query: `{restaurants(sort:"seats",filters:{seats:{gt:1}}){name owner{firstName}}}`,
			config: map[string]schema.FieldConfig{"Query.restaurants": {Auth: schema.NoAuth},
				"Restaurant.owner": {Auth: schema.NoAuth}},
			want: `{"data":{"restaurants":[{"name":"Restaurant 1","owner":{"firstName":"P1"}},{"name":"Restaurant 2","owner":{"firstName":"P2"}}]}}`},
		{name: "a generated field for fewer", access: everybody,
			query: `{category(documentId:"x"){name} restaurants(sort:"seats",pagination:{limit:2}){slug}}`,
			config: map[string]schema.FieldConfig{"Query.category": {Auth: schema.Scopes(restaurantUID + ".create")},
				"Restaurant.slug": {Auth: schema.Scopes(restaurantUID + ".create")}},
			want: `{"errors":[` + forbidden(`["category"]`) + `,` + forbidden(`["restaurants",0,"slug"]`) + `,` +
				forbidden(`["restaurants",1,"slug"]`) +
				`],"data":{"category":null,"restaurants":[{"slug":null},{"slug":null}]}}`},

		{name: "the order of things", defs: "extend type Query { f: String }", query: "{f x:f}",
			ran: []string{"policy 1", "policy 2", "policy 1", "policy 2", "A begins", "B begins", "resolver", "B ends",
				"A ends", "A begins", "B begins", "resolver", "B ends", "A ends"},
			resolve: schema.Resolvers{"Query": {"f": func(graphql.ResolveParams) (any,
				error) {
				ran.add("resolver")
				return "v", nil
			}}},
			config: config("Query.f",
				schema.FieldConfig{Policies: []schema.PolicyUse{ran.judging("policy 1", true),
					ran.judging("policy 2", true)},
					Middlewares: []schema.MiddlewareUse{ran.traced("A"), ran.traced("B")}}),
			want: `{"data":{"f":"v","x":"v"}}`},
		{name: "who may not ask meets no policy", defs: "extend type Query { f: String }", query: "{f}",
			access: everybody, resolve: schema.Resolvers{"Query": {"f": value("x")}},
			config: config("Query.f", schema.FieldConfig{Policies: []schema.PolicyUse{ran.judging("policy", true)}}),
			want:   `{"errors":[` + forbidden(`["f"]`) + `],"data":{"f":null}}`},
		{name: "a policy that fails lets nothing else run",
			query: "{restaurants{name} categories(sort:\"name\",pagination:{limit:1}){name}}",
			ran:   []string{"yes", "no"},
			config: config("Query.restaurants",
				schema.FieldConfig{Policies: []schema.PolicyUse{ran.judging("yes", true), ran.judging("no", false),
					ran.judging("unasked", true)}, Middlewares: []schema.MiddlewareUse{ran.traced("A")}}),
			want: `{"errors":[` + policyFailed(`["restaurants"]`) + `],"data":null}`},
		{name: "an error of a policy", defs: "extend type Query { f: String }", query: "{f}",
			resolve: schema.Resolvers{"Query": {"f": value("x")}},
			config: config("Query.f",
				schema.FieldConfig{Policies: []schema.PolicyUse{{Func: func(*schema.PolicyContext, schema.Server) (bool,
					error) {
					return true, &apierror.Error{Name: "PolicyError", Message: "not today", Details: []any{}}
				}}}}),
			want: `{"errors":[{"message":"not today","path":["f"],"extensions":{"code":"FORBIDDEN","error":{"name":"PolicyError","message":"not today","details":[]}}}],"data":{"f":null}}`},
		{name: "policies of nested fields judge each parent", query: `{restaurants(sort:"seats"){seats name}}`,
			config: config("Restaurant.seats",
				schema.FieldConfig{Policies: []schema.PolicyUse{{Func: func(c *schema.PolicyContext,
					s schema.Server) (bool, error) {
					return c.Parent.(*schema.Row).Get("seats") != 2 && s.Documents() != nil, nil
				}}}}),
			want: `{"errors":[` + policyFailed(`["restaurants",1,"seats"]`) +
				`],"data":{"restaurants":[{"seats":1,"name":"Restaurant 0"},{"seats":null,"name":"Restaurant 1"},{"seats":3,"name":"Restaurant 2"}]}}`},
		{name: "nothing runs below what a policy keeps away",
			query: `{restaurants(sort:"seats",pagination:{limit:1}){owner{firstName}}}`,
			config: map[string]schema.FieldConfig{"Restaurant.owner": {Policies: []schema.PolicyUse{ran.judging("owner",
				false)}}, "Person.firstName": {Policies: []schema.PolicyUse{ran.judging("firstName", true)}}},
			want: `{"errors":[` + policyFailed(`["restaurants",0,"owner"]`) +
				`],"data":{"restaurants":[{"owner":null}]}}`, ran: []string{"owner"}},

		{name: "a middleware of a value", query: `{restaurants(sort:"seats",pagination:{limit:2}){n:name}}`,
			config: config("Restaurant.name", schema.FieldConfig{Middlewares: []schema.MiddlewareUse{upper}}),
			want:   `{"data":{"restaurants":[{"n":"RESTAURANT 0"},{"n":"RESTAURANT 1"}]}}`},
		{name: "a middleware of a relation to many",
			query: `{restaurants(sort:"seats",pagination:{limit:2}){categories(sort:"name:desc"){name} categories_connection(sort:"name"){nodes{name}}}}`,
			config: config("Restaurant.categories",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					v, err := next(p)
					return v.([]*schema.Row)[1:], err
				})), want: `{"data":{"restaurants":[{"categories":[{"name":"C0"}],"categories_connection":{"nodes":[{"name":"C0"},{"name":"C1"}]}},{"categories":[{"name":"C1"}],"categories_connection":{"nodes":[{"name":"C1"},{"name":"C2"}]}}]}}`},
		{name: "a middleware of a page of a relation",
			query: `{restaurants(sort:"seats",pagination:{limit:1}){categories_connection(sort:"name"){nodes{name parent{name}}}}}`,
			config: config("Restaurant.categories_connection",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					v, err := next(p)
					slices.Reverse(v.(*schema.Page).Nodes)
					return v, err
				})), want: `{"data":{"restaurants":[{"categories_connection":{"nodes":[{"name":"C1","parent":null},{"name":"C0","parent":null}]}}]}}`},
		{name: "a middleware of the nodes of a page",
			query: `{restaurants_connection(sort:"seats"){pageInfo{total pageSize} nodes{name owner{firstName}}}}`,
			config: config("RestaurantEntityResponseCollection.nodes",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					v, err := next(p)
					return v.([]*schema.Row)[2:], err
				})), want: `{"data":{"restaurants_connection":{"pageInfo":{"total":3,"pageSize":10},"nodes":[{"name":"Restaurant 2","owner":{"firstName":"P2"}}]}}}`},
		{name: "a middleware of a relation to one, of components and zones",
			query: `{restaurants(sort:"seats",pagination:{limit:1}){owner{firstName} address{city geo{lat}} dz{__typename ...on Error{code message} ...on ComponentBlocksSlider{caption}}}}`,
			config: map[string]schema.FieldConfig{
				"Restaurant.owner":   {Middlewares: []schema.MiddlewareUse{ran.traced("owner")}},
				"Restaurant.address": {Middlewares: []schema.MiddlewareUse{ran.traced("address")}},
				"Restaurant.dz": around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					v, err := next(p)
					return []any{v.([]*schema.Row)[1], map[string]any{"__typename": "Error", "code": "X"}}, err
				})},
			want: `{"data":{"restaurants":[{"owner":{"firstName":"P0"},"address":{"city":"Rome","geo":{"lat":41.9}},"dz":[{"__typename":"ComponentBlocksSlider","caption":"c"},{"__typename":"Error","code":"X","message":null}]}]}}`,
			ran:  []string{"owner begins", "owner ends", "address begins", "address ends"}},
		{name: "a middleware that calls nothing", query: `{category(documentId:"x"){name position}}`,
			config: config("Query.category", around(func(graphql.FieldResolveFn, graphql.ResolveParams) (any, error) {
				return map[string]any{"name": "mine"}, nil
			})), want: `{"data":{"category":{"name":"mine","position":null}}}`},
		{name: "a middleware that changes arguments",
			query: `query($n:Int){restaurants_connection(sort:"seats",filters:{seats:{gt:$n}}){nodes{seats} pageInfo{total pageSize}} restaurants(sort:"seats"){seats}}`, variable: `{"n":0}`,
			config: config("Query.restaurants_connection",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					p.Args["pagination"] = map[string]any{"limit": 1}
					p.Args["sort"] = []string{"seats:desc"}
					p.Args["filters"].(map[string]any)["tier"] = map[string]any{"eq": "bronze"}
					delete(p.Args, "hasPublishedVersion")
					return next(p)
				})), want: `{"data":{"restaurants_connection":{"nodes":[{"seats":3}],"pageInfo":{"total":3,"pageSize":1}},"restaurants":[{"seats":1},{"seats":2},{"seats":3}]}}`},
		{name: "a middleware that changes arguments to what they cannot be", query: `{category(documentId:"x"){name}}`,
			config: config("Query.category",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					p.Args["documentId"] = []any{}
					return next(p)
				})), want: `{"errors":[{"message":"Internal Server Error","path":["category"],"extensions":{"code":"INTERNAL_SERVER_ERROR","error":{"name":"InternalServerError","message":"Internal Server Error","details":{}}}}],"data":{"category":null}}`},
		{name: "what was wrong is told by next", query: `{restaurants_connection(sort:"nope"){nodes{seats}}}`,
			config: config("Query.restaurants_connection",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					_, err := next(p)
					ran.add("%v", err)
					return nil, nil
				})), want: `{"data":{"restaurants_connection":null}}`,
			ran: []string{"ValidationError: Invalid key nope"}},
		{name: "fields beside it go their own way", defs: "extend type Query { f: String! }",
			query:   `{a:categories(sort:"name",pagination:{limit:1}){name parent{name}} __typename f category(documentId:"none"){name}}`,
			resolve: schema.Resolvers{"Query": {"f": value("x")}},
			want:    `{"data":{"a":[{"name":"C0","parent":null}],"__typename":"Query","f":"x","category":null}}`},
		{name: "arguments for filters that nobody looks at",
			defs:  "extend input RestaurantFiltersInput { popular: Boolean }",
			query: `{restaurants(filters:{popular:true,seats:{eq:2}}){seats}}`,
			want:  `{"data":{"restaurants":[{"seats":2}]}}`},
		{name: "arguments for filters that a middleware looks at",
			defs:  "extend input RestaurantFiltersInput { popular: Boolean }",
			query: `{restaurants(filters:{popular:true}){seats}}`,
			config: config("Query.restaurants",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
					if filters := p.Args["filters"].(map[string]any); filters["popular"] == true {
						p.Args["filters"] = map[string]any{"seats": map[string]any{"gte": 3}}
					}
					return next(p)
				})), want: `{"data":{"restaurants":[{"seats":3}]}}`},
		{name: "a middleware that asks for what nothing answers", defs: "extend type Query { f: String }", query: "{f}",
			config: config("Query.f",
				around(func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) { return next(p) })),
			want: `{"errors":[{"message":"No resolver answers this field","path":["f"],"extensions":{"code":"INTERNAL_SERVER_ERROR","error":{"name":"InternalServerError","message":"No resolver answers this field","details":{}}}}],"data":{"f":null}}`},
		{name: "more than an answer may hold", defs: "extend type Query { f: [Int] }", query: "{f}",
			limits: limits.Operation{Rows: 5}, resolve: schema.Resolvers{"Query": {"f": value(make([]int, 6))}},
			want: `{"errors":[{"message":"The answer is too large: it holds more than 5 objects (graphql.config.limits.rows). Ask for shorter lists, or for fewer lists within lists","extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"The answer is too large: it holds more than 5 objects (graphql.config.limits.rows). Ask for shorter lists, or for fewer lists within lists","details":{}}}}],"data":null}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e schema.Extensions
			defs := tt.defs
			if strings.Contains(tt.query, "categories{name} words") {
				defs += " extend type Restaurant { words: Int }"
			}
			e.Use(schema.Extension{TypeDefs: defs, Resolvers: tt.resolve, ResolversConfig: tt.config})
			s = newExtended(t, tt.limits, &e)
			if tt.limits.Rows == 0 {
				s.fill(3)
			}
			ran.take()
			access := tt.access
			if access == nil {
				access = permission.FullAccess
			}
			variables := tt.variable
			if variables == "" {
				variables = "{}"
			}
			for range 2 {
				if got := s.askAs(access, tt.query, variables); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if got := ran.take(); !slices.Equal(got, tt.ran) {
					t.Errorf("ran %q, want %q", got, tt.ran)
				}
			}
		})
	}
}
