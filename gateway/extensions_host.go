package gateway

import (
	"log/slog"
	"net/http"

	"lectern/auth"
	"lectern/documents"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A host is the server as extensions see it: the generation that answers a request.
type host struct{ generation *generation }

var _ schema.Server = host{}

func (h host) Store() *store.Store           { return h.generation.store }
func (h host) Documents() *documents.Service { return h.generation.docs }
func (h host) Log() *slog.Logger             { return h.generation.project.log }

// withCaller returns a request whose context has the caller, for hooks around the writes of the request.
func (g *generation) withCaller(r *http.Request, who auth.Principal) *http.Request {
	if len(g.extensions.hooks) == 0 {
		return r
	}
	return r.WithContext(
		schema.WithCaller(r.Context(), &Caller{Access: who.Access, User: who.User, HTTP: r, Server: host{g}}))
}

// hook adds the hooks to a service.
func (x *Extensions) hook(s *documents.Service) error {
	for _, h := range x.hooks {
		if err := s.Hook(h.hooks, h.uids...); err != nil {
			return err
		}
	}
	return nil
}
