package execution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// TestListsOfItems checks the lengths of lists, which are those of the reference. A dynamic zone cannot be paged and is
// complete. Only its pagination and maxLimit limit a list of components, since a client that reads a shortened list and
// writes it back would lose the rest.
func TestListsOfItems(t *testing.T) {
	for _, tt := range []struct {
		items      int
		limits     limits.Operation
		pagination string
		dishes     string // the number of dishes, and the first one
	}{
		{12, limits.Operation{}, "", "10 d0"},
		{12, limits.Operation{}, "(pagination:{})", "10 d0"},
		{12, limits.Operation{AmountLimit: 5}, "(pagination:{limit:-1})", "12 d0"},
		{20, limits.Operation{AmountLimit: 12}, "(pagination:{limit:-1})", "20 d0"},
		{20, limits.Operation{AmountLimit: 12}, "(pagination:{limit:15})", "15 d0"},
		{20, limits.Operation{AmountLimit: 12}, "(pagination:{pageSize:200})", "20 d0"},
		{20, limits.Operation{AmountLimit: 12, DefaultLimit: 15}, "", "15 d0"},
		{20, limits.Operation{AmountLimit: 12, MaxLimit: 12}, "(pagination:{limit:-1})", "12 d0"},
		{20, limits.Operation{MaxLimit: 5}, "", "5 d0"},
		{120, limits.Operation{MaxLimit: 100}, "(pagination:{limit:-1})", "100 d0"},
		{120, limits.Operation{MaxLimit: 100}, "(pagination:{limit:200})", "100 d0"},
		{120, limits.Operation{MaxLimit: 100}, "(pagination:{start:5})", "10 d5"},
		{120, limits.Operation{MaxLimit: 100}, "(pagination:{start:5,limit:-1})", "100 d5"},
		{120, limits.Operation{}, "(pagination:{start:5,limit:-1})", "115 d5"},
		{120, limits.Operation{}, "(pagination:{page:2,pageSize:110})", "10 d110"},
	} {
		t.Run(fmt.Sprintf("%d items %s", tt.items, tt.pagination), func(t *testing.T) {
			s := newServer(t, tt.limits)
			var dishes, zone []string
			for i := range tt.items {
				dishes = append(dishes, fmt.Sprintf(`{"name":"d%d"}`, i))
				zone = append(zone, fmt.Sprintf(`{"__component":"blocks.rich-text","body":"b%d"}`, i))
			}
			s.create("api::menu.menu", `{"title":"M","dishes":[`+strings.Join(dishes, ",")+`]}`)
			s.create("api::restaurant.restaurant", `{"name":"Zoned","dz":[`+strings.Join(zone, ",")+`]}`)
			answer := s.ask(`{menus{dishes` + tt.pagination +
				`{name}} restaurants{dz{... on ComponentBlocksRichText{body}}}}`)
			_, first, _ := strings.Cut(answer, `"name":"`)
			first, _, _ = strings.Cut(first, `"`)
			if got := fmt.Sprintf("%d %s", strings.Count(answer, `"name"`), first); got != tt.dishes {
				t.Errorf("dishes: %s, want %s", got, tt.dishes)
			}
			if got := strings.Count(answer, `"body"`); got != tt.items {
				t.Errorf("%d items of a zone of %d are shown", got, tt.items)
			}
		})
	}
}

// deepLists is a query of lists nested six deep.
const deepLists = `{restaurants{categories{restaurants{categories{restaurants{categories{name}}}}}}}`

