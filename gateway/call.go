package gateway

import (
	"context"
	"net/http"

	"lectern/documents"
	"lectern/shadowcrud/rest"
)

// handleREST answers a generated route. Whether the asker may use it is decided before anything else of the request is
// looked at, so that nobody learns from an answer what he may not ask.
func (h *handlers) handleREST(route *rest.Route) handlerFunc {
	readBody, limit := h.server.limits.readBody, h.server.limits.Handle
	return func(w http.ResponseWriter, r *http.Request, m *found) error {
		access, err := h.access(r)
		if err != nil {
			return err
		}
		if !access.Allows(route.Type, route.Action) {
			return documents.Forbidden()
		}
		if route.Writes() {
			ctx, cancel := context.WithTimeout(r.Context(), limit)
			defer cancel()
			r = r.WithContext(ctx)
		}
		return route.Serve(w, r, rest.Call{Access: access, DocumentID: m.params[0], ReadBody: readBody, Limit: limit})
	}
}

// handleRoute answers a route of Runtime.Routes.
func (h *handlers) handleRoute(route Route) handlerFunc {
	limit := h.server.limits.Handle
	return func(w http.ResponseWriter, r *http.Request, m *found) error {
		var access *documents.Access
		if !route.Open {
			var err error
			if access, err = h.access(r); err != nil {
				return err
			}
		}
		if !route.Streams {
			ctx, cancel := context.WithTimeout(r.Context(), limit)
			defer cancel()
			r = r.WithContext(ctx)
		}
		for i, name := range m.node.names {
			r.SetPathValue(name, m.params[i])
		}
		return route.Handle(w, r, access)
	}
}

// access says what the asker of a request may do: nothing where nobody can tell.
func (h *handlers) access(r *http.Request) (*documents.Access, error) {
	if h.rt.Authenticate == nil {
		return documents.NewAccess(nil), nil
	}
	return h.rt.Authenticate(r)
}
