package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway"
)

// addArchive mounts a gorilla/mux router for callers who may find articles.
func addArchive(x *gateway.Extensions) {
	x.Mount("/archive", gateway.RouteConfig{Scopes: []string{"api::article.article.find"}}, func(r *mux.Router) {
		r.Use(nameRoute)
		r.Handle("/{year:[0-9]{4}}", gateway.HandlerFunc(getYear)).Methods("GET")
		r.Handle("/latest", http.RedirectHandler("/api/articles?sort=publishedAt:desc", http.StatusFound))
	})
}

// nameRoute is ordinary middleware for gorilla/mux: it writes the route's name to a header.
func nameRoute(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if template, err := mux.CurrentRoute(r).GetPathTemplate(); err == nil {
			w.Header().Set("X-Route", template)
		}
		next.ServeHTTP(w, r)
	})
}

// getYear answers GET /archive/{year} with the titles of the articles that were published in that year.
func getYear(w http.ResponseWriter, r *http.Request) error {
	year, err := strconv.Atoi(mux.Vars(r)["year"])
	if err != nil {
		return apierror.NotFound()
	}
	from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	articles, err := gateway.CallerOf(r.Context()).Server.Documents().Query(articleUID).
		Where(documents.Gte("publishedAt", from), documents.Lt("publishedAt", from.AddDate(1, 0, 0))).
		Sort("publishedAt").Limit(100).All(r.Context())
	if err != nil {
		return err
	}
	titles := []string{}
	for _, article := range articles {
		titles = append(titles, article.Text("title"))
	}
	return send(w, map[string]any{"data": titles})
}
