package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/shadowcrud/qs"
	"lectern/store"
)

// A resource is a path and the operations that answer its methods. It is one route of mux: the path is matched before
// the method, so that DELETE /api/users/me is not a DELETE of /api/users/{id}.
//
// A template of mux is a regular expression and cannot ignore both letter case and a trailing slash, as the reference
// does. Resources are therefore matched by patterns of our own (pattern.go), which mux calls through its MatcherFunc.
type resource struct {
	handlers   *handlers
	pattern    pattern
	template   string // the pattern as the access log and the metrics name it
	operations []operation
	allow      []string // the value of the header Allow

	generated bool        // all operations are generated and not extended: requests need nothing in their context
	extended  bool        // code of a program handles requests
	mount     *mountedMux // answers all methods and all paths below; nil for other resources
}

// An operation answers one method of a resource.
type operation struct {
	method string
	serve  Serve
	absent bool // it answers that the path has no such method
}

// A Serve answers a request. documentID is "" if its path names no document.
type Serve func(w http.ResponseWriter, r *http.Request, documentID string) error

// A routeTable collects resources for a router.
type routeTable struct {
	handlers  *handlers
	byPath    map[string]*resource
	resources []*resource
}

// add adds a route: the guard answers a method of a path. It has no effect if the method of the path has a route
// already.
func (t *routeTable) add(method, path string, g *guard) error {
	p, err := parsePattern(path)
	if err != nil {
		return fmt.Errorf("route %s %s: %w", method, path, err)
	}
	res := t.byPath[p.String()]
	if res == nil {
		res = &resource{handlers: t.handlers, pattern: p, template: p.template(), generated: true}
		t.byPath[p.String()] = res
		t.resources = append(t.resources, res)
	}
	if res.operation(method) != nil {
		return nil
	}
	res.operations = append(res.operations, operation{method, g.serve, g.absent})
	res.allow = []string{res.allowed()}
	res.generated = res.generated && g.generated && !g.extended
	res.extended = res.extended || g.extended
	return nil
}

// operation returns the operation of a method, or nil.
func (res *resource) operation(method string) *operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range res.operations {
		if res.operations[i].method == method {
			return &res.operations[i]
		}
	}
	return nil
}

// RouteMethods are the methods that routes may have.
var RouteMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// allowed returns the methods of the resource as the header Allow lists them.
func (res *resource) allowed() string {
	var all []string
	for _, method := range RouteMethods {
		if op := res.operation(method); op == nil || op.absent {
			continue
		}
		if method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
		all = append(all, method)
	}
	return strings.Join(all, ", ")
}

// ServeHTTP implements http.Handler.
func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) { res.answer(w, r, "") }

// A documentRequest answers a request for a resource whose path names a document.
type documentRequest struct {
	*resource
	documentID string
}

