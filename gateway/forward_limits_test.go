package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lectern/gateway/config"
	"lectern/gateway/internal/forward"
	"lectern/internal/silentnet"
)

// newForwarding opens a replica that forwards writes to an origin over a network, and follows it if follows is set.
func newForwarding(t *testing.T, origin *node, over *silentnet.Network, follows bool) *node {
	replica := openNode(t, t.TempDir(),
		Options{Follow: &Follow{URL: "http://origin.example", Token: origin.key, Forward: true, dial: over.Dial}})
	if follows {
		replica.background(replica.replica().Run)
		pass(time.Second)
	}
	return replica
}

// TestForwardedWritesEndInTime forwards writes to an origin that is slow in different ways, and expects the answer, its
// header Lectern-Forwarded, and the time that it takes.
func TestForwardedWritesEndInTime(t *testing.T) {
	const document = `{"data":{"title":"new"}}`
	for _, c := range []struct {
		name             string
		follows          bool // the replica follows the origin
		silent, swallows bool // the network is silent; it takes what is sent nevertheless
		method, body     string
		status           int
		forwarded        string
		shows            string
		took             time.Duration
	}{
		{name: "in step", follows: true, method: "POST", body: document, status: 201, forwarded: "applied",
			shows: `"title":"new"`},
		{name: "not in step", method: "POST", body: document, status: 201, forwarded: "pending", shows: `"title":"new"`,
			took: forward.MaxCatchUp},
		{name: "refused", method: "POST", body: `{"data":{"title":7}}`, status: 400, shows: "ValidationError"},
		{name: "it takes no byte", silent: true, method: "POST", body: document, status: 503,
			shows: `"outcome":"unknown"`, took: forward.MaxStall},
		{name: "it does not answer", silent: true, swallows: true, method: "DELETE", status: 503,
			shows: `"outcome":"unknown"`, took: 30*time.Second + forward.MaxOverhead},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				origin, over := newOrigin(t)
				replica := newForwarding(t, origin, over, c.follows)
				if c.silent {
					over.FallSilent(c.swallows)
				}
				path := "/api/notes"
				if c.method == "DELETE" {
					path += "/some"
				}
				r := httptest.NewRequest(c.method, path, strings.NewReader(c.body))
				if c.body == "" {
					r.Body = nil
				}
				r.Header.Set("Authorization", "Bearer "+origin.key)
				r.Header.Set("Content-Type", "application/json")
				w, began := httptest.NewRecorder(), time.Now()
				replica.server.Handler().ServeHTTP(w, r)
				took := time.Since(began)
				if w.Code != c.status || w.Header().Get("Lectern-Forwarded") != c.forwarded ||
					!strings.Contains(w.Body.String(), c.shows) {
					t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
				}
				if took < c.took || took > c.took+time.Second {
					t.Errorf("the answer took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// TestForwardedAnswerThatStallsIsBrokenOff lets a connection fall silent when a part of an answer has arrived. The
// replica must break its own answer off.
func TestForwardedAnswerThatStallsIsBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, over := newOrigin(t)
		replica := newForwarding(t, origin, over, false)
		over.BreakOff(20_000)
		body := `{"data":{"text":"` + strings.Repeat("x", 100_000) + `"}}`
		began := time.Now()
		status, answer := replica.ask("POST", "/api/notes", origin.key, body)
		if took := time.Since(began); status != 201 || took != forward.MaxCatchUp+forward.MaxStall ||
			len(answer) == 0 || len(answer) >= 100_000 {
			t.Errorf("%d with %d bytes after %v", status, len(answer), took)
		}
	})
}

// TestOriginKeepsConnectionsLongerThanReplicas compares how long a replica and an origin keep connections. The origin
// must not close one that the replica may send a write over.
func TestOriginKeepsConnectionsLongerThanReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, over := newOrigin(t)
		replica := newForwarding(t, origin, over, false)
		to := replica.project.routed.Load().forward
		limits := config.Limits{}.WithDefaults()
		if idle := to.Transport.IdleConnTimeout; 2*idle > min(limits.ReadHeader, limits.Idle) {
			t.Errorf("a replica keeps connections for %v, an origin for %v, or %v before the first request", idle,
				limits.Idle, limits.ReadHeader)
		}
	})
}

// TestOnlyWritesAreForwarded tells the requests that a replica forwards from those that it answers, for paths in upper
// and lower case.
func TestOnlyWritesAreForwarded(t *testing.T) {
	g := &generation{Definition: &Definition{Definition: &config.Definition{}}}
	g.Settings.REST.Prefix, g.Settings.GraphQL.Endpoint = "/Content/V1", "/GraphQL"
	for request, want := range map[string]bool{
		"GET /Content/V1/notes": false, "HEAD /content/v1/notes": false, "POST /content/v1/notes": true,
		"PUT /Content/V1/notes/x": true, "DELETE /Content/V1/notes/x": true,
		"POST /Content/V1/auth/local": false, "POST /content/v1/auth/local/": false,
		"POST /Content/V1/auth/local/register":    true,
		"GET /Content/V1/Auth/email-confirmation": true, "GET /Content/V1/Auth/google/callback": true,
		"GET /content/v1/auth/local/callback": false, "GET /content/v1/connect/google/callback": false, "POST /graphql": false, "POST /GraphQL": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := g.isForwarded(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: %v", request, got)
		}
	}
}
