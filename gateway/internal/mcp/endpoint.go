package mcp

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
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// messageBytes is what a message of the protocol takes while it is answered: the answer of the REST API, and the
// message that it becomes.
const messageBytes = 4 * MaxAnswer

// messageCopies is how many copies of a message there are while it is read: as a whole, its parameters, the arguments
// among them, and the request to the REST API that they become.
const messageCopies = 5

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

// EndpointOptions are what the endpoint needs.
type EndpointOptions struct {
	Version string    // of the program
	Prefix  string    // of the content API
	REST    *rest.API // whose routes become tools
	// Call answers a request that the server makes to itself.
	Call    func(http.ResponseWriter, *http.Request) (complete bool)
	Memory  *budget.Budget // of all requests
	Limits  server.Limits
	URL     string   // at which clients reach the server; "" if that is not set
	Origins []string // origins of pages that may send messages
	// Overhead is how much longer than the request that it makes a message may take.
	Overhead time.Duration
}

// An endpoint carries messages of the protocol over HTTP.
type endpoint struct {
	EndpointOptions
	handler *Handler
	host    string // of URL
}

// Routes returns the routes of the protocol.
func Routes(o EndpointOptions) []server.Route {
	m := &endpoint{EndpointOptions: o,
		handler: New(Options{Version: o.Version, Prefix: o.Prefix, Types: typesOf(o.REST), Call: o.Call})}
	if u, err := url.Parse(o.URL); err == nil {
		m.host = u.Hostname()
	}
	return []server.Route{
		{Method: http.MethodPost, Path: Path, Handle: m.serve, Streams: true},
		// GET is for streams, which there are none of. The protocol wants the answer 405, not 404 as for other paths
		// without GET.
		{Method: http.MethodGet, Path: Path, Open: true, Absent: true,
			Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
				server.NotAllowed(w, r, []string{http.MethodPost})
				return nil
			}},
	}
}

// typesOf returns the types that have routes, with the actions of these.
func typesOf(api *rest.API) (types []Type) {
	for _, route := range api.Routes() {
		i := slices.IndexFunc(types, func(t Type) bool { return t.ContentType == route.Type })
		if i < 0 {
			i = len(types)
			types = append(types, Type{ContentType: route.Type, Name: route.Type.PathName()})
		}
		types[i].Actions = append(types[i].Actions, route.Action)
	}
	return types
}

// POST /mcp: answers a message of the protocol.
func (m *endpoint) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if err := m.check(r); err != nil {
		return err
	}
	body, err := m.Limits.ReadAll(r, m.Limits.JSONBytes)
	if err != nil {
		return err
	}
	memory := &messageMemory{Tally: m.Memory.Tally(),
		of: m.Memory} // after the body: a client that sends slowly holds none
	defer memory.Release()
	if err := memory.Tally.Add(messageBytes + messageCopies*int64(len(body))); err != nil {
		return err
	}
	if isBatch(body) {
		return server.BadRequest("BadRequestError", "send one message in each request")
	}
	ctx, cancel := context.WithTimeout(r.Context(), m.Limits.Handle+m.Overhead) // a call itself has m.Limits.Handle
	defer cancel()
	message := r.Clone(ctx)
	message.Body, message.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	message.Header[server.RequestID] = w.Header()[server.RequestID]
	w.Header()["Cache-Control"] = server.NoStore
	m.handler.Serve(w, message, who.Access, memory)
	return nil
}

// check refuses requests that a page in a browser may have sent without its user knowing: from a foreign origin, or to
// a name that the page's owner has made to lead to this server (DNS rebinding). Nobody can do that with an address.
func (m *endpoint) check(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(host); err != nil && !strings.EqualFold(host, "localhost") &&
		(m.host == "" || !strings.EqualFold(host, m.host)) {
		return refusedPage("the header Host must be an address, localhost, or the host of url in config/server.yaml")
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if from, err := url.Parse(origins[0]); len(origins) > 1 || err != nil || !strings.EqualFold(from.Host, r.Host) &&
		!slices.Contains(m.Origins, origins[0]) {
		return refusedPage("the header Origin must be an origin that cors.origin in config/server.yaml names")
	}
	return nil
}

func refusedPage(message string) error {
	return &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Message: message,
		Reason: apierror.Permission}
}
