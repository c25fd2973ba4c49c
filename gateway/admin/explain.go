package admin

import (
	"context"
	"net/http"

	"lectern/store"
)

// A Question is a read over REST or GraphQL that is to be explained.
type Question struct {
	// Query is the path and the query string of a GET below the prefix of the content API: articles?sort=title.
	Query string `json:"query,omitempty"`
	// GraphQL is an operation that is executed instead. It cannot be a mutation.
	GraphQL string `json:"graphql,omitempty"`
	// Role or Token names a role or a token of config/permissions.yaml, whose permissions the caller has. If both are
	// "", the caller may do everything.
	Role  string `json:"role,omitempty"`
	Token string `json:"token,omitempty"`
}

// An Explained is the answer to a Question.
type Explained struct {
	Status int     `json:"status"`
	Bytes  int64   `json:"bytes"` // of the answer
	Took   float64 `json:"took"`  // milliseconds
	store.Explanation
	// Answer is the beginning of the answer, if that is an error.
	Answer string `json:"answer,omitempty"`
}

// Explain implements Project.
func (r *remote) Explain(ctx context.Context, q Question) (Explained, error) {
	return call[Explained](ctx, r, http.MethodPost, "/explain", q)
}
