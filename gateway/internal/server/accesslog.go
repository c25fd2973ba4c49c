package server

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"lectern/gateway/internal/accesslog"
)

// An AccessLog says which requests the log has a line for at level info. The zero value logs none. No line has a query,
// a body or a credential.
type AccessLog struct {
	On     bool
	Sample float64 // the share of successful requests; the log has all others
}

// has reports whether the log has a line for a request.
func (a AccessLog) has(o *observation) bool {
	return a.On && (o.status >= http.StatusBadRequest || !o.quiet && (a.Sample >= 1 || rand.Float64() < a.Sample))
}

// logRequest logs a request at level info if the access log has it, and otherwise at level debug. The line has the path
// at level debug alone, since a path may name a document, unless no route has the path: whoever looks for a wrong link
// needs it.
func (s *Server) logRequest(o *observation, r *http.Request, took time.Duration) {
	level := slog.LevelDebug
	if s.access.has(o) {
		level = slog.LevelInfo
	}
	ctx := r.Context()
	if !s.log.Enabled(ctx, level) {
		return
	}
	line := accesslog.Line{
		ID: o.id, Method: methodOf(r), Route: o.route, Status: o.status, Bytes: o.bytes, Began: o.began, Took: took,
		Client: clientAddr(r, s.proxies), Reason: string(o.refusal),
	}
	debug := s.log.Enabled(ctx, slog.LevelDebug)
	switch {
	case debug:
		line.Path = r.URL.EscapedPath()
	case o.route == noRoute:
		line.Path = loggedPath(r.URL.EscapedPath())
	}
	if o.known { // otherwise the server did not authenticate the request
		caller := RecordedAs(o.caller)
		line.Principal, line.Name, line.User = caller.Kind, caller.Name, o.caller.User.ID
	}
	if s.requests == nil || debug {
		line.LogTo(ctx, s.log, level)
		return
	}
	s.requests.Write(ctx, &line)
}

// maxLoggedPath is how many bytes of a path without a route the log has: clients can make up paths of any length.
const maxLoggedPath = 200

// loggedPath returns a path as the log has it: in ASCII, and cut off after maxLoggedPath bytes.
func loggedPath(escaped string) string {
	if len(escaped) > maxLoggedPath {
		return escaped[:maxLoggedPath] + "…"
	}
	return escaped
}
