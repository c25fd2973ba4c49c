package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"lectern/gateway/internal/server"
	"lectern/internal/servertest"
)

// A lineLog is a log of requests.
type lineLog struct{ servertest.LogBuffer }

// requests returns the lines of requests, decoded.
func (l *lineLog) requests(t *testing.T) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if o["msg"] == "request" {
			lines = append(lines, o)
		}
	}
	return lines
}

// request returns the line of the request with this id.
func (l *lineLog) request(t *testing.T, id any) map[string]any {
	t.Helper()
	for _, line := range l.requests(t) {
		if line["id"] == id {
			return line
		}
	}
	t.Fatalf("no line of request %v in\n%s", id, l)
	return nil
}

// TestAccessLogClient expects the address of the client behind a trusted proxy, and the address of the connection
// otherwise.
func TestAccessLogClient(t *testing.T) {
	var log lineLog
	s, err := server.New(server.Config{
		Log: slog.New(slog.NewJSONHandler(&log, nil)), AccessLog: server.AccessLog{On: true, Sample: 1},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}, server.API{})
	if err != nil {
		t.Fatal(err)
	}
	for peer, want := range map[string]string{"10.0.0.1:1": "192.0.2.7", "192.0.2.1:1": "192.0.2.1"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Header = peer,
			http.Header{"X-Forwarded-For": {"203.0.113.9, 192.0.2.7"}, "X-Request-Id": {peer}}
		s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if got := log.request(t, peer)["client"]; got != want {
			t.Errorf("a connection from %s: client %v, want %s", peer, got, want)
		}
	}
}

// TestAccessLogSample expects a share of the successful requests and all others in the log.
func TestAccessLogSample(t *testing.T) {
	for _, test := range []struct {
		log        server.AccessLog
		least, max int // lines of 400 successful requests
		failed     int // lines of 10 requests without a route
	}{
		{server.AccessLog{}, 0, 0, 0},
		{server.AccessLog{On: true, Sample: 1}, 400, 400, 10},
		{server.AccessLog{On: true, Sample: 0.5}, 100, 300, 10}, // the chance of more or fewer is below 1e-22
		{server.AccessLog{On: true}, 0, 0, 10},
	} {
		var log lineLog
		s, _ := newServer(t, server.Config{AccessLog: test.log, Log: slog.New(slog.NewJSONHandler(&log, nil))})
		for i := range 410 {
			path := "/api/things"
			if i >= 400 {
				path = "/api/nothing"
			}
			s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		}
		lines := map[any]int{}
		for _, line := range log.requests(t) {
			lines[line["status"]]++
		}
		if n := lines[200.]; n < test.least || n > test.max || lines[404.] != test.failed {
			t.Errorf("%+v: %v lines by status", test.log, lines)
		}
	}
}
