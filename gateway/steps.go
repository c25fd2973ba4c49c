package gateway

import (
	"net/http"
	"strings"

	"lectern/gateway/internal/accounts"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/mcp"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
)

// steps returns what stands between requests and the handlers of a generation; of the project while it is opened, if g
// is nil.
func (p *Project) steps(g *generation) (s server.Steps) {
	var forwarded func(*http.Request) bool
	if g != nil {
		s.Once = g.keys.Serve
		if g.forward != nil {
			s.Forward, forwarded = g.forward.Step, g.isForwarded
		}
	}
	p.role.SetUpSteps(&s, forwarded)
	return s
}

// newForwarder returns the forwarder of a replica that forwards writes, or of a node in a cluster; nil for other
// servers.
func (g *generation) newForwarder() (*forward.Forwarder, error) {
	link, err := g.project.role.Upstream(g.Settings.REST.Prefix)
	if err != nil || link == nil {
		return nil, err
	}
	return forward.New(*link, g.isForwarded, g.Settings.Server.Limits.WithDefaults().Handle, g.project.log), nil
}

// makesPreview reports whether a path is that of a route which makes previews, for which it writes nothing.
func makesPreview(path, prefix string) bool {
	path = strings.ToLower(path)
	return strings.HasPrefix(path, strings.ToLower(prefix)+"/") && strings.HasSuffix(path, "/actions/preview")
}

// isForwarded reports whether a request of a content route may write, so that it is for the server that takes the
// writes, or asks about webhooks, which that server sends. Logins by a password write nothing without sessions, but
// those by another provider may make a user; the GraphQL endpoint itself forwards mutations, and the tools of MCP make
// requests of their own.
func (g *generation) isForwarded(r *http.Request) bool {
	path, prefix := strings.TrimSuffix(r.URL.Path, "/"), g.Settings.REST.Prefix
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return strings.EqualFold(path, prefix+"/auth/email-confirmation") || accounts.IsLoginByProvider(path, prefix) ||
			routes.IsOfWebhooks(path, prefix)
	}
	if strings.EqualFold(path, prefix+"/auth/local") {
		return g.Settings.Users.Accounts.Sessions.On
	}
	return !makesPreview(path, prefix) && !strings.EqualFold(path, g.Settings.GraphQL.Endpoint) &&
		!strings.EqualFold(path, mcp.Path)
}
