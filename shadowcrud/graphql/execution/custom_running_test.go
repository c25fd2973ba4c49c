package execution_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphql-go/graphql"
	"github.com/graphql-go/graphql/language/ast"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// TestCustomMutations checks that custom and generated mutations run in the order of the operation.
func TestCustomMutations(t *testing.T) {
	var ran trail
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs: `extend type Mutation { like(by: Int = 1): Int! make(name: String!): Category } extend type Category { shout: String } extend input CategoryInput { slugify: Boolean = true }
			extend type UsersPermissionsLoginPayload { x: Int }`,
		Resolvers: schema.Resolvers{
			"Mutation": {
				"like": func(p graphql.ResolveParams) (any, error) {
					ran.add("like %v", p.Args["by"])
					if p.Args["by"] == 0 {
						return nil, nil
					}
					return p.Args["by"], nil
				},
				"make": func(p graphql.ResolveParams) (any, error) {
					data := jsontree.NewObject()
					data.Set("name", p.Args["name"])
					server := schema.CallerOf(p.Context).Server
					var made schema.Document
					err := server.Documents().Create(p.Context, documents.Write{
						Type: server.Documents().Model().Type("api::category.category"), Data: data,
						Access: permission.FullAccess,
						After: func(_ *store.Snapshot,
							r store.Record) error {
							made = schema.DocumentOf(r)
							return nil
						},
					})
					return made, err
				}},
			"Category": {"shout": func(p graphql.ResolveParams) (any, error) {
				// The resolver can read the store, since the engine holds no snapshot now.
				return p.Source.(*schema.Row).Get("name").(string) + "!",
					schema.CallerOf(p.Context).Server.Store().View(func(*store.Snapshot) error { return nil })
			}}},
		ResolversConfig: map[string]schema.FieldConfig{
			"Mutation.createCategory": {Middlewares: []schema.MiddlewareUse{{Func: func(next graphql.FieldResolveFn,
				p graphql.ResolveParams) (any, error) {
				data := p.Args["data"].(map[string]any)
				ran.add("create %v %v", data["name"], data["slugify"])
				if data["slugify"] == true {
					data["name"] = strings.ToLower(data["name"].(string))
				}
				v, err := next(p)
				if row, ok := v.(*schema.Row); ok {
					ran.add("created %v", row.Get("name"))
				}
				return v, err
			}}}},
			"Mutation.deleteCategory":           {Middlewares: []schema.MiddlewareUse{ran.traced("delete")}},
			"Mutation.updateCategory":           {Policies: []schema.PolicyUse{ran.judging("update", false)}},
			"DeleteMutationResponse.documentId": {Middlewares: []schema.MiddlewareUse{ran.traced("documentId")}},
		},
	})
	s := newExtended(t, limits.Operation{}, &e)
	for _, step := range []struct {
		query, want string
		ran         []string
	}{
		{`mutation{a:createCategory(data:{name:"Aa"}){name shout parent{name}} b:like c:createCategory(data:{name:"Bb",slugify:false}){name} d:like(by:3)}`,
			`{"data":{"a":{"name":"aa","shout":"aa!","parent":null},"b":1,"c":{"name":"Bb"},"d":3}}`,
			[]string{"create Aa true", "created aa", "like 1", "create Bb false", "created Bb", "like 3"}},
		{`mutation{createCategory(data:{name:"AA"}){name} like}`,
			`{"errors":[{"message":"This attribute must be unique","path":["createCategory"],"extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"This attribute must be unique","details":{"errors":[{"path":["name"],"message":"This attribute must be unique","name":"ValidationError","value":"aa"}]}}}}],"data":{"createCategory":null,"like":1}}`,
			[]string{"create AA true", "like 1"}},
		{`mutation{like(by:0) x:like}`,
			`{"errors":[{"message":"Cannot return null for non-nullable field Mutation.like.","locations":[{"line":1,"column":10}],"path":["like"],"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":null}`, []string{"like 0"}},
		{`mutation{make(name:"made"){name shout}}`, `{"data":{"make":{"name":"made","shout":"made!"}}}`, nil},
		{`mutation{updateCategory(documentId:"x",data:{name:"n"}){name}}`, `{"errors":[` +
			policyFailed(`["updateCategory"]`) + `],"data":{"updateCategory":null}}`, []string{"update"}},
		{`mutation{deleteCategory(documentId:"x"){documentId}}`, `{"data":{"deleteCategory":{"documentId":"x"}}}`,
			[]string{"delete begins", "delete ends", "documentId begins", "documentId ends"}},
		{`{categories(sort:"name"){shout}}`,
			`{"data":{"categories":[{"shout":"Bb!"},{"shout":"aa!"},{"shout":"made!"}]}}`, nil},
	} {
		got := s.ask(step.query)
		if got != step.want {
			t.Errorf("%s\ngot  %s\nwant %s", step.query, got, step.want)
		}
		if got := ran.take(); !slices.Equal(got, step.ran) {
			t.Errorf("%s ran %q, want %q", step.query, got, step.ran)
		}
	}
}

