package gateway

import (
	"io"
	"log/slog"

	"lectern/gateway/config"
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
	options := &slog.HandlerOptions{Level: l.Level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
