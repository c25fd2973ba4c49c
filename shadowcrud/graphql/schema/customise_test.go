package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/shadowcrud/graphql/schema"
)

// TestCustomise checks that Build reports resolvers and configs of fields that do not exist, and policies, middlewares
// and scopes that do not exist.
func TestCustomise(t *testing.T) {
	resolve := func(graphql.ResolveParams) (any, error) { return nil, nil }
	yes := func(*schema.PolicyContext, schema.Server) (bool, error) { return true, nil }
	config := func(key string, c schema.FieldConfig) schema.Extension {
		return schema.Extension{ResolversConfig: map[string]schema.FieldConfig{key: c}}
	}
	policy := func(u schema.PolicyUse) schema.Extension {
		return config("Query.articles", schema.FieldConfig{Policies: []schema.PolicyUse{u}})
	}
	middleware := func(u schema.MiddlewareUse) schema.Extension {
		return config("Query.articles", schema.FieldConfig{Middlewares: []schema.MiddlewareUse{u}})
	}
	resolver := func(typ, field string, f graphql.FieldResolveFn) schema.Extension {
		return schema.Extension{Resolvers: schema.Resolvers{typ: {field: f}}}
	}
	for _, c := range []struct {
		name       string
		extensions []schema.Extension
		err        string
	}{
		{"a resolver", []schema.Extension{resolver("Query", "articles", resolve)}, ""},
		{"a resolver of an unknown type", []schema.Extension{resolver("Articel", "title", resolve)},
			"resolver of Articel.title: there is no type Articel"},
		{"a resolver of an input", []schema.Extension{resolver("ArticleInput", "title", resolve)},
			"resolver of ArticleInput.title: there is no type ArticleInput"},
		{"a resolver of an unknown field", []schema.Extension{resolver("Article", "titel", resolve)},
			"resolver of Article.titel: Article has no field titel"},
		{"no resolver", []schema.Extension{resolver("Article", "title", nil)}, "resolver of Article.title: it is nil"},
		{"two resolvers", []schema.Extension{resolver("Article", "title", resolve),
			resolver("Article", "title", resolve)}, "resolver of Article.title: two extensions have one"},
		{"a resolver of a field that another extension brings",
			[]schema.Extension{resolver("Article", "words", resolve), {TypeDefs: "extend type Article { words: Int }"}},
			""},
		{"a field of Query without a resolver", []schema.Extension{{TypeDefs: "extend type Query { hello: String }"}},
			`Query.hello: nothing answers this field; the Resolvers of an extension need one for it: "Query": {"hello": …}`},
		{"a field of a document without a resolver",
			[]schema.Extension{{TypeDefs: "extend type Article { words: Int }"}},
			"Article.words: nothing answers this field"},
		{"a field of a component without a resolver",
			[]schema.Extension{{TypeDefs: "extend type ComponentAPart { words: Int }"}},
			"ComponentAPart.words: nothing answers this field"},
		{"a field in Go without a resolver",
			[]schema.Extension{{Types: []graphql.Type{graphql.NewObject(graphql.ObjectConfig{Name: "Mutation",
				Fields: graphql.Fields{"like": {Type: graphql.Int}}})}}}, "Mutation.like: nothing answers this field"},
		{"a field that a middleware answers", []schema.Extension{{TypeDefs: "extend type Query { hello: String }"},
			config("Query.hello",
				schema.FieldConfig{Middlewares: []schema.MiddlewareUse{{Name: "known", Options: 1}}})}, ""},
		{"fields of a type of the program's own",
			[]schema.Extension{{TypeDefs: "extend type Article { size: Size } type Size { words: Int }"},
				resolver("Article", "size", resolve)}, ""},
		{"no key", []schema.Extension{config("articles", schema.FieldConfig{})},
			`resolversConfig of articles: the key must be a type and a field of it`},
		{"an unknown type", []schema.Extension{config("Querry.articles", schema.FieldConfig{})},
			"resolversConfig of Querry.articles: there is no type Querry"},
		{"an unknown field", []schema.Extension{config("Query.article_s", schema.FieldConfig{})},
			"resolversConfig of Query.article_s: Query has no field article_s"},
		{"no scope", []schema.Extension{config("Query.articles", schema.FieldConfig{Auth: schema.Scopes("find")})},
			`"find" is no action`},
		{"a scope of an unknown type",
			[]schema.Extension{config("Query.articles",
				schema.FieldConfig{Auth: schema.Scopes("api::articel.articel.find")})},
			"there is no content-type api::articel.articel"},
		{"a named policy", []schema.Extension{policy(schema.PolicyUse{Name: "known"})}, ""},
		{"an unknown policy", []schema.Extension{policy(schema.PolicyUse{Name: "unknown"})},
			`resolversConfig of Query.articles: there is no policy "unknown"`},
		{"a policy without anything", []schema.Extension{policy(schema.PolicyUse{})},
			"a policy: it must have either a name or a function"},
		{"a policy with both", []schema.Extension{policy(schema.PolicyUse{Name: "known", Func: yes})},
			"either a name or a function"},
		{"a named middleware", []schema.Extension{middleware(schema.MiddlewareUse{Name: "known", Options: 1})}, ""},
		{"an unknown middleware", []schema.Extension{middleware(schema.MiddlewareUse{Name: "unknown"})},
			`there is no middleware "unknown"`},
		{"a middleware that does not like its options",
			[]schema.Extension{middleware(schema.MiddlewareUse{Name: "known"})}, `middleware "known": wants options`},
		{"a middleware that is nil", []schema.Extension{middleware(schema.MiddlewareUse{Name: "nil"})},
			`middleware "nil": it is nil`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e schema.Extensions
			e.Policy("known", yes)
			e.Middleware("nil", func(any) (schema.Middleware, error) { return nil, nil })
			e.Middleware("known", func(options any) (schema.Middleware, error) {
				if options == nil {
					return nil, errors.New("wants options")
				}
				return func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) { return next(p) }, nil
			})
			for _, x := range c.extensions {
				e.Use(x)
			}
			_, err := schema.Build(loadFiles(t, blog), schema.Options{Extensions: e.Clone()})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// TestPluginResolvers checks that a plugin can add resolvers for fields that it has added.
func TestPluginResolvers(t *testing.T) {
	var e schema.Extensions
	e.Use(schema.Extension{Plugins: []func(*schema.Builder) error{func(b *schema.Builder) error {
		b.AddResolvers(schema.Resolvers{"Article": {"late": func(graphql.ResolveParams) (any,
			error) {
			return 1, nil
		}}}, map[string]schema.FieldConfig{"Article.late": {Auth: schema.NoAuth}})
		return b.AddTypeDefs("extend type Article { late: Int }")
	}}})
	if m := build(t, loadFiles(t, blog), schema.Options{Extensions: &e}).FieldSpec(
		"Article", "late"); m.Resolve == nil || !m.Auth.Off() {
		t.Errorf("%+v", m)
	}
}

// TestCheckScope checks that Options.CheckScope decides which scopes are valid.
func TestCheckScope(t *testing.T) {
	for action, want := range map[string]string{"plugin::a.b.c": "",
		"api::article.article.find": "resolversConfig of Query.articles: not for anybody"} {
		var e schema.Extensions
		e.Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{"Query.articles": {Auth: schema.Scopes(action)}}})
		_, err := schema.Build(loadFiles(t, blog), schema.Options{Extensions: &e, CheckScope: func(s string) error {
			if strings.HasPrefix(s, "api::") {
				return errors.New("not for anybody")
			}
			return nil
		}})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: error %v, want %q", action, err, want)
		}
	}
}

// TestConfigsAddUp checks that the policies and middlewares of several extensions for one field all apply, while only
// the last Auth does.
func TestConfigsAddUp(t *testing.T) {
	yes := schema.PolicyUse{Func: func(*schema.PolicyContext, schema.Server) (bool, error) { return true, nil }}
	run := schema.MiddlewareUse{Func: func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any,
		error) {
		return next(p)
	}}
	var e schema.Extensions
	for _, c := range []schema.FieldConfig{
		{Auth: schema.Scopes("api::article.article.find"), Policies: []schema.PolicyUse{yes}},
		{Auth: schema.NoAuth, Policies: []schema.PolicyUse{yes, yes}}, {Middlewares: []schema.MiddlewareUse{run}},
	} {
		e.Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{"Query.articles": c}})
	}
	for range 2 { // for two models
		m := build(t, loadFiles(t, blog), schema.Options{Extensions: &e}).Query.Field("articles")
		if len(m.Policies) != 3 || len(m.Middlewares) != 1 || !m.Auth.Off() || m.Auth.Scopes() != nil || !m.Runs() {
			t.Errorf("%+v", m)
		}
	}
}