// TestResolversUseTheStore checks that the store can be written while a resolver of a query runs, and that other
// resolvers see the change.
func TestResolversUseTheStore(t *testing.T) {
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs: "extend type Query { visit: [Category!] } extend type Category { visits: Int }",
		Resolvers: schema.Resolvers{
			"Query": {"visit": func(p graphql.ResolveParams) (any, error) {
				var found []schema.Document
				server := schema.CallerOf(p.Context).Server
				typ := server.Documents().Model().Type("api::category.category")
				data := jsontree.NewObject()
				data.Set("name", "visited")
				if err := server.Documents().Create(
					p.Context, documents.Write{Type: typ, Data: data, Access: permission.FullAccess}); err != nil {
					return nil, err
				}
				err := server.Store().View(func(snap *store.Snapshot) error {
					page, err := snap.Find(&store.Query{Type: typ, Limit: 10})
					for _, r := range page.Rows {
						found = append(found, schema.DocumentOf(r))
					}
					return err
				})
				return found, err
			}},
			"Category": {"visits": func(p graphql.ResolveParams) (any, error) {
				server, row := schema.CallerOf(p.Context).Server, p.Source.(*schema.Row)
				data := jsontree.NewObject()
				data.Set("position", jsontree.Number("7"))
				return 7, server.Documents().Update(
					p.Context, documents.Write{Type: server.Documents().Model().Type(row.Type()),
						DocumentID: row.DocumentID(), Data: data, Access: permission.FullAccess})
			}},
		},
	})
	s := newExtended(t, limits.Operation{}, &e)
	if got, want := s.ask(`{visit{name visits}}`), `{"data":{"visit":[{"name":"visited","visits":7}]}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := s.ask(`{categories{position}}`), `{"data":{"categories":[{"position":7}]}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// These writes must not change rows that the query has read but not printed yet.
	for i := range 12 {
		s.create("api::category.category", fmt.Sprintf(`{"name":"%d","position":%d}`, i, i))
	}
	var want strings.Builder
	for i := range 12 {
		fmt.Fprintf(&want, `{"name":"%d","position":%d,"visits":7}`, i, i)
	}
	got := s.ask(`{categories(sort:"position",filters:{name:{ne:"visited"}},pagination:{limit:12}){name position visits}}`)
	got = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(got, `{"data":{"categories":[`), "]}}"), "},{", "}{")
	if got != want.String() {
		t.Errorf("got  %s\nwant %s", got, want.String())
	}
}

