package server

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
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
	ctx, level := r.Context(), slog.LevelDebug
	if s.access.has(o) {
		level = slog.LevelInfo
	}
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("id", o.Header().Get(RequestID)),
		slog.String("method", methodOf(r)),
		slog.String("route", o.route))
	switch {
	case s.log.Enabled(ctx, slog.LevelDebug):
		attrs = append(attrs, slog.String("path", r.URL.EscapedPath()))
	case o.route == noRoute:
		attrs = append(attrs, slog.String("path", loggedPath(r.URL.EscapedPath())))
	}
	attrs = append(attrs,
		slog.Int("status", o.status), slog.Int64("bytes", o.bytes), slog.Duration("took", took),
		slog.String("client", clientAddr(r, s.proxies).String()))
	attrs = o.appendCaller(attrs)
	if o.refusal != "" {
		attrs = append(attrs, slog.String("reason", string(o.refusal)))
	}
	s.log.LogAttrs(ctx, level, "request", attrs...)
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

// appendCaller appends who sent the request: the kind of principal, and the name of an API token or the name and id of
// a user. It appends nothing if the server did not authenticate the request.
func (o *observation) appendCaller(attrs []slog.Attr) []slog.Attr {
	if !o.known {
		return attrs
	}
	caller := RecordedAs(o.caller)
	attrs = append(attrs, slog.String("principal", caller.Kind))
	if caller.Name != "" {
		attrs = append(attrs, slog.String("name", caller.Name))
	}
	if o.caller.User.ID != 0 {
		attrs = append(attrs, slog.Uint64("user", o.caller.User.ID))
	}
	return attrs
}
