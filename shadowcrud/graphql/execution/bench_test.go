package execution_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

const (
	oneQuery    = `query($id:ID!){restaurant(documentId:$id){documentId name seats owner{firstName}}}`
	listQuery   = `query($p:Int){restaurants(pagination:{page:$p,pageSize:25}){documentId name slug seats price tier createdAt}}`
	nestedQuery = `query($p:Int){restaurants_connection(pagination:{page:$p,pageSize:10}){nodes{name owner{firstName restaurants(pagination:{limit:5}){name}} categories{name} reviews{stars comment} address{city geo{lat}} dz{__typename ... on ComponentBlocksRichText{body}}} pageInfo{total pageCount}}}`
)

// BenchmarkQuery measures queries without HTTP. Plans come from the cache; variables are bound for each request.
func BenchmarkQuery(b *testing.B) {
	s := newServer(b, limits.Operation{})
	id := s.fill(50)
	for _, bench := range []struct{ name, query, variables string }{
		{"one", oneQuery, fmt.Sprintf(`{"id":%q}`, id)},
		{"list of 25", listQuery, `{"p":2}`},
		{"nested", nestedQuery, `{"p":2}`},
		{"typename", `{__typename}`, `{}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			vars := object(b, bench.variables)
			size := 0
			b.ReportAllocs()
			for b.Loop() {
				size = run(b, s, bench.query, vars)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
	b.Run("prepare nested", func(b *testing.B) {
		cold := newServer(b, limits.Operation{Plans: 1})
		b.ReportAllocs()
		vars := object(b, `{"p":2}`)
		for i := 0; b.Loop(); i++ {
			run(b, cold, fmt.Sprintf("#%d\n%s", i%2, nestedQuery), vars)
		}
	})
}

func run(t testing.TB, s *server, query string, vars *jsontree.Object) int {
	answer, err := s.engine.Execute(context.Background(),
		&execution.Request{Query: query, Variables: vars, Access: permission.FullAccess})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Release()
	return len(answer.Body)
}

// BenchmarkResolvers measures an operation with resolvers and middlewares, and the same operation without them.
func BenchmarkResolvers(b *testing.B) {
	var e schema.Extensions
	e.Use(schema.Extension{
		TypeDefs: "extend type Restaurant { words: Int best: Category }",
		Resolvers: schema.Resolvers{"Restaurant": {
			"words": func(p graphql.ResolveParams) (any, error) {
				return len(p.Source.(*schema.Row).Get("name").(string)), nil
			},
			"best": value(nil),
		}},
		ResolversConfig: map[string]schema.FieldConfig{"Restaurant.tier": {Middlewares: []schema.MiddlewareUse{{
			Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) { return next(p) }}}}},
	})
	s := newExtended(b, limits.Operation{}, &e)
	s.fill(50)
	for _, bench := range []struct{ name, query string }{
		{"none", `query($p:Int){restaurants(pagination:{page:$p,pageSize:25}){documentId name slug seats}}`},
		{"a resolver", `query($p:Int){restaurants(pagination:{page:$p,pageSize:25}){documentId name slug seats words}}`},
		{"a middleware", `query($p:Int){restaurants(pagination:{page:$p,pageSize:25}){documentId name slug seats tier}}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			vars := object(b, `{"p":2}`)
			b.ReportAllocs()
			for b.Loop() {
				run(b, s, bench.query, vars)
			}
		})
	}
}