// TestDeepLists checks that deeply nested lists with few rows are answered: no estimate refuses them unless the
// configuration enables it.
func TestDeepLists(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.circle(2)
	one := `{"name":"Circle 0"},{"name":"Circle 1"}`
	for range 2 {
		one = `{"categories":[` + one + `]}`
		one = `{"restaurants":[` + one + "," + one + `]}`
		one += "," + one
	}
	one = `{"categories":[` + one + `]}`
	if got, want := s.ask(deepLists), `{"data":{"restaurants":[`+one+","+one+`]}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.engine = s.extended(limits.Operation{Cost: 200_000}, nil)
	if got := s.ask(deepLists); !strings.Contains(
		got, "may answer with more than 200000 objects (graphql.config.limits.cost)") {
		t.Errorf("with an estimate: %s", got)
	}
	s.engine = s.extended(limits.Operation{Rows: 100}, nil)
	if got := s.ask(deepLists); !strings.Contains(got, "more than 100 objects (graphql.config.limits.rows)") ||
		!strings.HasSuffix(got, `"data":null}`) {
		t.Errorf("with a limit of rows: %s", got)
	}
}

// TestLargeMutation checks that the answer to a mutation may hold a tenth of the objects of other answers, since other
// writes wait for it. If it would hold more, nothing is written.
func TestLargeMutation(t *testing.T) {
	s := newServer(t, limits.Operation{Rows: 1000})
	s.circle(6)
	id := idOf(t, s, `{restaurants{documentId}}`)
	got := s.ask(`mutation{updateRestaurant(documentId:` + id +
		`,data:{seats:77}){categories{restaurants{categories{name}}}}}`)
	if !strings.Contains(got, "more than 100 objects (a tenth of graphql.config.limits.rows, 1000, for a mutation)") {
		t.Errorf("got %s", got)
	}
	if got := s.ask(`{restaurant(documentId:` + id + `){seats}}`); got != `{"data":{"restaurant":{"seats":1}}}` {
		t.Errorf("what was refused was written: %s", got)
	}
}

// TestLargeMutationOfAProgram checks that the answer to a custom mutation, which is not read in a transaction, may be
// as large as the answer to a query.
func TestLargeMutationOfAProgram(t *testing.T) {
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs:        "extend type Mutation { count: [Int!]! }",
		Resolvers:       schema.Resolvers{"Mutation": {"count": value(make([]int, 150))}},
		ResolversConfig: map[string]schema.FieldConfig{"Mutation.count": {Auth: schema.NoAuth}},
	})
	s := newExtended(t, limits.Operation{Rows: 1000}, &e)
	if got := s.ask("mutation{count}"); strings.Count(got, "0") != 150 {
		t.Errorf("got %s", got)
	}
}

// TestCircledWork checks that an exponentially large answer about few documents is refused after little more than these
// documents were read, and before anything is printed. An answer with custom fields is printed up to the limit.
func TestCircledWork(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.circle(circled)
	whole := strings.ReplaceAll(strings.ReplaceAll(deepLists, "categories{", "categories(pagination:{limit:-1}){"),
		"restaurants{", "restaurants(pagination:{limit:-1}){")
	var e schema.Extensions
	e.Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{"Category.name": {Middlewares: []schema.MiddlewareUse{{
		Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) { return next(p) },
	}}}}})
	plain := s.engine
	for _, of := range []struct {
		name      string
		engine    *execution.Engine
		allocated uint64
	}{{"plain", plain, mostAllocated}, {"with a middleware", s.extended(limits.Operation{}, &e), 8 * mostAllocated}} {
		s.engine = of.engine
		before := s.work()
		got := s.ask(whole)
		cost := s.work().since(before)
		if !strings.Contains(got, "more than 200000 objects (graphql.config.limits.rows)") {
			t.Errorf("%s: %.200s", of.name, got)
		}
		if most := uint64(6 * (circled*circled + 2*circled)); cost.read > most {
			t.Errorf("%s: %d rows and links were read, want %d at most", of.name, cost.read, most)
		}
		if cost.allocated > of.allocated && !raceDetector {
			t.Errorf("%s: %d bytes were allocated, want %d at most", of.name, cost.allocated, of.allocated)
		}
		t.Logf("%s: %+v", of.name, cost)
	}
}
