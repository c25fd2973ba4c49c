package consensus_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lectern/gateway/internal/cluster/consensus"
)

// A severable listener accepts connections that can be cut all together.
type severable struct {
	net.Listener
	mu      sync.Mutex
	severed bool // connections are closed as soon as they are accepted
	open    []net.Conn
}

func (s *severable) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.severed {
		_ = c.Close()
	}
	s.open = append(s.open, c)
	return c, nil
}

// sever cuts all connections, and those to come, until it is called with false.
func (s *severable) sever(severed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.severed = severed
	for _, c := range s.open {
		_ = c.Close()
	}
	s.open = nil
}

// TestSnapshotWhileCopying has a node take a snapshot of its own while it receives a copy that goes further. The
// snapshot ends after the copy, and must not replace it: the node would seem to have nothing of the copy, and would get
// another one.
func TestSnapshotWhileCopying(t *testing.T) {
	leader := &testNode{t: t, name: "n1", dir: t.TempDir(), trailing: 4}
	leader.start()
	t.Cleanup(func() { leader.stop() })
	leader.wait(t, "the lead", leader.Leading)
	var wire *severable
	reader := &testNode{t: t, name: "n2", dir: t.TempDir(), port: func(ln net.Listener) consensus.Port {
		wire = &severable{Listener: ln}
		return plainPort{wire}
	}}
	reader.start()
	open := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(open) })
	gate := make(chan struct{})
	t.Cleanup(func() {
		letGo()
		select {
		case gate <- struct{}{}: // the test has failed while the machine waited
		default:
		}
		reader.stop()
	})
	if err := leader.Add(t.Context(), reader.name, reader.address, false); err != nil {
		t.Fatal(err)
	}
	reader.wait(t, "the first copy", func() bool { return reader.state.Moved > 0 })
	before := reader.state.Moved
	reader.setGate(gate)
	var texts []string
	propose := func() {
		texts = append(texts, fmt.Sprint(len(texts), strings.Repeat(" x", 4<<10)))
		if err := leader.propose(texts[len(texts)-1]); err != nil {
			t.Fatal(err)
		}
	}
	propose()
	<-gate
	reader.setGate(nil)

	wire.sever(true)
	for range 20 {
		propose()
	}
	if err := leader.TakeSnapshot(); err != nil {
		t.Fatal(err)
	}
	leader.mu.Lock()
	leader.copied = func(text []byte) (int64, io.Reader) {
		text = append(text, bytes.Repeat([]byte(" "), 2<<20)...)
		return int64(len(text)), &gated{bytes.NewReader(text), len(text) / 2, open}
	}
	leader.mu.Unlock()
	wire.sever(false)
	reader.wait(t, "the first half of a copy", func() bool {
		is, err := os.Stat(filepath.Join(reader.dir, "snapshot.incoming"))
		return err == nil && is.Size() > 0
	})
	snapshot := make(chan error, 1)
	go func() { snapshot <- reader.TakeSnapshot() }()
	reader.wait(t, "the snapshot to wait for the machine", func() bool {
		_, waiting := reader.Backlog()
		return waiting == 1
	})
	gate <- struct{}{} // the snapshot has what is before the copy
	letGo()
	if err := <-snapshot; err == nil {
		t.Error("there is a snapshot that is older than the copy")
	}
	propose()
	reader.wait(t, "what follows on the copy", has(reader, texts...))
	if reader.state.Moved != before+1 {
		t.Errorf("the node got %d copies, want one", reader.state.Moved-before)
	}
}
