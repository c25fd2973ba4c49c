package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/mcp"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// mcpPath is the endpoint of the Model Context Protocol.
const mcpPath = "/mcp"

// mcpMemory is what a message of the protocol takes while it is answered: the answer of the REST API, and the message that it becomes.
const mcpMemory = 4 * mcp.MaxAnswer

// mcpCopies is how many copies of a message there are while it is read: as a whole, its parameters, the arguments among them, and the request to the
// REST API that they become.
const mcpCopies = 5

// A messageMemory is the memory for what a message is parsed to. Its errors are those that clients are told.
type messageMemory struct {
	budget.Tally
	of *budget.Budget
}

// Add implements jsontree.Memory.
func (m *messageMemory) Add(bytes int64) error {
	switch err := m.Tally.Add(bytes); {
	case errors.Is(err, budget.ErrExhausted):
		return server.ErrNoMemory(m.of)
	case errors.Is(err, budget.ErrNever):
		return server.ErrNeverMemory(m.of)
	default:
		return err
	}
}

// An mcpEndpoint carries messages of the Model Context Protocol over HTTP.
type mcpEndpoint struct {
	project *Project
	handler *mcp.Handler
	limits  server.Limits
	host    string   // of the URL at which clients reach the server; "" if that is not set
	origins []string // that cors.origin names
}

// mcpRoutes returns the routes of the protocol; none if it is switched off.
func (g *generation) mcpRoutes(api *rest.API) []server.Route {
	if !g.Settings.MCP {
		return nil
	}
	m := &mcpEndpoint{project: g.project, limits: server.Limits(g.Settings.Server.Limits.WithDefaults()), origins: g.Settings.Server.CORS.Origins}
	if u, err := url.Parse(g.Settings.Server.URL); err == nil {
		m.host = u.Hostname()
	}
	m.handler = mcp.New(mcp.Options{
		Version: g.project.options.Version, Prefix: g.Settings.REST.Prefix, Types: mcpTypes(api), Call: func(w http.ResponseWriter, r *http.Request) (complete bool) {
			return g.project.server.Load().AnswerInside(w, r)
		},
	})
	return []server.Route{
		{Method: http.MethodPost, Path: mcpPath, Handle: m.serve, Streams: true},
		// GET is for streams, which there are none of. The protocol wants the answer 405, not 404 as for other paths without GET.
		{Method: http.MethodGet, Path: mcpPath, Open: true, Absent: true, Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			server.NotAllowed(w, r, postAlone)
			return nil
		}},
	}
}

// mcpTypes returns the types that have routes, with the actions of these.
func mcpTypes(api *rest.API) (types []mcp.Type) {
	for _, route := range api.Routes() {
		i := slices.IndexFunc(types, func(t mcp.Type) bool { return t.ContentType == route.Type })
		if i < 0 {
			i = len(types)
			types = append(types, mcp.Type{ContentType: route.Type, Name: route.Type.PathName()})
		}
		types[i].Actions = append(types[i].Actions, route.Action)
	}
	return types
}

// POST /mcp: answers a message of the protocol.
func (m *mcpEndpoint) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if err := m.check(r); err != nil {
		return err
	}
	body, err := m.limits.ReadAll(r, m.limits.JSONBytes)
	if err != nil {
		return err
	}
	memory := &messageMemory{Tally: m.project.memory.Tally(), of: m.project.memory} // after the body: a client that sends slowly holds none
	defer memory.Release()
	if err := memory.Tally.Add(mcpMemory + mcpCopies*int64(len(body))); err != nil {
		return err
	}
	if mcp.IsBatch(body) {
		return server.BadRequest("BadRequestError", "send one message in each request")
	}
	ctx, cancel := context.WithTimeout(r.Context(), m.limits.Handle+forward.MaxOverhead) // a call itself has m.limits.Handle
	defer cancel()
	message := r.Clone(ctx)
	message.Body, message.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	message.Header[server.RequestID] = w.Header()[server.RequestID]
	w.Header()["Cache-Control"] = server.NoStore
	m.handler.Serve(w, message, who.Access, memory)
	return nil
}

// check refuses requests that a page in a browser may have sent without its user knowing: from a foreign origin, or to a name that the page's
// owner has made to lead to this server (DNS rebinding). Nobody can do that with an address.
func (m *mcpEndpoint) check(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(host); err != nil && !strings.EqualFold(host, "localhost") && (m.host == "" || !strings.EqualFold(host, m.host)) {
		return refusedPage("the header Host must be an address, localhost, or the host of url in config/server.yaml")
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if from, err := url.Parse(origins[0]); len(origins) > 1 || err != nil || !strings.EqualFold(from.Host, r.Host) && !slices.Contains(m.origins, origins[0]) {
		return refusedPage("the header Origin must be an origin that cors.origin in config/server.yaml names")
	}
	return nil
}

func refusedPage(message string) error {
	return &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Message: message, Reason: apierror.Permission}
}