// TestCaller checks that resolvers, policies and middlewares see the caller and the HTTP request.
func TestCaller(t *testing.T) {
	var e schema.Extensions
	var judged *schema.PolicyContext
	e.Policy("in", func(c *schema.PolicyContext, s schema.Server) (bool, error) { judged = c; return s != nil, nil })
	e.Middleware("add", func(options any) (schema.Middleware, error) {
		n, ok := options.(int)
		if !ok {
			return nil, errors.New("wants a number")
		}
		return func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
			v, err := next(p)
			return v.(int) + n, err
		}, nil
	})
	e.Use(schema.Extension{
		TypeDefs: "extend type Query { who(a: Int): Int }",
		Resolvers: schema.Resolvers{"Query": {"who": func(p graphql.ResolveParams) (any, error) {
			a := schema.CallerOf(p.Context)
			if a.HTTP.Header.Get("X-Test") != "yes" || a.Server == nil ||
				!a.Access.AllowsAction("api::category.category.find") {
				return nil, errors.New("not told who asks")
			}
			field := p.Info.FieldASTs[0]
			if field.Alias.Value != "w" || field.Name.Value != "who" ||
				field.Arguments[0].Value.(*ast.Variable).Name.Value != "v" || len(p.Info.Fragments) != 1 ||
				p.Info.FieldName != "who" || p.Info.ParentType.Name() != "Query" || p.Info.ReturnType != graphql.Int ||
				p.Info.VariableValues["v"] != 4.0 ||
				p.Info.Operation.(*ast.OperationDefinition).Name.Value != "Op" {
				return nil, fmt.Errorf("info: %+v", p.Info)
			}
			return int(a.User.ID) + p.Args["a"].(int), nil
		}}},
		ResolversConfig: map[string]schema.FieldConfig{"Query.who": {Policies: []schema.PolicyUse{{Name: "in",
			Config: "c"}},
			Middlewares: []schema.MiddlewareUse{{Name: "add", Options: 100}, {Name: "add", Options: 1000}}}},
	})
	s := newExtended(t, limits.Operation{}, &e)
	r := httptest.NewRequest(http.MethodPost, "/graphql", nil)
	r.Header.Set("X-Test", "yes")
	answer, err := s.engine.Execute(context.Background(), &execution.Request{
		Query: `query Op($v:Int){...F} fragment F on Query{w:who(a:$v)}`, Variables: object(t, `{"v":4}`),
		User: auth.User{ID: 7}, HTTP: r,
		Access: permission.NewAccess([]string{"api::category.category.find"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Release()
	if got, want := string(answer.Body), `{"data":{"w":1111}}`+"\n"; got != want {
		t.Errorf("got %s want %s%s", got, want, s.log.String())
	}
	if judged.Config != "c" || judged.Args["a"] != 4 || judged.Parent != nil || judged.Info.FieldName != "who" ||
		schema.CallerOf(judged.Context).User.ID != 7 {
		t.Errorf("the policy saw %+v", judged)
	}
}

// TestGoTypes checks that types that an extension made in Go resolve by their own functions.
func TestGoTypes(t *testing.T) {
	size := graphql.NewEnum(
		graphql.EnumConfig{Name: "Size", Values: graphql.EnumValueConfigMap{"SMALL": {Value: 1}, "LARGE": {Value: 2}}})
	cents := graphql.NewScalar(graphql.ScalarConfig{Name: "Cents",
		Serialize: func(v any) any { return fmt.Sprintf("%v ct", v) },
		ParseValue: func(v any) any {
			if n, ok := v.(int); ok {
				return n * 2
			}
			return nil
		},
		ParseLiteral: func(ast.Value) any { return nil }})
	named := graphql.NewInterface(
		graphql.InterfaceConfig{Name: "Named", Fields: graphql.Fields{"name": {Type: graphql.String}}})
	cup := graphql.NewObject(graphql.ObjectConfig{Name: "Cup", Interfaces: []*graphql.Interface{named},
		IsTypeOf: func(p graphql.IsTypeOfParams) bool { _, is := p.Value.(stats); return is },
		Fields: graphql.Fields{"name": {Type: graphql.String},
			"size": {Type: size,
				Resolve: func(p graphql.ResolveParams) (any, error) { return p.Source.(stats).N, nil }}}})
	pot := graphql.NewObject(graphql.ObjectConfig{Name: "Pot", Fields: graphql.Fields{"litres": {Type: graphql.Float}}})
	vessel := graphql.NewUnion(graphql.UnionConfig{Name: "Vessel", Types: []*graphql.Object{cup, pot},
		ResolveType: func(p graphql.ResolveTypeParams) *graphql.Object {
			if _, is := p.Value.(stats); is {
				return cup
			}
			return pot
		}})
	span := graphql.NewInputObject(
		graphql.InputObjectConfig{Name: "Span", Fields: graphql.InputObjectConfigFieldMap{"from": {Type: cents},
			"size": {Type: size, DefaultValue: 2}}})
	var e schema.Extensions
	e.Use(schema.ExtensionFunc(func(b *schema.Builder) (schema.Extension, error) {
		return schema.Extension{Types: []graphql.Type{graphql.NewObject(graphql.ObjectConfig{Name: "Query",
			Fields: graphql.Fields{
				"vessels": {Type: graphql.NewList(vessel),
					Resolve: value([]any{stats{N: 1, Other: "c"}, map[string]float64{"litres": 2.5}})},
				"one":   {Type: named, Resolve: value(stats{N: 2, Other: "d"})},
				"wrong": {Type: cup, Resolve: value(5)},
				"count": {Type: cents,
					Args: graphql.FieldConfigArgument{"span": {Type: span}, "sizes": {Type: graphql.NewList(size)}},
					Resolve: func(p graphql.ResolveParams) (
						any, error) {
						return fmt.Sprint(p.Args["span"], p.Args["sizes"]), nil
					}},
				"first": {Type: b.Type("Category").(graphql.Output), Resolve: value(map[string]any{"name": "x"})},
			}})}}, nil
	}))
	s := newExtended(t, limits.Operation{}, &e)
	for _, tt := range []struct{ query, variables, want string }{
		{`{vessels{__typename ...on Cup{size name} ...on Pot{litres}}}`, "{}",
			`{"data":{"vessels":[{"__typename":"Cup","size":"SMALL","name":"c"},{"__typename":"Pot","litres":2.5}]}}`},
		{`{one{name __typename ...on Cup{size}} first{name}}`, "{}",
			`{"data":{"one":{"name":"d","__typename":"Cup","size":"LARGE"},"first":{"name":"x"}}}`},
		{`{wrong{name}}`, "{}",
			`{"errors":[{"message":"Expected value of type \"Cup\" but got: 5.","locations":[{"line":1,"column":2}],"path":["wrong"],"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":{"wrong":null}}`},
		{`query($s:Span,$z:[Size]){count(span:$s,sizes:$z)}`, `{"s":{"from":4},"z":["SMALL","LARGE"]}`,
			`{"data":{"count":"map[from:8 size:2] [1 2] ct"}}`},
		{`{count(span:{from:4,size:SMALL})}`, `{}`, `{"data":{"count":"map[from:8 size:1] <nil> ct"}}`},
		{`{count(span:{from:"x"})}`, `{}`,
			`{"errors":[{"message":"Argument \"span\" has invalid value; Expected type \"Cents\".","path":["count"],"extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"Argument \"span\" has invalid value; Expected type \"Cents\".","details":{}}}}],"data":{"count":null}}`},
	} {
		if got := s.ask(tt.query, tt.variables); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.query, got, tt.want)
		}
	}
}

// TestReadsOfResolvers checks that documents that resolvers name are read together, and that parents are not read
// again.
func TestReadsOfResolvers(t *testing.T) {
	var e schema.Extensions
	var ids []string
	var calls atomic.Int64
	e.Use(schema.Extension{
		TypeDefs: "extend type Restaurant { best: Category words: Int later: Int }",
		Resolvers: schema.Resolvers{"Restaurant": {
			"best": func(p graphql.ResolveParams) (any, error) {
				return schema.Document{Type: "api::category.category",
					DocumentID: ids[p.Source.(*schema.Row).Get("seats").(int)%len(ids)]}, nil
			},
			"words": func(p graphql.ResolveParams) (any, error) {
				return len(p.Source.(*schema.Row).Get("name").(string)), nil
			},
			"later": func(p graphql.ResolveParams) (any, error) {
				calls.Add(1)
				return func() (any, error) { return calls.Load(), nil }, nil
			},
		}},
	})
	s := newExtended(t, limits.Operation{}, &e)
	const n = 40
	s.fill(n)
	ids = s.all("api::category.category")
	before := s.store.Stats()
	answer := s.ask(`{restaurants(pagination:{limit:40}){words best{name restaurants(pagination:{limit:1}){name}} later}}`)
	after := s.store.Stats()
	if strings.Contains(answer, "errors") || strings.Count(answer, `"best":{"name":"C`) != n {
		t.Fatal(answer)
	}
	if strings.Count(answer, fmt.Sprintf(`"later":%d`, n)) != n {
		t.Errorf("what was put off did not wait for the others: %s", answer)
	}
	// The query reads n restaurants, 5 categories and one restaurant of each category.
	if rows := after.Rows - before.Rows; rows > n+5+5 {
		t.Errorf("%d rows were read", rows)
	}
	if seeks := after.Seeks - before.Seeks; seeks > 60 {
		t.Errorf("%d searches", seeks)
	}
}

// TestTimeOfResolvers checks that the context of a resolver ends when the time limit of the operation is over, and that
// no resolver runs after that.
func TestTimeOfResolvers(t *testing.T) {
	for _, operation := range []string{"query", "mutation"} {
		var e schema.Extensions
		var later atomic.Bool
		wait := func(p graphql.ResolveParams) (any, error) { <-p.Context.Done(); return nil, p.Context.Err() }
		after := func(graphql.ResolveParams) (any, error) { later.Store(true); return nil, nil }
		e.Use(schema.Extension{TypeDefs: "extend type Query { wait: Int after: Int } extend type Mutation { wait: Int after: Int }",
			Resolvers: schema.Resolvers{"Query": {"wait": wait, "after": after},
				"Mutation": {"wait": wait, "after": after}}})
		s := newExtended(t, limits.Operation{}, &e)
		_, err := s.engine.Execute(context.Background(), &execution.Request{Query: operation + "{wait after}",
			Access: permission.FullAccess, Time: 5 * time.Millisecond})
		if !errors.Is(err, context.DeadlineExceeded) || later.Load() {
			t.Errorf("%s: error %v, went on: %v", operation, err, later.Load())
		}
	}
}

// TestConcurrentResolvers checks that concurrent operations share plans and nothing else.
func TestConcurrentResolvers(t *testing.T) {
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs: "extend type Query { n(of: Int): Int } extend type Restaurant { words: Int tierOf(t: ENUM_RESTAURANT_TIER): ENUM_RESTAURANT_TIER }",
		Resolvers: schema.Resolvers{"Query": {"n": func(p graphql.ResolveParams) (any,
			error) {
			return p.Args["of"], nil
		}},
			"Restaurant": {"words": func(p graphql.ResolveParams) (any, error) {
				return len(p.Source.(*schema.Row).Get("name").(string)), nil
			},
				"tierOf": func(p graphql.ResolveParams) (any, error) { return p.Args["t"], nil }}},
		ResolversConfig: map[string]schema.FieldConfig{"Query.restaurants": {Middlewares: []schema.MiddlewareUse{{Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
			p.Args["pagination"] = map[string]any{"limit": 2}
			return next(p)
		}}}}},
	})
	s := newExtended(t, limits.Operation{}, &e)
	s.fill(5)
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range 25 {
				n := i*10 + worker
				want := fmt.Sprintf(
					`{"data":{"n":%d,"restaurants":[{"words":12,"tierOf":"gold","owner":{"firstName":"P0"}},{"words":12,"tierOf":"gold","owner":{"firstName":"P1"}}]}}`, n)
				if got := s.ask(`query($n:Int){n(of:$n) restaurants(sort:"seats"){words tierOf(t:gold) owner{firstName}}}`, fmt.Sprintf(`{"n":%d}`, n)); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
	wait.Wait()
}

