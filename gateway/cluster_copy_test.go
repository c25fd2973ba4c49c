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

// TestNodeGetsACopyWhileItIsRead has a node receive a copy of the content while a client still reads a stream of the
// content before. The node must follow the leader without waiting for the client.
func TestNodeGetsACopyWhileItIsRead(t *testing.T) {
	nodes := newStoppedCluster(t, 2)
	leader, other := nodes[0], nodes[1]
	var network servertest.Link // to the other node, which has no vote, so that it does not disturb the leader meanwhile
	cluster := other.options.Cluster
	cluster.Listen, cluster.NoVote = cluster.Address, true
	cluster.Address = servertest.NewProxy(t, cluster.Listen,
		func(net.Conn) (forth, back *servertest.Link) { return &network, &network }).Addr()
	var away atomic.Bool
	removed := make(chan struct{}) // closed once the leader's log lacks transactions that the other node has not got
	remove := sync.OnceFunc(func() { close(removed) })
	leader.options.Log = slog.New(slog.NewTextHandler(&logTrigger{text: "raft: compacting logs", found: func() {
		if away.Load() {
			remove()
		}
	}}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, n := range nodes {
		n.options.Cluster.Trailing = 2
		n.start()
	}
	token := leader.token("writer")
	create := func(slug, body string) (revision string) {
		t.Helper()
		article := fmt.Sprintf(`{"data":{"title":"An article","slug":%q,"body":%q}}`, slug, body)
		return leader.write("POST", "/api/articles", token, article, fmt.Sprintf("%q", slug)).Get("Lectern-Revision")
	}
	for i := range 7 { // more than the buffers of a connection take
		create(fmt.Sprint("large-", i), strings.Repeat("x", 900_000))
	}
	other.awaitAge(token, "0")
	beginStream(t, other.base, "/api/articles?status=draft", "Authorization: Bearer "+token)
	network.Set(servertest.Away)
	away.Store(true)
	var revision string
	for i := range 10 {
		revision = create(fmt.Sprint("late-", i), "")
	}
	<-removed
	network.Set(servertest.None)
	has := func(slug, revision string) {
		t.Helper()
		until(t, "the other node has "+slug, func() bool {
			status, _, text := other.ask("GET", "/api/articles?status=draft&filters[slug]="+slug, token, "",
				"Lectern-Revision", revision)
			return status == http.StatusOK && strings.Contains(text, slug)
		})
	}
	has("late-9", revision)
	has("next", create("next", "")) // the copy is served before the node goes on to follow
}
