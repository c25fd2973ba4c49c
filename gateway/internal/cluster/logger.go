package cluster

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newLogger returns a logger of Raft that writes to the log of the server.
func newLogger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Info, Output: io.Discard})
	l.RegisterSink(logSink{to})
	return l
}

type logSink struct{ to *slog.Logger }

// Accept implements hclog.SinkAdapter. What Raft tells is for those who look for a fault: who leads, and what a node cannot do, is logged by Node.
func (s logSink) Accept(name string, level hclog.Level, message string, args ...any) {
	at := slog.LevelDebug
	if level >= hclog.Error {
		at = slog.LevelWarn
	}
	s.to.Log(context.Background(), at, name+": "+message, args...)
}