// resourceOf returns the resource whose path a request matches; nil for probes and paths that nothing serves.
func resourceOf(m *mux.RouteMatch) *resource {
	switch handler := m.Handler.(type) {
	case *resource:
		return handler
	case *documentRequest:
		return handler.resource
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (d *documentRequest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.answer(w, r, d.documentID)
}

// answer answers a request by the operation of its method. It replaces the body of the request by one that a retry can
// read again.
func (res *resource) answer(w http.ResponseWriter, r *http.Request, documentID string) {
	var serve Serve
	if op := res.operation(r.Method); op != nil {
		serve = op.serve
	} else if res.mount != nil {
		serve = res.mount.guard.serve
	} else {
		answerNoOperation(w, r, res.allow)
		return
	}
	h := res.handlers
	if forward := h.api.Steps.Forward; forward != nil {
		serve = forward(r, serve)
	}
	if len(r.URL.RawQuery) > UnreservedQuery || hasManyHeaders(r.Header) {
		memory := h.server.memory.Tally()
		defer memory.Release()
		if err := memory.Add(qs.Memory(r.URL.RawQuery) + int64(budget.OfHeaders(r.Header))); err != nil {
			h.server.fail(w, r, err)
			return
		}
	}
	kept, isRetry := r.Body.(*replayableBody)
	if !isRetry && r.Body != nil && r.Body != http.NoBody {
		sent := r.Body
		kept = &replayableBody{ReadCloser: sent, memory: h.server.bodies.Reservation(), parsed: h.server.memory.Tally()}
		if conn := connOf(r); conn != nil {
			kept.client = newClientBody(r, conn, &h.server.limits)
			conn.body, kept.ReadCloser = &kept.client, &kept.client
		}
		r.Body = kept
		defer func() {
			kept.discard()
			r.Body = sent // net/http looks at it to know whether the client still waits for "100 Continue"
		}()
	}
	switch err := serve(w, r, documentID); {
	case errors.Is(err, store.ErrRedefined):
		h.retry(w, r, kept)
	case err != nil:
		h.server.fail(w, r, err)
	}
}

// matchIn reports whether a request is for the resource, and sets m accordingly. It sets no variables if all operations
// are generated: these take the id of the document, and variables in the context of a request would cost a copy of the
// request.
func (res *resource) matchIn(at requestPath, r *http.Request, m *mux.RouteMatch) bool {
	if !res.pattern.matches(at) || res.mount != nil && !res.mount.matches(r) {
		return false
	}
	if res.mount != nil {
		m.Handler = res
		return true
	}
	if !res.generated {
		m.Vars = res.pattern.variables(at)
	}
	if id := res.pattern.first(at); id != "" {
		m.Handler = &documentRequest{res, id}
	} else {
		m.Handler = res
	}
	return true
}

// match is a mux.MatcherFunc: it matches requests for the resource.
func (res *resource) match(r *http.Request, m *mux.RouteMatch) bool {
	return res.matchIn(pathOf(r.URL), r, m)
}

// contentRoutes finds the resource of a path of a content-type, /api/articles and below, by one look-up, however many
// types there are.
type contentRoutes struct {
	prefix pattern
	byName map[string][]*resource
}

// match is a mux.MatcherFunc: it matches the paths of content-types.
func (c *contentRoutes) match(r *http.Request, m *mux.RouteMatch) bool {
	at := pathOf(r.URL)
	below, ok := c.prefix.cut(at.path)
	if !ok || below == "" {
		return false
	}
	name, _, _ := strings.Cut(below[1:], "/")
	for _, res := range c.byName[lower(name)] {
		if res.matchIn(at, r, m) {
			return true
		}
	}
	return false
}

// addTo adds the resources to a router, which tries in this order:
//
//   - the paths of content-types and the routes that a program adds below them, all by one matcher;
//   - a subrouter for each other beginning of paths, such as /graphql, /api/users, /api/upload and /uploads.
//
// If several resources match a path, the most literal one answers. addTo returns the matcher for content.
func (t *routeTable) addTo(
	router *mux.Router, prefix string, contentNames map[string]bool,
) (*contentRoutes, error) {
	below, err := parsePattern(prefix)
	if err != nil {
		return nil, fmt.Errorf("prefix of the content API: %w", err)
	}
	content := &contentRoutes{prefix: below, byName: map[string][]*resource{}}
	router.NewRoute().MatcherFunc(content.match)
	subrouters := map[string]*mux.Router{}
	slices.SortStableFunc(t.resources, func(a, b *resource) int { return a.pattern.compare(b.pattern) })
	for _, res := range t.resources {
		head := res.pattern[:min(1, len(res.pattern))]
		if p := res.pattern; len(p) > len(below) && p[:len(below)].String() == below.String() {
			head = p[:len(below)+1]
			if last := head[len(below)]; last.kind == literalPart && contentNames[last.text] {
				content.byName[last.text] = append(content.byName[last.text], res)
				continue
			}
		}
		sub := subrouters[head.String()]
		if sub == nil {
			sub = router.NewRoute().MatcherFunc(head.begins).Subrouter()
			subrouters[head.String()] = sub
		}
		sub.NewRoute().MatcherFunc(res.match)
	}
	return content, nil
}

// match is a mux.MatcherFunc: it matches the paths of the pattern.
func (p pattern) match(r *http.Request, _ *mux.RouteMatch) bool { return p.matches(pathOf(r.URL)) }

// begins is a mux.MatcherFunc: it matches the paths that begin with the pattern.
func (p pattern) begins(r *http.Request, _ *mux.RouteMatch) bool {
	_, ok := p.cut(pathOf(r.URL).path)
	return ok
}

// answerNotFound answers a request whose path has no route.
func answerNotFound(w http.ResponseWriter, r *http.Request) { answerNoOperation(w, r, readOnly) }

var readOnly = []string{"HEAD, GET"}

// answerStarting answers a request that arrives before the project is open.
func answerStarting(w http.ResponseWriter, r *http.Request) {
	w.Header()["Retry-After"] = RetrySoon
	WriteError(w, r, errStarting)
}

// answerNoOperation answers a request whose method the path does not have. allow is the header Allow: the methods that
// it has.
func answerNoOperation(w http.ResponseWriter, r *http.Request, allow []string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		WriteError(w, r, apierror.NotFound())
	case http.MethodOptions:
		w.Header()["Allow"] = allow
		w.WriteHeader(http.StatusOK)
	default:
		NotAllowed(w, r, allow)
	}
}
