package main

import (
	"fmt"
	"unicode/utf8"

	"github.com/graphql-go/graphql"

	"lectern/documents"
	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// addGraphQL removes some fields and operations from the generated schema and adds others.
func addGraphQL(x *gateway.Extensions) {
	g := x.GraphQL()
	g.ShadowCRUD(auditUID).Disable()
	g.ShadowCRUD(articleUID).DisableAction("delete").Field("notes").Disable()
	g.Middleware("teaser", teaser)
	g.Use(schema.Extension{
		TypeDefs: `
			type Word { word: String! count: Int! }
			extend type Query {
				topWords(limit: Int = 3): [Word!]!
				articleBySlug(slug: String!): Article
			}
			extend type Article {
				"How long it takes to read, in minutes."
				readingTime: Int!
			}`,
		Resolvers: schema.Resolvers{
			"Query":   {"topWords": resolveWords, "articleBySlug": resolveBySlug},
			"Article": {"readingTime": resolveReadingTime},
		},
		ResolversConfig: map[string]schema.FieldConfig{
			"Query.topWords":         {Auth: schema.NoAuth, Policies: []gateway.PolicyUse{{Name: "at-most", Config: 10}}},
			"Query.articleBySlug":    {Auth: schema.Scopes("api::article.article.findOne")},
			"Mutation.updateArticle": {Policies: []gateway.PolicyUse{{Name: "is-owner"}}},
			"Article.text":           {Middlewares: []schema.MiddlewareUse{{Name: "teaser", Options: 40}}},
		},
	})
}

// resolveWords resolves Query.topWords.
func resolveWords(p graphql.ResolveParams) (any, error) {
	return topWords(p.Context, p.Args["limit"].(int))
}

// resolveBySlug resolves Query.articleBySlug. It returns only the document's identity; the server reads the selected
// fields.
func resolveBySlug(p graphql.ResolveParams) (any, error) {
	return gateway.CallerOf(p.Context).Server.Documents().Query(articleUID).
		Where(documents.Eq("slug", p.Args["slug"])).First(p.Context)
}

// resolveReadingTime resolves Article.readingTime from the article that the server has already read.
func resolveReadingTime(p graphql.ResolveParams) (any, error) {
	article, err := schema.ParentOf(p)
	if err != nil {
		return nil, err
	}
	return 1 + len(words(article.Text("text")))/200, nil
}

// atMost is a policy that refuses a value above its maximum in the argument limit.
func atMost(c *gateway.PolicyContext, _ gateway.Host) (bool, error) {
	limit, _ := c.Args["limit"].(int)
	return limit <= c.Config.(int), nil
}

// teaser is a middleware that shortens a text for callers who are not logged in.
func teaser(options any) (schema.Middleware, error) {
	length, ok := options.(int)
	if !ok {
		return nil, fmt.Errorf("want a number of characters, not %v", options)
	}
	return func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error) {
		v, err := next(p)
		text, ok := v.(string)
		if !ok || err != nil || gateway.CallerOf(p.Context).User.ID != 0 || utf8.RuneCountInString(text) <= length {
			return v, err
		}
		return string([]rune(text)[:length]) + "…", nil
	}, nil
}