// TestPanicsOfTypes checks that a panic in a function of a type that a program made becomes an error.
func TestPanicsOfTypes(t *testing.T) {
	for name, typ := range map[string]graphql.Output{
		"a scalar": graphql.NewScalar(
			graphql.ScalarConfig{Name: "Bad", Serialize: func(any) any { panic("at Serialize") }}),
		"a union": graphql.NewUnion(
			graphql.UnionConfig{Name: "Bad",
				ResolveType: func(graphql.ResolveTypeParams) *graphql.Object { panic("at ResolveType") },
				Types: []*graphql.Object{graphql.NewObject(graphql.ObjectConfig{Name: "One",
					Fields: graphql.Fields{"x": {Type: graphql.Int}}})}}),
	} {
		var e schema.Extensions
		e.Use(schema.Extension{Types: []graphql.Type{graphql.NewObject(graphql.ObjectConfig{Name: "Query",
			Fields: graphql.Fields{"f": {Type: typ, Resolve: value(1)},
				"g": {Type: graphql.Int, Resolve: value(2)}}})}})
		s := newExtended(t, limits.Operation{}, &e)
		query := "{f g}"
		if name == "a union" {
			query = "{f{__typename} g}"
		}
		if got := s.ask(query); !strings.HasSuffix(got, `"data":{"f":null,"g":2}}`) ||
			!strings.Contains(got, `"message":"Internal Server Error","path":["f"]`) ||
			!strings.Contains(s.log.String(), "panic: at ") {
			t.Errorf("%s: %s, logged %s", name, got, s.log.String())
		}
	}
}

