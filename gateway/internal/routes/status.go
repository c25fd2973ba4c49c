package routes

import (
	"context"
	"encoding/json"
	"net/http"

	"lectern/auth"
	"lectern/gateway/internal/server"
)

// StatusPath is the path of how the server is, below the prefix of the API.
const StatusPath = "/_status"

// StatusOptions are what the route of the status needs.
type StatusOptions struct {
	Prefix string // of the content API
	// Tell returns the status, which becomes JSON.
	Tell   func(context.Context) any
	Limits server.Limits
}

// Status returns the route at which callers see how the server is, and what it has done in the last day.
func Status(o StatusOptions) server.Route {
	return server.Route{Method: http.MethodGet, Path: o.Prefix + StatusPath, Action: auth.StatusAction, Handle: o.serve}
}

// GET /api/_status: how the server is.
func (o *StatusOptions) serve(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	var answer struct {
		Data any      `json:"data"`
		Meta struct{} `json:"meta"`
	}
	answer.Data = o.Tell(r.Context())
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.Header()["Cache-Control"] = server.NoStore
	return o.Limits.SendJSON(w, r, http.StatusOK, body)
}
