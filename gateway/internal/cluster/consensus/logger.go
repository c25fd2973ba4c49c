package consensus

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// newLogger returns a logger for hashicorp/raft that writes to the log of the server.
func newLogger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Info, Output: io.Discard})
	l.RegisterSink(&logSink{to: to, warned: map[warning]time.Time{}})
	return l
}

// warnEvery is how often a warning is repeated. A leader tries twice a second to reach a node that is down, and Raft
// logs each failure.
const warnEvery = 10 * time.Minute

// A logSink writes the messages of hashicorp/raft to the log of the server. It is safe for concurrent use.
type logSink struct {
	to *slog.Logger

	mu     sync.Mutex
	warned map[warning]time.Time // when it was logged last as a warning
}

// A warning is what Raft could not do, and with which node. Raft has few messages and few nodes, so there are few.
type warning struct{ message, node string }

// Accept implements hclog.SinkAdapter. Errors are logged as warnings, each at most once in warnEvery, and all else at
// the level Debug: this package and the machine log themselves who leads, and what a node cannot do.
func (s *logSink) Accept(name string, level hclog.Level, message string, args ...any) {
	at := slog.LevelDebug
	if level >= hclog.Error && s.isNews(warning{message, nodeOf(args)}) {
		at = slog.LevelWarn
	}
	s.to.Log(context.Background(), at, name+": "+message, args...)
}

// isNews reports whether a warning was not logged for a while.
func (s *logSink) isNews(w warning) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if last, ok := s.warned[w]; ok && now.Sub(last) < warnEvery {
		return false
	}
	s.warned[w] = now
	return true
}

// nodeOf returns the node that a message of Raft is about, or "".
func nodeOf(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "peer" || args[i] == "target" {
			return fmt.Sprint(args[i+1])
		}
	}
	return ""
}