// TestNextElsewhere checks middlewares that call next from another goroutine, more than once, or after they have
// returned.
func TestNextElsewhere(t *testing.T) {
	var e schema.Extensions
	late := make(chan graphql.FieldResolveFn, 1)
	e.Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{
		"Query.restaurants": {Middlewares: []schema.MiddlewareUse{{Func: func(next graphql.FieldResolveFn,
			p graphql.ResolveParams) (any, error) {
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() { next(p) })
			}
			wait.Wait()
			return next(p)
		}}}},
		"Restaurant.owner": {Middlewares: []schema.MiddlewareUse{{Func: func(next graphql.FieldResolveFn,
			p graphql.ResolveParams) (any, error) {
			select {
			case late <- next:
			default:
			}
			return next(p)
		}}}},
	}})
	s := newExtended(t, limits.Operation{}, &e)
	s.fill(2)
	for range 2 {
		if got, want := s.ask(`{restaurants(sort:"seats"){name owner{firstName}}}`),
			`{"data":{"restaurants":[{"name":"Restaurant 0","owner":{"firstName":"P0"}},{"name":"Restaurant 1","owner":{"firstName":"P1"}}]}}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	next := <-late
	if v, err := next(graphql.ResolveParams{}); v != nil || err == nil ||
		!strings.Contains(err.Error(), "had returned") {
		t.Errorf("next that is called too late returns %v, %v", v, err)
	}
}

// TestDeepInterfaces checks that the cost of nested interfaces grows with their depth, and not with the number of their
// types.
func TestDeepInterfaces(t *testing.T) {
	var e schema.Extensions
	defs := "extend type Query { node: Node } interface Node { kid: Node kids: [Node] n: Int } "
	for i := range 12 {
		defs += fmt.Sprintf("type Node%d implements Node { kid: Node kids: [Node] n: Int } ", i)
	}
	var node any = map[string]any{"__typename": "Node0", "n": 0}
	for i := range 9 {
		node = map[string]any{"__typename": fmt.Sprintf("Node%d", i), "n": i, "kid": node}
	}
	e.Use(schema.Extension{TypeDefs: defs, Resolvers: schema.Resolvers{"Query": {"node": value(node)}}})
	s := newExtended(t, limits.Operation{}, &e)
	got := s.ask("{node" + strings.Repeat("{n kid", 8) + "{n}" + strings.Repeat("}", 8) + "}")
	want := `{"n":0}`
	for i := 1; i < 9; i++ {
		want = fmt.Sprintf(`{"n":%d,"kid":%s}`, i, want)
	}
	if want = `{"data":{"node":` + want + `}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.engine = s.extended(limits.Operation{Cost: 200_000}, &e)
	if got := s.ask("{node" + strings.Repeat("{kids", 8) + "{n}" + strings.Repeat("}", 8) + "}"); !strings.Contains(
		got, "may answer with more than 200000 objects (graphql.config.limits.cost)") {
		t.Errorf("lists within lists: %s", got)
	}
}
