package consensus_test

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"lectern/gateway/internal/cluster/consensus"
)

// A heldPort is a Port whose node reads nothing while held is locked, as if its process was suspended. It reads
// afterwards what has arrived.
type heldPort struct {
	plainPort
	held *sync.RWMutex
}

func (p heldPort) Raft() net.Listener { return heldListener{p.Listener, p.held} }

func (p heldPort) DialRaft(address string, timeout time.Duration) (net.Conn, error) {
	c, err := p.plainPort.DialRaft(address, timeout)
	return heldConn{c, p.held}, err
}

type heldListener struct {
	net.Listener
	held *sync.RWMutex
}

func (l heldListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return heldConn{c, l.held}, err
}

type heldConn struct {
	net.Conn
	held *sync.RWMutex
}

func (c heldConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.held.RLock()
	defer c.held.RUnlock()
	return n, err
}

// TestVerifyAfterPause holds up the answers to heartbeats of a leader until the other nodes have elected another
// leader. The answers say that the one before leads, since they were sent before. It must not take them for a proof
// that it still does.
func TestVerifyAfterPause(t *testing.T) {
	var held sync.RWMutex
	nodes := newNodes(t, 2)
	paused := &testNode{t: t, name: "n3", dir: t.TempDir(),
		heartbeat: time.Minute, // it does not notice by itself that it hears nothing
		port:      func(ln net.Listener) consensus.Port { return heldPort{plainPort{ln}, &held} }}
	paused.start()
	t.Cleanup(paused.stop)
	somehow(t, nodes, func(leader *testNode) error {
		return leader.Add(t.Context(), paused.name, paused.address,
			true)
	})
	paused.wait(t, "the first copy", func() bool { return paused.state.Moved > 0 })
	for all := append(nodes, paused); leaderOf(t, all) != paused; {
		_ = leaderOf(t, all).Transfer(t.Context(), paused.name) // is tried again if it takes too long
	}
	if err := paused.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}

	held.Lock()
	first := make(chan error)
	go func() { first <- paused.Verify(t.Context()) }() // sends heartbeats
	text := proposeSomehow(t, nodes)
	answers := make(chan error)
	const many = 20
	for range many {
		go func() { answers <- paused.Verify(t.Context()) }()
	}
	held.Unlock()
	for range many {
		if err := <-answers; err == nil && !slices.Contains(paused.texts(), text) {
			t.Error("an earlier leader says that it has everything")
		}
	}
	<-first
}

// texts returns the texts of the list.
func (l *list) texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.state.Texts)
}
