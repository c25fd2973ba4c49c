package gateway_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/internal/servertest"
)

// TestCopyWhileRead has a node get a copy of the content while a client reads a stream slowly. The node must not wait for the client: it could neither
// vote nor follow the leader.
func TestCopyWhileRead(t *testing.T) {
	nodes := newStoppedCluster(t, 2)
	leader, follower := nodes[0], nodes[1]
	var network servertest.Link // to the follower, which has no vote, so that it does not disturb the leader meanwhile
	cluster := follower.options.Cluster
	cluster.Listen, cluster.Reads = cluster.Address, true
	cluster.Address = servertest.NewProxy(t, cluster.Listen, func(net.Conn) (forth, back *servertest.Link) { return &network, &network }).Addr()
	var away atomic.Bool
	gone := make(chan struct{}) // closed once the leader has no transactions of before in its log
	forgets := sync.OnceFunc(func() { close(gone) })
	leader.options.Log = slog.New(slog.NewTextHandler(&logTrigger{text: "raft: compacting logs", found: func() {
		if away.Load() {
			forgets()
		}
	}}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, n := range nodes {
		n.options.Cluster.Trailing = 2
		n.start()
	}
	token := leader.token("writer")
	const large = 7 // articles, which the buffers of a connection do not take
	for i := range large {
		body := fmt.Sprintf(`{"data":{"title":"large","slug":"large-%d","body":%q}}`, i, strings.Repeat("x", 900_000))
		leader.write("POST", "/api/articles", token, body, fmt.Sprintf("%q", fmt.Sprint("large-", i)))
	}
	follower.awaitAge(token, "0")
	slow := dialFrom(t, "127.0.0.1", follower.base)
	if err := slow.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	slow.send("GET /api/articles?status=draft HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\nAuthorization: Bearer " + token + "\r\n\r\n")
	answer, err := http.ReadResponse(slow.answers, nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	network.Set(servertest.Away)
	away.Store(true)
	var revision string
	for i := range 10 {
		body := fmt.Sprintf(`{"data":{"title":"late","slug":"late-%d"}}`, i)
		revision = leader.write("POST", "/api/articles", token, body, fmt.Sprintf("%q", fmt.Sprint("late-", i))).Get("Lectern-Revision")
	}
	<-gone
	network.Set(servertest.None)
	has := func(slug, revision string) {
		t.Helper()
		until(t, "the follower has "+slug, func() bool {
			status, _, text := follower.ask("GET", "/api/articles?status=draft&filters[slug]="+slug, token, "", "Lectern-Revision", revision)
			return status == http.StatusOK && strings.Contains(text, slug)
		})
	}
	has("late-9", revision)
	has("next", leader.write("POST", "/api/articles", token, `{"data":{"title":"next","slug":"next"}}`, `"next"`).Get("Lectern-Revision"))
}
