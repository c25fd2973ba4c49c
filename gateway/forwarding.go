package gateway

import (
	"net/http"
	"strings"

	"lectern/gateway/internal/forward"
)

// newForwarder returns the forwarder of a replica that forwards writes, or of a node in a cluster; nil for other
// servers.
func (g *generation) newForwarder() (*forward.Forwarder, error) {
	link, err := g.project.role.Upstream(g.Settings.REST.Prefix)
	if err != nil || link == nil {
		return nil, err
	}
	return forward.New(*link, g.isForwarded, g.Settings.Server.Limits.WithDefaults().Handle, g.project.log), nil
}

// isForwarded reports whether a request of a content route may write, so that it is for the server that takes the
// writes. Logins write nothing; the GraphQL endpoint itself forwards mutations, and the tools of MCP make requests of
// their own.
func (g *generation) isForwarded(r *http.Request) bool {
	path, prefix := strings.TrimSuffix(r.URL.Path, "/"), g.Settings.REST.Prefix
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return strings.EqualFold(path, prefix+"/auth/email-confirmation")
	}
	return !strings.EqualFold(path, prefix+"/auth/local") && !strings.EqualFold(path, g.Settings.GraphQL.Endpoint) &&
		!strings.EqualFold(path, mcpPath)
}
