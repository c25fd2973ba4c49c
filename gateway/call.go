package gateway

import (
	"context"
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/shadowcrud/rest"
)

// handleREST answers a generated route. Whether the caller may use it is decided before anything else of the request is
// looked at, so that nobody learns from an answer what he may not ask.
func (h *handlers) handleREST(route *rest.Route) (handlerFunc, error) {
	readBody, limit, answers := h.server.limits.readBody, h.server.limits.Handle, h.server.answers
	if config, said := h.rt.Extensions.configured(nameOfGenerated(h.rt.Prefix, route)); said || route.Writes() && len(h.rt.Extensions.hooks) > 0 {
		g, err := h.rt.Extensions.ready(&config)
		if err != nil {
			return nil, err
		}
		if len(g.scopes) == 0 {
			g.scopes = []string{route.Type.UID + "." + route.Action}
		}
		return g.finish(h, func(w http.ResponseWriter, r *http.Request, m *found, who auth.Principal) error {
			return route.Serve(w, r, rest.Call{Access: who.Access, DocumentID: m.params[0], ReadBody: readBody, Limits: answers})
		}), nil
	}
	return func(w http.ResponseWriter, r *http.Request, m *found) error {
		who, err := h.identify(r, false)
		if err != nil {
			return err
		}
		if !who.Access.Allows(route.Type, route.Action) {
			return apierror.Forbidden()
		}
		defer gatherWrites(r).sendKept(w)
		if route.Writes() {
			ctx, cancel := context.WithTimeout(r.Context(), limit)
			defer cancel()
			r = r.WithContext(ctx)
		}
		return route.Serve(w, r, rest.Call{Access: who.Access, DocumentID: m.params[0], ReadBody: readBody, Limits: answers})
	}, nil
}

// handleRoute answers a route of Runtime.Routes, or of a program.
func (h *handlers) handleRoute(route Route) (handlerFunc, error) {
	config, said, err := h.rt.Extensions.configOf(&route)
	if err != nil {
		return nil, err
	}
	g, err := h.rt.Extensions.ready(&config)
	if err != nil {
		return nil, err
	}
	g.streams, g.whole, g.count = route.Streams, route.Whole, route.count
	if route.own {
		route.Handle = onceBegun(route.Handle)
	}
	answer := route.answers()
	if said || len(h.rt.Extensions.hooks) > 0 && !route.Open {
		return g.finish(h, answer), nil
	}
	return g.plain(h, answer), nil
}

// anonymous is a request of somebody who does not say who he is.
var anonymous = &http.Request{Header: http.Header{}}

// identify says who sent a request, and what he may do: nothing where nobody can tell. An open route does not look at who it is.
func (h *handlers) identify(r *http.Request, open bool) (auth.Principal, error) {
	if h.rt.Authenticate == nil {
		return auth.Principal{Access: permission.NewAccess(nil)}, nil
	}
	if open {
		r = anonymous
	}
	return h.rt.Authenticate(r)
}
