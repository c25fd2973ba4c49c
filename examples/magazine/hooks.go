package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/jsontree"
)

// addHooks registers functions that run before and after writes of articles, whether over REST, over GraphQL or by this
// program.
func addHooks(x *gateway.Extensions) {
	x.Hooks(documents.Hooks{
		BeforeCreate: prepare,
		AfterCreate:  audit,
		AfterUpdate:  audit,
		AfterPublish: audit,
		BeforeDelete: keepFeatured,
		AfterDelete:  audit,
	}, articleUID)
}

// prepare gives a new article a slug, if it has none, and makes the user who creates it its owner.
func prepare(ctx context.Context, e *documents.Event) error {
	if title, ok := e.Data.Value("title").(string); ok && e.Data.Value("slug") == nil {
		e.Data.Set("slug", strings.ToLower(strings.Join(words(title), "-")))
	}
	if user := gateway.CallerOf(ctx).User.ID; user != 0 {
		e.Data.Set("owner", jsontree.Number(strconv.FormatUint(user, 10)))
	}
	return nil
}

// keepFeatured refuses to delete a featured article. It passes the article's title to audit, which runs after the
// deletion.
func keepFeatured(_ context.Context, e *documents.Event) error {
	article, err := e.Values()
	if err != nil || article == nil {
		return err
	}
	if article.Value("featured") == true {
		return &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", Message: "This article is on the front page"}
	}
	e.State["title"] = article.Value("title")
	return nil
}

// audit logs the write. An error that it returns goes to the log, because the article is already written.
func audit(ctx context.Context, e *documents.Event) error {
	title := e.State["title"]
	article, err := e.Values()
	if err != nil {
		return err
	}
	if article != nil {
		title = article.Value("title")
	}
	entry := jsontree.NewObject()
	entry.Set("action", e.Action.String())
	entry.Set("article", e.DocumentID)
	entry.Set("title", title)
	if user := gateway.CallerOf(ctx).User.ID; user != 0 {
		entry.Set("by", jsontree.Number(strconv.FormatUint(user, 10)))
	}
	return e.Documents().Create(ctx, documents.Write{
		Type: e.Documents().Model().Type(auditUID), Data: entry, Access: permission.FullAccess,
	})
}
