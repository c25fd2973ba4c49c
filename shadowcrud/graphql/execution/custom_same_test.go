package execution_test

import (
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// everywhere returns extensions that put a middleware around each field of each generated type. The middlewares change
// nothing.
func everywhere(t testing.TB) *schema.Extensions {
	t.Helper()
	model, problems := contenttypes.Load(kitchen, contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	s, err := schema.Build(model, schema.Options{DocumentActions: true})
	if err != nil {
		t.Fatal(err)
	}
	same := schema.FieldConfig{Middlewares: []schema.MiddlewareUse{{Func: func(next graphql.FieldResolveFn,
		p graphql.ResolveParams) (any, error) {
		return next(p)
	}}}}
	x := schema.Extension{ResolversConfig: map[string]schema.FieldConfig{}}
	for _, name := range s.TypeNames {
		if o := s.Object(name); o != nil {
			for _, f := range o.Fields {
				x.ResolversConfig[name+"."+f.Name] = same
			}
		}
	}
	var e schema.Extensions
	e.Use(x)
	return &e
}

// TestSameThroughMiddlewares checks that answers stay the same when middlewares that only call next surround every
// field.
func TestSameThroughMiddlewares(t *testing.T) {
	servers := []*server{newServer(t, limits.Operation{}), newExtended(t, limits.Operation{}, everywhere(t))}
	for _, s := range servers {
		s.fill(4)
		s.create("api::menu.menu", `{"title":"M","dishes":[{"name":"Soup","price":1.5},{"name":"Cake"}]}`)
		s.create("api::restaurant.restaurant",
			`{"name":"All","seats":99,"visits":"9007199254740993","rating":0.1,"price":1234567.89,"openedOn":"2024-05-31","opensAt":"10:00:00","inspectedAt":"2024-05-31T10:00:00.000Z",
			"vegan":true,"tier":"gold","extra":{"b":[1.50,{"z":null,"y":"<&>"}],"a":12345678901234567890},"secret":"Secret12"}`)
	}
	for _, query := range []string{
		`{restaurants(sort:"seats"){__typename documentId @skip(if:true) name slug seats visits rating price openedOn opensAt inspectedAt contact vegan tier extra secret summary description}}`,
		`{restaurants(sort:"seats:desc",pagination:{limit:2}){name owner{firstName restaurants(sort:"name",pagination:{limit:1}){name owner{firstName}}} a:categories(sort:"name:desc"){name} b:categories(sort:"name",pagination:{limit:1}){name}}}`,
		`{restaurants_connection(sort:"seats",pagination:{page:2,pageSize:2}){a:nodes{name address{city geo{lat}}} pageInfo{total page pageSize pageCount __typename} b:nodes{dz{__typename ...on ComponentBlocksRichText{body} ...on ComponentBlocksSlider{caption}} categories_connection(sort:"name"){nodes{name}}} __typename}}`,
		`{people(sort:"firstName"){firstName restaurants_connection{nodes{name reviews{stars restaurant{name}}}}} homepage{documentId}}`,
		`{menus{title dishes{name price categories{name}} dishes_connection:dishes(sort:"name"){name}}}`,
		`{restaurants(sort:"nope"){name}}`, `{category(documentId:"none"){name}}`, `{me{username}}`,
		`{__typename x:__typename}`,
		`{restaurants(status:DRAFT,sort:"seats",filters:{seats:{lt:3}}){name} categories(sort:"name",filters:{name:{in:["C1","C2"]}}){name parent{name}}}`,
		`{restaurants(sort:"seats",pagination:{limit:1}){localizations{name locale} localizations_connection{nodes{name}}}}`,
		`mutation{createCategory(data:{name:"X",position:5}){name position parent{name}} y:createCategory(data:{name:"X"}){name} updateCategory(documentId:"none",data:{}){name} deleteCategory(documentId:"none"){documentId}}`,
		`mutation{a:createRestaurant(status:DRAFT,data:{name:"New",seats:5,extra:{z:1,a:[]},address:{city:"B"},dz:[{__typename:"ComponentBlocksSlider",caption:"k"}]}){name seats extra address{city} dz{__typename} publishedAt} b:createRestaurant(data:{seats:1}){name}}`,
		`mutation{createReview(data:{stars:9}){stars}}`,
	} {
		want := servers[0].ask(query)
		if got := servers[1].ask(query); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
		if strings.Contains(want, "GRAPHQL_VALIDATION_FAILED") {
			t.Errorf("%s is no operation: %s", query, want)
		}
	}
}
