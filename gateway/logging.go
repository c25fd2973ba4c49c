package gateway

import (
	"io"
	"log/slog"

	"lectern/gateway/config"
	"lectern/gateway/internal/accesslog"
)

// newLogger returns the log of a server: text for people in development, JSON for machines in production, unless
// log.format says otherwise.
func newLogger(w io.Writer, l config.Log, production bool) *slog.Logger {
	format := l.Format
	if format == "" {
		format = "text"
		if production {
			format = "json"
		}
	}
	return accesslog.New(w, format == "json", l.Level)
}
