package server

import (
	"context"
	"net/http"
)

// AnswerInside answers a request that the server makes to itself, with authentication, permissions and retries like any
// other. The request that it belongs to has a place and has been counted by the rate limits. It does not panic.
// complete is false if the answer has broken off.
func (s *Server) AnswerInside(w http.ResponseWriter, r *http.Request) (complete bool) {
	w.Header()[RequestID] = []string{s.ids.next(r)}
	r = r.WithContext(insideContext{r.Context()})
	defer func() { complete = recover() == nil }() // http.ErrAbortHandler is how a handler ends its own answer
	defer s.recover(w, r)
	h := s.serving.Load()
	s.dispatch(w, r, h, h.match(r))
	return true
}

// An insideContext is the context of a request that the server makes to itself. It hides what belongs to the connection
// and to the answer of the request around it.
type insideContext struct{ context.Context }

// Value implements context.Context.
func (c insideContext) Value(key any) any {
	switch key.(type) {
	case insideKey:
		return true
	case connKey, answerKey, retryKey, requestStateKey:
		return nil
	}
	return c.Context.Value(key)
}

type insideKey struct{}

// isInside reports whether the server makes a request to itself.
func isInside(ctx context.Context) bool { return ctx.Value(insideKey{}) != nil }
