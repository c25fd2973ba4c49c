package gateway

import (
	"log/slog"
	"net/http"
	"time"
)

// A loggedWriter records the status and size of an answer for the log.
type loggedWriter struct {
	http.ResponseWriter
	status int
	bytes  int
}

func (w *loggedWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *loggedWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// Flush implements http.Flusher. It has no effect if the connection cannot flush.
func (w *loggedWriter) Flush() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush() // an error means that the connection cannot flush
}

// Unwrap lets http.ResponseController reach the connection.
func (w *loggedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// logRequest logs a request at level debug, since a busy server answers thousands a second. It logs no query, body or credential.
func (s *Server) logRequest(w *loggedWriter, r *http.Request, began time.Time) {
	s.log.LogAttrs(r.Context(), slog.LevelDebug, "request", requestAttrs(w, r,
		slog.Int("status", w.status), slog.Int("bytes", w.bytes), slog.Duration("took", time.Since(began)))...)
}
