package server_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
)

// TestMetricsOff expects no metrics route and, in the handler, no observation: the writer that a route gets is that of
// the connection.
func TestMetricsOff(t *testing.T) {
	var got http.ResponseWriter
	s, err := server.New(server.Config{}, server.API{Routes: []server.Route{{Method: "GET", Path: "/writer", Open: true,
		Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error { got = w; return nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	w := &discard{make(http.Header)}
	r, _ := http.NewRequest("GET", "/writer", nil)
	s.Handler().ServeHTTP(w, r)
	if got != http.ResponseWriter(w) {
		t.Errorf("the route writes to a %T", got)
	}
}

// BenchmarkObserve measures what the access log and metrics add to a request, which answers a document of a kilobyte.
func BenchmarkObserve(b *testing.B) {
	body := []byte(strings.Repeat("a", 1<<10))
	route := server.Route{Method: "GET", Path: "/api/things/{id}", Open: true, Streams: true, Whole: true,
		Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
			_, err := w.Write(body)
			return err
		}}
	for _, c := range []struct {
		name   string
		config server.Config
	}{
		{"off", server.Config{}},
		{"metrics", server.Config{Metrics: metrics.New("", func() metrics.Reading { return metrics.Reading{} })}},
		{"log", server.Config{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
			AccessLog: server.AccessLog{On: true, Sample: 1}}},
		{"log of 1%", server.Config{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
			AccessLog: server.AccessLog{On: true, Sample: 0.01}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := server.New(c.config, server.API{Routes: []server.Route{route}})
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest("GET", "/api/things/1", nil)
			b.ReportAllocs()
			for b.Loop() {
				s.Handler().ServeHTTP(&discard{make(http.Header)}, r)
			}
		})
	}
}
