package consensus_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// gated gives the first half of a copy, and the rest once the gate is open.
type gated struct {
	io.Reader
	left int // of the first half
	gate chan struct{}
}

func (g *gated) Read(b []byte) (int, error) {
	if g.left == 0 {
		<-g.gate
		return g.Reader.Read(b)
	}
	n, err := g.Reader.Read(b[:min(len(b), g.left)])
	g.left -= n
	return n, err
}

// copying starts a leader and a node that receives a copy from it. The copy stops half way until open is called.
// Without stalls, the leader stops sending; with stalls, the other node stops reading. silence is
// consensus.Config.Silence of the node that receives.
func copying(t *testing.T, stalls bool, silence time.Duration) (sends, receives *testNode, open func()) {
	t.Helper()
	gate := make(chan struct{})
	open = sync.OnceFunc(func() { close(gate) })
	sends = newNodes(t, 1)[0]
	sends.list.copied = func(text []byte) (int64, io.Reader) {
		if stalls { // more than connections hold
			text = append(text, bytes.Repeat([]byte(" "), 64<<20)...)
			return int64(len(text)), bytes.NewReader(text)
		}
		text = append(text, bytes.Repeat([]byte(" "), 2<<20)...)
		return int64(len(text)), &gated{bytes.NewReader(text), len(text) / 2, gate}
	}
	receives = &testNode{t: t, name: "n2", dir: t.TempDir(), silence: silence}
	var stalled atomic.Bool
	if stalls {
		receives.port = func(ln net.Listener) consensus.Port { return plainPort{stalling{ln, gate, &stalled}} }
	}
	receives.start()
	t.Cleanup(func() {
		open()
		if receives.Raft != nil {
			receives.stop()
		}
	})
	if err := sends.Add(t.Context(), receives.name, receives.address, false); err != nil {
		t.Fatal(err)
	}
	receives.wait(t, "the first half of a copy", func() bool {
		is, err := os.Stat(filepath.Join(receives.dir, "snapshot.incoming"))
		return stalled.Load() || !stalls && err == nil && is.Size() > 0
	})
	return sends, receives, open
}

// A stalling listener accepts connections that give nothing any more after a megabyte, until the gate is closed.
type stalling struct {
	net.Listener
	gate    chan struct{}
	stalled *atomic.Bool // a connection has stalled
}

func (s stalling) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	return &stallingConn{c, s, 0}, err
}

type stallingConn struct {
	net.Conn
	of   stalling
	read int
}

func (c *stallingConn) Read(b []byte) (int, error) {
	if c.read > 1<<20 {
		c.of.stalled.Store(true)
		<-c.of.gate
	}
	n, err := c.Conn.Read(b)
	c.read += n
	return n, err
}

// TestCloseWhileCopying closes nodes while a copy is on its way that does not go on.
func TestCloseWhileCopying(t *testing.T) {
	for name, stalls := range map[string]bool{"receiver": false, "sender": true} {
		t.Run(name, func(t *testing.T) {
			sends, receives, _ := copying(t, stalls, time.Hour)
			closing := receives
			if stalls {
				closing = sends
			}
			closed := make(chan error, 1)
			go func() { closed <- closing.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("the node is not closed")
			}
			closing.Raft = nil
		})
	}
}

// TestProposeWhileCopying proposes a transaction while the node receives a copy. Propose must not wait for the copy,
// because the machine can only replace its state by the copy once Propose has returned.
func TestProposeWhileCopying(t *testing.T) {
	_, n, open := copying(t, false, time.Hour)
	n.mu.Lock() // the machine is at work
	proposed := make(chan error, 1)
	go func() {
		_, err := n.Propose([]byte("late"))
		n.mu.Unlock()
		proposed <- err
	}()
	open()
	select {
	case err := <-proposed:
		if !errors.Is(err, store.ErrOutcome) && !errors.Is(err, store.ErrNotLeader) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the proposal and the copy wait for each other")
	}
	n.wait(t, "the copy", func() bool { return n.state.Moved > 0 })
}

// TestSilentCopy stops a copy half way. The node that receives it must give it up, and get another one once the leader
// can send again.
func TestSilentCopy(t *testing.T) {
	sends, receives, open := copying(t, false, 2*heartbeat)
	receives.wait(t, "the end of the first copy", func() bool {
		_, err := os.Stat(filepath.Join(receives.dir, "snapshot.incoming"))
		return errors.Is(err, os.ErrNotExist)
	})
	sends.mu.Lock()
	sends.copied = nil
	sends.mu.Unlock()
	open()
	receives.wait(t, "another copy", func() bool { return receives.state.Moved > 0 })
}

// TestReceivedCopy ends a node after it has received a copy of the machine, and before the machine has taken it over.
func TestReceivedCopy(t *testing.T) {
	dir := t.TempDir()
	l := openList(t, filepath.Join(dir, "list.json"))
	files := map[string]string{
		"snapshot.json":     `{"Version":1,"ID":"2-7","Index":7,"Term":2,"Received":true,"Configuration":{"Servers":[{"ID":"n2","Address":"127.0.0.1:1"}]},"ConfigurationIndex":1}`,
		"snapshot.received": `{"Index":7,"Texts":["x"]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n, err := consensus.Start(consensus.Config{Name: "n2", Address: ln.Addr().String(), Dir: dir, Port: plainPort{ln},
		Machine: l, Log: slog.New(slog.DiscardHandler), Heartbeat: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.state.Texts, []string{"x"}) {
		t.Errorf("the machine has %q", l.state.Texts)
	}
	if _, err := os.Stat(filepath.Join(dir, "snapshot.received")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
