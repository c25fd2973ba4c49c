package gateway_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/gateway"
)

// A testTime is a clock that stands still.
type testTime struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *testTime) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// After implements gateway.Clock.
func (c *testTime) After(time.Duration) <-chan time.Time { return nil }

func (c *testTime) pass(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

// limited starts a server with rate limits, and with two users and a token of its own.
func limited(t *testing.T, limits string) (*api, *testTime) {
	clock := &testTime{now: time.Now()}
	files := with(map[string]string{
		"config/api.yaml":    "rateLimit:\n" + limits,
		"config/server.yaml": "trustedProxies: [127.0.0.1]\n",
		"config/permissions.yaml": peopleFiles["config/permissions.yaml"] + `
tokens:
  - {name: other, type: full-access}
`})
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Clock: clock}, nil)
	return newAPI(t, ready), clock
}

func TestRateLimitsAnswer429(t *testing.T) {
	a, clock := limited(
		t, "  anonymous: {requests: 2, window: 10s}\n  token: {requests: 3, window: 60s}\n  user: {requests: 2}\n")
	ann, _ := a.register("ann") // an open route: it does not count
	a.Tokens["ann"] = ann
	const v4, v6 = "192.0.2.1", "2001:db8::1"
	for i, c := range []struct {
		after            time.Duration
		method, path, as string
		from             string
		status           int
		left, retry      string
	}{
		{0, "GET", "/api/articles", "", v4, 200, `"anonymous";r=1;t=10`, ""},
		{3 * time.Second, "GET", "/api/articles/nope", "", v4, 404, `"anonymous";r=0;t=10`, ""},
		{0, "GET", "/api/articles", "", v4, 429, `"anonymous";r=0;t=10`, "7"},
		{0, "HEAD", "/api/articles", "", v4, 429, `"anonymous";r=0;t=10`, "7"},
		{0, "GET", "/graphql?query={__typename}", "", v4, 429, `"anonymous";r=0;t=10`, "7"},
		{0, "GET", "/api/articles", "not-a-token", v4, 429, `"anonymous";r=0;t=10`, "7"},
		{0, "GET", "/_health", "", v4, 204, "", ""},
		{6500 * time.Millisecond, "GET", "/api/articles", "", v4, 429, `"anonymous";r=0;t=4`, "1"},
		{500 * time.Millisecond, "GET", "/api/articles", "", v4, 200, `"anonymous";r=0;t=10`, ""},
		{0, "GET", "/api/articles", "", v4, 429, `"anonymous";r=0;t=10`, "3"},
		{0, "GET", "/api/articles", "not-a-token", "192.0.2.2", 401, `"anonymous";r=1;t=10`, ""},
		{0, "POST", "/api/articles", "", "192.0.2.2", 403, `"anonymous";r=0;t=10`, ""},
		{0, "POST", "/api/articles", "", "192.0.2.2", 429, `"anonymous";r=0;t=10`, "10"},
		{0, "GET", "/api/articles", "", v6, 200, `"anonymous";r=1;t=10`, ""},
		{0, "GET", "/api/articles", "", "2001:db8::ffff:2", 200, `"anonymous";r=0;t=10`, ""},
		{0, "GET", "/api/articles", "", "2001:db8::3", 429, `"anonymous";r=0;t=10`, "10"},
		{0, "GET", "/api/articles", "", "2001:db8:0:1::1", 200, `"anonymous";r=1;t=10`, ""},

		{0, "GET", "/api/articles", "full", v4, 200, `"token";r=2;t=60`, ""},
		{0, "GET", "/graphql?query={__typename}", "full", v6, 200, `"token";r=1;t=60`, ""},
		{0, "GET", "/api/_changes", "full", v4, 200, `"token";r=0;t=60`, ""},
		{0, "GET", "/api/articles", "full", v6, 429, `"token";r=0;t=60`, "60"},
		{0, "GET", "/api/articles", "other", v4, 200, `"token";r=2;t=60`, ""},
		{0, "GET", "/api/_replication/position", "full", v4, 0, "", ""},
		{60 * time.Second, "GET", "/api/articles", "full", v4, 200, `"token";r=2;t=60`, ""},

		{0, "GET", "/api/articles", "ann", v4, 200, `"user";r=1;t=60`, ""},
		{0, "GET", "/api/articles", "ann", v6, 200, `"user";r=0;t=60`, ""},
		{0, "GET", "/api/articles", "ann", v6, 429, `"user";r=0;t=60`, "60"},
	} {
		clock.pass(c.after)
		r := a.do(c.method, c.path, c.as, nil, "X-Forwarded-For", c.from, "Apollo-Require-Preflight", "1")
		if c.status != 0 && r.status != c.status || r.header.Get("RateLimit") != c.left ||
			r.header.Get("Retry-After") != c.retry {
			t.Errorf("%d: %s %s %s: %d, RateLimit %q, Retry-After %q; want %d, %q, %q", i, c.method, c.path, c.as,
				r.status, r.header.Get("RateLimit"), r.header.Get("Retry-After"), c.status, c.left, c.retry)
		}
		if policy := r.header.Get("RateLimit-Policy"); (policy == "") != (c.left == "") {
			t.Errorf("%d: RateLimit-Policy %q", i, policy)
		}
	}
	clock.pass(time.Hour)
	if r := a.do("GET", "/api/articles", "full", nil); r.header.Get("RateLimit-Policy") != `"token";q=3;w=60` ||
		r.header.Get("RateLimit") != `"token";r=2;t=60` {
		t.Error(r.header)
	}
}

// TestRateLimitHolds sends requests of several clients at the same time: no more are answered than the limit has.
func TestRateLimitHolds(t *testing.T) {
	const most = 20
	a, clock := limited(t, fmt.Sprintf("  token: {requests: %d, window: 10s}\n", most))
	for _, want := range []int{most, 0, most} { // at first, half a window later, and a window later
		var group sync.WaitGroup
		statuses := make([][]int, 8)
		for i := range statuses {
			group.Go(func() {
				for range 8 {
					statuses[i] = append(statuses[i], a.do("GET", "/api/articles", "full", nil).status)
				}
			})
		}
		group.Wait()
		counts := map[int]int{}
		for _, list := range statuses {
			for _, status := range list {
				counts[status]++
			}
		}
		if counts[200] != want || counts[429] != 64-want {
			t.Errorf("got %v, want %d answers", counts, want)
		}
		clock.pass(5 * time.Second)
	}
}

func TestRateLimitsAreOffByDefault(t *testing.T) {
	a := serve(t, nil)
	for range 20 {
		r := a.want(200, "GET", "/api/articles", "full", nil)
		for name := range r.header {
			if strings.HasPrefix(name, "Ratelimit") {
				t.Fatal(r.header)
			}
		}
	}
}
