package main

import (
	"context"
	"net/http"

	"github.com/graphql-go/graphql"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// addEditing adds GraphQL fields for authors and editors: submit an article, promote one, and list those of a user.
func addEditing(x *gateway.Extensions) {
	x.Action("api::article.article.promote") // config/permissions.yaml grants it to editors and to the API token named desk
	x.Policy("has-role", hasRole)
	x.GraphQL().Use(schema.Extension{
		TypeDefs: `
			extend type Query { articlesOf(username: String!, filters: ArticleFiltersInput): [Article!]! }
			extend type Mutation {
				submitArticle(title: String!, text: String!): Article
				promoteArticle(documentId: ID!): Article
				retractArticle(documentId: ID!): Article
			}`,
		Resolvers: schema.Resolvers{
			"Query":    {"articlesOf": resolveArticlesOf},
			"Mutation": {"submitArticle": submitArticle, "promoteArticle": promoteArticle, "retractArticle": retractArticle},
		},
		ResolversConfig: map[string]schema.FieldConfig{
			"Query.articlesOf":        {Auth: schema.Scopes("api::article.article.find")},
			"Mutation.submitArticle":  {Auth: schema.Scopes("api::article.article.create")},
			"Mutation.promoteArticle": {Auth: schema.Scopes("api::article.article.promote")},
			"Mutation.retractArticle": {Policies: []gateway.PolicyUse{{Name: "has-role", Config: "editor"}}},
		},
	})
}

// hasRole is a policy that allows users with the role in its config.
func hasRole(c *gateway.PolicyContext, _ gateway.Host) (bool, error) {
	return gateway.CallerOf(c.Context).User.Role == c.Config, nil
}

// submitArticle resolves Mutation.submitArticle: it creates a draft and returns it.
func submitArticle(p graphql.ResolveParams) (any, error) {
	caller := gateway.CallerOf(p.Context)
	docs := caller.Server.Documents()
	taken, err := docs.Query(articleUID).Status(store.Draft).Where(documents.EqFold("title", p.Args["title"].(string))).Count(p.Context)
	if err != nil {
		return nil, err
	}
	if taken > 0 {
		return nil, &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", Message: "There is an article of this title"}
	}
	data := jsontree.NewObject()
	data.Set("title", p.Args["title"])
	data.Set("text", p.Args["text"])
	data.Set("notes", "handed in by "+caller.User.Username)
	var made schema.Document
	err = docs.Create(p.Context, documents.Write{
		Type: articleType(caller.Server), Data: data, Status: store.Draft, Access: caller.Access,
		After: func(_ *store.Snapshot, row store.Record) error {
			made = schema.DocumentOf(row)
			return nil
		},
	})
	return made, err
}

// promoteArticle resolves Mutation.promoteArticle for callers with the permission api::article.article.promote.
func promoteArticle(p graphql.ResolveParams) (any, error) {
	documentID := p.Args["documentId"].(string)
	if err := putOnFrontPage(p.Context, documentID); err != nil {
		return nil, err
	}
	return schema.Document{Type: articleUID, DocumentID: documentID}, nil
}

// retractArticle resolves Mutation.retractArticle: it unpublishes an article and returns its draft.
func retractArticle(p graphql.ResolveParams) (any, error) {
	server := gateway.CallerOf(p.Context).Server
	documentID := p.Args["documentId"].(string)
	err := server.Documents().Unpublish(p.Context, documents.Write{Type: articleType(server), DocumentID: documentID, Access: permission.FullAccess})
	if err != nil {
		return nil, err
	}
	return schema.Document{Type: articleUID, DocumentID: documentID, Status: store.Draft}, nil
}

// resolveArticlesOf resolves Query.articlesOf to the published articles of a user that match the filters in the query.
func resolveArticlesOf(p graphql.ResolveParams) (any, error) {
	filters, err := schema.FiltersOf(p, "filters")
	if err != nil {
		return nil, err
	}
	return gateway.CallerOf(p.Context).Server.Documents().Query(articleUID).
		Where(documents.Eq("owner.username", p.Args["username"]), filters).
		Sort("publishedAt:desc", "title").Limit(100).All(p.Context)
}

// putOnFrontPage publishes an article as featured. Articles that were featured before no longer are.
func putOnFrontPage(ctx context.Context, documentID string) error {
	server := gateway.CallerOf(ctx).Server
	ctx, release, err := server.Store().LockSchema(ctx) // definitions must not change between the writes
	if err != nil {
		return err
	}
	defer release()
	before, err := server.Documents().Query(articleUID).Where(documents.Eq("featured", true), documents.Ne("documentId", documentID)).All(ctx)
	if err != nil {
		return err
	}
	if err := setFeatured(ctx, documentID, true); err != nil {
		return err
	}
	for _, article := range before {
		if err := setFeatured(ctx, article.DocumentID(), false); err != nil {
			return err
		}
	}
	return nil
}

func setFeatured(ctx context.Context, documentID string, featured bool) error {
	server := gateway.CallerOf(ctx).Server
	data := jsontree.NewObject()
	data.Set("featured", featured)
	return server.Documents().Update(ctx, documents.Write{
		Type: articleType(server), DocumentID: documentID, Data: data, Status: store.Published, Access: permission.FullAccess,
	})
}
