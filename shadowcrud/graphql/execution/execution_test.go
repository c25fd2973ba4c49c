package execution_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/store"
)

// TestAnswers compares answers byte by byte: they follow the order of the query, also with repeated fields, aliases and
// fragments.
func TestAnswers(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.fill(2)
	for _, tt := range []struct{ name, query, variables, want string }{
		{"order of the query", `{restaurants(sort:"seats"){seats name}}`, "",
			`{"data":{"restaurants":[{"seats":1,"name":"Restaurant 0"},{"seats":2,"name":"Restaurant 1"}]}}`},
		{"where a field stands first",
			`{restaurants(sort:"seats"){...F name ...on Restaurant{seats slug}}} fragment F on Restaurant{seats}`, "",
			`{"data":{"restaurants":[{"seats":1,"name":"Restaurant 0","slug":"r-0"},{"seats":2,"name":"Restaurant 1","slug":"r-1"}]}}`},
		{"merged below", `{a:people(sort:"firstName",pagination:{limit:1}){restaurants{name}} a:people(sort:"firstName",pagination:{limit:1}){restaurants{seats} firstName}}`, "",
			`{"data":{"a":[{"restaurants":[{"name":"Restaurant 0","seats":1}],"firstName":"P0"}]}}`},
		{"one relation twice",
			`{restaurants(sort:"seats",pagination:{limit:1}){x:categories(sort:"name"){name} y:categories(sort:"name:desc",pagination:{limit:1}){name}}}`, "",
			`{"data":{"restaurants":[{"x":[{"name":"C0"},{"name":"C1"}],"y":[{"name":"C1"}]}]}}`},
		{"nodes twice", `{restaurants_connection(sort:"seats",pagination:{limit:1}){a:nodes{name} pageInfo{total} b:nodes{seats} __typename}}`, "",
			`{"data":{"restaurants_connection":{"a":[{"name":"Restaurant 0"}],"pageInfo":{"total":2},"b":[{"seats":1}],"__typename":"RestaurantEntityResponseCollection"}}}`},
		{"a zone", `{restaurants(sort:"seats",pagination:{limit:1}){dz{... on ComponentBlocksSlider{caption} __typename ... on ComponentBlocksRichText{body}}}}`, "",
			`{"data":{"restaurants":[{"dz":[{"__typename":"ComponentBlocksRichText","body":"text"},{"caption":"c","__typename":"ComponentBlocksSlider"}]}]}}`},
		{"left out by a variable",
			`query($on:Boolean!){restaurants(sort:"seats",pagination:{limit:1}){name @include(if:$on) seats}}`,
			`{"on":false}`,
			`{"data":{"restaurants":[{"seats":1}]}}`},
		{"left in by a variable",
			`query($on:Boolean!){restaurants(sort:"seats",pagination:{limit:1}){name @include(if:$on) seats}}`,
			`{"on":true}`,
			`{"data":{"restaurants":[{"name":"Restaurant 0","seats":1}]}}`},
		{"a switch that is null", `query($on:Boolean=true){restaurants{name @include(if:$on)}}`, `{"on":null}`,
			`{"errors":[{"message":"Argument \"if\" of non-null type \"Boolean!\" must not be null.","extensions":{"code":"BAD_USER_INPUT"}}]}`},
		{"a variable left out is no filter", `query($n:Int){restaurants(filters:{seats:{eq:$n}},sort:"seats"){seats}}`,
			`{}`,
			`{"data":{"restaurants":[{"seats":1},{"seats":2}]}}`},
		{"a variable of null is one", `query($n:Int){restaurants(filters:{seats:{eq:$n}},sort:"seats"){seats}}`,
			`{"n":null}`,
			`{"data":{"restaurants":[]}}`},
		{"in an empty list", `{restaurants(filters:{seats:{in:[]}}){seats}}`, "", `{"data":{"restaurants":[]}}`},
		{"in null", `query($n:[Int]){restaurants(filters:{seats:{in:$n}}){seats}}`, `{"n":null}`,
			`{"data":{"restaurants":[]}}`},
		{"not in null", `{restaurants(filters:{seats:{notIn:null}}){seats}}`, "", `{"data":{"restaurants":[]}}`},
		{"null of null", `query($n:Boolean){restaurants(filters:{seats:{null:$n}},sort:"seats"){seats}}`, `{"n":null}`,
			`{"data":{"restaurants":[{"seats":1},{"seats":2}]}}`},
		{"not null of null", `{restaurants(filters:{seats:{notNull:null}}){seats}}`, "", `{"data":{"restaurants":[]}}`},
		{"not of null", `{restaurants(filters:{seats:{not:null,eq:1}}){seats}}`, "",
			`{"data":{"restaurants":[{"seats":1}]}}`},
		{"no not of null", `{restaurants(filters:{menu:{title:{not:null}}}){seats}}`, "",
			`{"data":{"restaurants":[]}}`},
		{"an alternative without conditions", `{restaurants(filters:{or:[{seats:{eq:1}},{}]}){seats}}`, "",
			`{"data":{"restaurants":[{"seats":1}]}}`},
		{"an alternative of a variable left out",
			`query($n:String){restaurants(filters:{or:[{name:{containsi:$n}},{seats:{eq:2}}]}){seats}}`, `{}`,
			`{"data":{"restaurants":[{"seats":2}]}}`},
		{"alternatives without conditions below",
			`{restaurants(filters:{or:[{owner:{}},{and:[{}]},{not:{}},{seats:{eq:2}}]}){seats}}`, "",
			`{"data":{"restaurants":[{"seats":2}]}}`},
		{"no alternatives", `{restaurants(filters:{or:[{},{owner:{}}]},sort:"seats"){seats}}`, "",
			`{"data":{"restaurants":[{"seats":1},{"seats":2}]}}`},
		{"not an alternative without conditions", `{restaurants(filters:{not:{or:[{},{seats:{eq:1}}]}}){seats}}`, "",
			`{"data":{"restaurants":[{"seats":2}]}}`},
		{"part of a number in another spelling",
			`{restaurants(filters:{price:{contains:95e-1}},pagination:{limit:1},sort:"seats"){seats}}`, "",
			`{"data":{"restaurants":[{"seats":1}]}}`},
		{"any of values", `{restaurants(filters:{name:{or:["Restaurant 1","x"]}}){seats}}`, "",
			`{"data":{"restaurants":[{"seats":2}]}}`},
		{"all of values", `{restaurants(filters:{name:{and:["Restaurant 1","x"]}}){seats}}`, "",
			`{"data":{"restaurants":[]}}`},
		{"not, of many", `{restaurants(filters:{categories:{not:{name:{eq:"C0"}}}},sort:"seats"){seats}}`, "",
			`{"data":{"restaurants":[{"seats":1},{"seats":2}]}}`},
		{"a sort with a null", `{restaurants(sort:["seats:desc",null]){seats}}`, "",
			`{"data":{"restaurants":[{"seats":2},{"seats":1}]}}`},
		{"pagination of null", `{restaurants(pagination:null,sort:"seats"){seats}}`, "",
			`{"data":{"restaurants":[{"seats":1},{"seats":2}]}}`},
		{"two errors", `{restaurants(filters:{secret:{eq:"x"}},pagination:{page:1,limit:1}){seats}}`, "",
			`{"errors":[{"message":"Cannot use both page & offset pagination in the same query","path":["restaurants"],"extensions":{"code":"STRAPI_PAGINATION_ERROR","error":{"name":"PaginationError","message":"Cannot use both page & offset pagination in the same query","details":{}}}}],"data":null}`},
		{"a password", `{restaurants(pagination:{limit:1}){secret}}`, "", `{"data":{"restaurants":[{"secret":null}]}}`},
		{"nobody", `{me{username}}`, "",
			`{"errors":[{"message":"Forbidden access","path":["me"],"extensions":{"code":"FORBIDDEN","error":{"name":"ForbiddenError","message":"Forbidden access","details":{}}}}],"data":{"me":null}}`},
		{"an argument that became null", `query($id:ID="x"){restaurant(documentId:$id){name}}`, `{"id":null}`,
			`{"errors":[{"message":"Argument \"documentId\" of non-null type \"ID!\" must not be null.","path":["restaurant"],"extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"Argument \"documentId\" of non-null type \"ID!\" must not be null.","details":{}}}}],"data":{"restaurant":null}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var vars []string
			if tt.variables != "" {
				vars = append(vars, tt.variables)
			}
			for range 2 { // first prepared, then from the cache
				if got := s.ask(tt.query, vars...); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			}
		})
	}
}

// TestNullPropagation checks that a null in a non-null field makes the nearest nullable parent null.
func TestNullPropagation(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.create("api::restaurant.restaurant", `{"name":"Whole","seats":1}`)
	// A draft may lack required attributes.
	err := s.docs.Create(context.Background(), documents.Write{
		Type:   s.model.Type("api::restaurant.restaurant"),
		Data:   object(t, `{"seats":2,"address":{"street":"x"},"dz":[{"__component":"default.closingperiod"}]}`),
		Status: store.Draft, Access: permission.FullAccess,
	})
	if err != nil {
		t.Fatal(err)
	}
	null := func(field, at, path string) string {
		return `{"errors":[{"message":"Cannot return null for non-nullable field ` + field +
			`.","locations":[{"line":1,"column":` + at +
			`}],"path":` + path + `,"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":`
	}
	for _, tt := range []struct{ name, query, want string }{
		{"of an item", `{restaurants(status:DRAFT,sort:"seats"){seats name}}`,
			null("Restaurant.name", "47", `["restaurants",1,"name"]`) +
				`{"restaurants":[{"seats":1,"name":"Whole"},null]}}`},
		{"of a node", `{restaurants_connection(status:DRAFT,sort:"seats"){nodes{name}}}`,
			null("Restaurant.name", "58", `["restaurants_connection","nodes",1,"name"]`) +
				`{"restaurants_connection":null}}`},
		{"of a component", `{restaurants(status:DRAFT,sort:"seats"){seats address{street city}}}`,
			null("ComponentDefaultAddress.city", "62", `["restaurants",1,"address","city"]`) +
				`{"restaurants":[{"seats":1,"address":null},{"seats":2,"address":null}]}}`},
		{"of an item of a zone",
			`{restaurants(status:DRAFT,sort:"seats"){seats dz{...on ComponentDefaultClosingperiod{label}}}}`,
			null("ComponentDefaultClosingperiod.label", "86", `["restaurants",1,"dz",0,"label"]`) +
				`{"restaurants":[{"seats":1,"dz":[]},{"seats":2,"dz":[null]}]}}`},
		{"under an alias", `{r:restaurants(status:DRAFT,filters:{seats:{eq:2}}){n:name}}`,
			null("Restaurant.name", "53", `["r",0,"n"]`) + `{"r":[null]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.ask(tt.query); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestHidden checks that callers cannot see documents without permission through a relation, a component or the related
// field of a file.
func TestHidden(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.fill(1)
	s.create("api::menu.menu", `{"title":"M","dishes":[{"name":"Soup","categories":[`+categoryID(t, s)+`]}]}`)
	access := permission.NewAccess([]string{"api::restaurant.restaurant.find", "api::menu.menu.find"})
	for _, query := range []string{
		`{restaurants{owner{firstName}}}`,
		`{restaurants{categories{name}}}`,
		`{restaurants{categories_connection{nodes{name}}}}`,
		`{menus{dishes{categories{name}}}}`,
		`{menus{dishes{categories_connection{nodes{name}}}}}`,
		`{people{firstName}}`,
		`{restaurants(filters:{owner:{firstName:{eq:"P0"}}}){name}}`,
		`{restaurants(sort:"owner.firstName"){name}}`,
		`{menus{dishes(filters:{categories:{name:{eq:"C0"}}}){name}}}`,
		`{menus(filters:{dishes:{categories:{name:{eq:"C0"}}}}){title}}`,
	} {
		got := s.askAs(access, query)
		if strings.Contains(got, "P0") || strings.Contains(got, "C0") || !strings.Contains(got, `"errors"`) {
			t.Errorf("%s shows %s", query, got)
		}
		if full := s.ask(query); strings.Contains(full, `"errors"`) {
			t.Errorf("%s with full access: %s", query, full)
		}
		if again := s.askAs(access, query); again != got {
			t.Errorf("%s answers another time %s", query, again)
		}
	}
}

func categoryID(t *testing.T, s *server) string {
	t.Helper()
	answer := s.ask(`{categories(filters:{name:{eq:"C0"}}){documentId}}`)
	_, rest, _ := strings.Cut(answer, `"documentId":`)
	id, _, _ := strings.Cut(rest, "}")
	return id
}

// TestHiddenLinks checks that a mutation neither adds nor removes links to documents that the caller may not find.
func TestHiddenLinks(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.fill(1)
	category := categoryID(t, s)
	access := permission.NewAccess([]string{"api::menu.menu.find", "api::menu.menu.create", "api::menu.menu.update"})
	const read = `{menus{title restaurant{seats} dishes{name categories{name}}}}`
	restaurant := idOf(t, s, `{restaurants{documentId}}`)
	created := s.askAs(access, `mutation{createMenu(data:{title:"M",restaurant:`+restaurant+
		`,dishes:[{name:"Soup",categories:[`+category+`]}]}){documentId}}`)
	if got, want := s.ask(read),
		`{"data":{"menus":[{"title":"M","restaurant":null,"dishes":[{"name":"Soup","categories":[]}]}]}}`; got != want {
		t.Errorf("%s made %s", created, got)
	}
	id := idOf(t, s, `{menus{documentId}}`)
	s.ask(`mutation{updateMenu(documentId:` + id + `,data:{restaurant:` + restaurant + `}){title}}`)
	s.askAs(access, `mutation{updateMenu(documentId:`+id+`,data:{title:"N",restaurant:null}){title}}`)
	if got, want := s.ask(`{menus{title restaurant{seats}}}`),
		`{"data":{"menus":[{"title":"N","restaurant":{"seats":1}}]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReads checks that the related rows of all objects of a level are read together: an operation reads no more rows
// and links than its answer holds.
func TestReads(t *testing.T) {
	s := newServer(t, limits.Operation{})
	const n = 40
	s.fill(n)
	const query = `{restaurants(pagination:{limit:40}){name owner{firstName restaurants(pagination:{limit:3}){name owner{firstName}}} categories{name} reviews{stars} menu{title}}}`
	before := s.store.Stats()
	if answer := s.ask(query); strings.Contains(answer, "errors") {
		t.Fatal(answer)
	}
	after := s.store.Stats()
	rows, links, seeks := after.Rows-before.Rows, after.Links-before.Links, after.Seeks-before.Seeks
	// The query reads n restaurants, their 5 owners, 5×3 restaurants of these and their owners, 5 categories, a review
	// of each, and no menu.
	if want := uint64(n + 5 + 15 + 5 + 5 + n); rows > want {
		t.Errorf("%d rows were read, the answer shows %d", rows, want)
	}
	if want := uint64(n + 15 + 15 + 2*n + n); links > want {
		t.Errorf("%d links were read, the answer shows %d", links, want)
	}
	if limit := rows + links + 20; seeks > limit {
		t.Errorf("%d searches for %d rows and %d links", seeks, rows, links)
	}
}

// TestMutations checks that mutations run one after the other, each in its own transaction, and that each prints the
// document it wrote.
func TestMutations(t *testing.T) {
	s := newServer(t, limits.Operation{})
	got := s.ask(`mutation{a:createCategory(data:{name:"A"}){name} b:createCategory(data:{name:"A"}){name} c:createCategory(data:{name:"C"}){name parent{name}}}`)
	want := `{"errors":[{"message":"This attribute must be unique","path":["b"],"extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"This attribute must be unique","details":{"errors":[{"path":["name"],"message":"This attribute must be unique","name":"ValidationError","value":"A"}]}}}}],` +
		`"data":{"a":{"name":"A"},"b":null,"c":{"name":"C","parent":null}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	before := s.store.Stats()
	s.ask(`mutation{a:createCategory(data:{name:"D"}){name} b:createCategory(data:{name:"E"}){name}}`)
	if after := s.store.Stats(); after.Commits-before.Commits != 2 {
		t.Errorf("two mutations took %d transactions", after.Commits-before.Commits)
	}
}

// TestLocales checks that no document is shown in all locales at once, and that deleting a missing localization of a
// single type succeeds. TestRowIDs links documents by the ids of their rows, as clients do that have not moved to
// documentIds.
func TestRowIDs(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.ask(`mutation{a:createPerson(data:{firstName:"A"}){firstName} b:createPerson(data:{firstName:"B"}){firstName}}`)
	s.ask(`mutation{a:createReview(data:{stars:1}){stars} b:createReview(data:{stars:2}){stars}}`)
	for _, tt := range []struct{ data, variables, want string }{
		{`{name:"ab",owner:"2",reviews:[2,"1"]}`, "",
			`{"data":{"createRestaurant":{"owner":{"firstName":"B"},"reviews":[{"stars":2},{"stars":1}]}}}`},
		{`{name:"ab",owner:$id,reviews:[$id]}`, `{"id":1}`,
			`{"data":{"createRestaurant":{"owner":{"firstName":"A"},"reviews":[{"stars":1}]}}}`},
		{`{name:"ab",owner:"99"}`, "",
			`{"errors":[{"message":"1 relation(s) of type api::person.person associated with this entity do not exist",`},
		{`{name:"ab",owner:"9aaaaaaaaaaaaaaaaaaaaaaa"}`, "",
			`{"errors":[{"message":"Document with id \"9aaaaaaaaaaaaaaaaaaaaaaa\", locale \"null\" not found",`},
	} {
		query, variables := `mutation{createRestaurant(data:`+tt.data+`){owner{firstName} reviews{stars}}}`,
			[]string(nil)
		if tt.variables != "" {
			query, variables = strings.Replace(query, "mutation", "mutation($id:ID)", 1), []string{tt.variables}
		}
		if got := s.ask(query, variables...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s\ngot  %s\nwant %s", tt.data, got, tt.want)
		}
	}
}

func TestLocales(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.create("api::homepage.homepage", `{"title":"Home"}`)
	s.fill(1)
	id := idOf(t, s, `{restaurants{documentId}}`)
	for _, step := range []struct{ query, want string }{
		{`{homepage(locale:"en"){title}}`, `{"data":{"homepage":{"title":"Home"}}}`},
		{`{homepage(locale:"*"){title}}`, `{"data":{"homepage":null}}`},
		{`{restaurant(locale:"en",documentId:` + id + `){seats}}`, `{"data":{"restaurant":{"seats":1}}}`},
		{`{restaurant(locale:"*",documentId:` + id + `){seats}}`, `{"data":{"restaurant":null}}`},
		{`{restaurants(locale:"*"){seats}}`, `{"data":{"restaurants":[{"seats":1}]}}`},
		{`mutation{deleteHomepage(locale:"fr"){__typename}}`,
			`{"data":{"deleteHomepage":{"__typename":"DeleteMutationResponse"}}}`},
		{`{homepage{title}}`, `{"data":{"homepage":{"title":"Home"}}}`},
		{`mutation{deleteHomepage(locale:"*"){__typename}}`,
			`{"data":{"deleteHomepage":{"__typename":"DeleteMutationResponse"}}}`},
		{`{homepage{title}}`, `{"data":{"homepage":null}}`},
	} {
		if got := s.ask(step.query); got != step.want {
			t.Errorf("%s answers %s", step.query, got)
		}
	}
}

func TestDocumentActions(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.ask(`mutation{createCategory(status:DRAFT,data:{name:"A"}){name}}`)
	id := idOf(t, s, `{categories(status:DRAFT){documentId}}`)
	for _, step := range []struct{ query, want string }{
		{`mutation{publishCategory(documentId:` + id + `){name}}`, `{"data":{"publishCategory":{"name":"A"}}}`},
		{`{categories{name}}`, `{"data":{"categories":[{"name":"A"}]}}`},
		{`mutation{updateCategory(status:DRAFT,documentId:` + id + `,data:{name:"B"}){name}}`,
			`{"data":{"updateCategory":{"name":"B"}}}`},
		{`mutation{discardDraftCategory(documentId:` + id + `){name}}`,
			`{"data":{"discardDraftCategory":{"name":"A"}}}`},
		{`mutation{unpublishCategory(documentId:` + id + `){name}}`, `{"data":{"unpublishCategory":{"name":"A"}}}`},
		{`{categories{name}}`, `{"data":{"categories":[]}}`},
	} {
		if got := s.ask(step.query); got != step.want {
			t.Errorf("%s answers %s", step.query, got)
		}
	}
}

// idOf returns the first documentId in the answer to a query.
func idOf(t *testing.T, s *server, query string) string {
	t.Helper()
	_, rest, _ := strings.Cut(s.ask(query), `"documentId":`)
	id, _, _ := strings.Cut(rest, "}")
	return id
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits limits.Operation
		query  string
		want   string
	}{
		{"no list is longer", limits.Operation{AmountLimit: 2}, `{restaurants(pagination:{limit:-1}){seats}}`,
			`{"data":{"restaurants":[{"seats":1},{"seats":2}]}}`},
		{"pages of a cut list", limits.Operation{AmountLimit: 2},
			`{restaurants_connection(pagination:{limit:-1}){pageInfo{total page pageSize pageCount}}}`,
			`{"data":{"restaurants_connection":{"pageInfo":{"total":3,"page":1,"pageSize":2,"pageCount":2}}}}`},
		{"cost", limits.Operation{Cost: 50}, `{restaurants(pagination:{limit:10}){categories{name}}}`,
			`{"errors":[{"message":"The operation may answer with more than 50 objects (graphql.config.limits.cost). Ask for shorter lists, or for fewer lists within lists.","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`},
		{"conditions", limits.Operation{Conditions: 2},
			`{restaurants_connection(filters:{seats:{gt:0,lt:5}}){nodes{name}}}`,
			`{"errors":[{"message":"Too many conditions: at most 2 are allowed (graphql.config.limits.conditions)","path":["restaurants_connection"],"extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"Too many conditions: at most 2 are allowed (graphql.config.limits.conditions)","details":{}}}}],"data":{"restaurants_connection":null}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.limits)
			s.fill(3)
			if got := s.ask(tt.query); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestTooLarge checks that an answer that is too large becomes an error.
func TestTooLarge(t *testing.T) {
	for why, limits := range map[string]limits.Operation{
		"it holds more than 5 objects (graphql.config.limits.rows)":  {Rows: 5},
		"it holds more than 30 objects (graphql.config.limits.rows)": {Rows: 30}, // the answer repeats some of its 16 rows
		"it is longer than 50 bytes (graphql.config.limits.bytes)":   {Bytes: 50},
	} {
		s := newServer(t, limits)
		s.fill(5)
		message := "The answer is too large: " + why + ". Ask for shorter lists, or for fewer lists within lists"
		want := `{"errors":[{"message":"` + message +
			`","extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"` + message +
			`","details":{}}}}],"data":null}`
		if got := s.ask(`{restaurants{name categories{name restaurants{name}}}}`); got != want {
			t.Errorf("%s: %s", why, got)
		}
	}
}

func TestCancelled(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.fill(2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	answer, err := s.engine.Execute(ctx, &execution.Request{Query: `mutation{createCategory(data:{name:"Z"}){name}}`,
		Access: permission.FullAccess})
	if err == nil {
		t.Errorf("a mutation nobody waits for answers %s", answer.Body)
	}
}

// TestConcurrent checks that concurrent requests, which share plans and memory, do not see the data of one another.
func TestConcurrent(t *testing.T) {
	s := newServer(t, limits.Operation{Plans: 2})
	s.fill(6)
	queries := []string{
		`{restaurants(sort:"seats"){name categories(sort:"name"){name} owner{firstName}}}`,
		`{people(sort:"firstName"){firstName restaurants(sort:"name"){name reviews{stars}}}}`,
		`{restaurants_connection(sort:"name:desc"){nodes{dz{__typename} address{city}} pageInfo{total}}}`,
		`{nope}`,
	}
	var want []string
	for _, q := range queries {
		want = append(want, s.ask(q))
	}
	some := permission.NewAccess([]string{"api::restaurant.restaurant.find"})
	hidden := s.askAs(some, queries[0])
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range 50 {
				n := (i + worker) % len(queries)
				if got := s.ask(queries[n]); got != want[n] {
					t.Errorf("%s answers %s", queries[n], got)
				}
				if got := s.askAs(some, queries[0]); got != hidden {
					t.Errorf("%s shows %s", queries[0], got)
				}
			}
		})
	}
	wait.Wait()
}
