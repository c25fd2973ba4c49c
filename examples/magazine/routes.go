package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/store"
)

// addRoutes adds two routes, and policies and middleware to routes of the server.
func addRoutes(x *gateway.Extensions) {
	x.Handle(
		gateway.Route{
			Method: "POST", Path: "/api/articles/{documentId}/feature", Handle: feature,
			Action:   "api::article.article.feature", // granted in config/permissions.yaml
			Policies: []gateway.PolicyUse{{Name: "is-owner"}},
		},
		gateway.Route{Method: "GET", Path: "/api/statistics/words", Handle: getWords, Action: "api::statistics.statistics.words"},
	)
	x.Route("api::article.article.update", gateway.RouteConfig{Policies: []gateway.PolicyUse{{Name: "is-owner"}}})
	x.Route("api::article.article.find", gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Name: "cache-for", Options: 60}}})
	x.Route("GET /uploads/{path:.*}", gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Name: "cache-for", Options: 3600}}})
}

// feature answers POST /api/articles/{documentId}/feature: it publishes the article as featured.
func feature(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
	documentID := mux.Vars(r)["documentId"]
	if err := putOnFrontPage(r.Context(), documentID); err != nil {
		return err // an *apierror.Error goes to the client; any other error goes to the log, and the client gets status 500
	}
	return send(w, map[string]any{"data": map[string]any{"documentId": documentID, "featured": true}})
}

// getWords answers GET /api/statistics/words with the most frequent words in titles.
func getWords(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
	list, err := topWords(r.Context(), 3)
	if err != nil {
		return err
	}
	return send(w, map[string]any{"data": list})
}

func send(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err = w.Write(body)
	return err
}

// isOwner is a policy that lets users change only their own articles. Routes and GraphQL fields use it. It allows API
// tokens everything that they were granted, since a token has no user.
func isOwner(c *gateway.PolicyContext, s gateway.Host) (bool, error) {
	caller := gateway.CallerOf(c.Context)
	if caller.User.ID == 0 {
		return true, nil
	}
	documentID, overGraphQL := c.Args["documentId"].(string)
	if !overGraphQL {
		documentID = mux.Vars(caller.HTTP)["documentId"]
	}
	own, err := s.Documents().Query(articleUID).Status(store.Draft).
		Where(documents.Eq("documentId", documentID), documents.Eq("owner.id", caller.User.ID)).Count(c.Context)
	return own > 0, err
}

// cacheFor is a middleware that lets clients cache an answer for some seconds.
func cacheFor(options any) (gateway.Middleware, error) {
	seconds, ok := options.(int)
	if !ok {
		return nil, fmt.Errorf("want a number of seconds, not %v", options)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", seconds))
			next.ServeHTTP(w, r)
		})
	}, nil
}
