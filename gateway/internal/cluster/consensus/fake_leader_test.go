package consensus_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A fakeLeader sends a node what the leader of its cluster would.
type fakeLeader struct {
	*raft.NetworkTransport
	t      *testing.T
	to     *testNode
	header raft.RPCHeader
	term   uint64
}

// newFakeLeader starts a node whose state is that after entry 7, of term 2, and returns its leader. The node never
// wants to become the leader itself.
func newFakeLeader(t *testing.T) *fakeLeader {
	t.Helper()
	n := &testNode{t: t, name: "n2", dir: t.TempDir(), heartbeat: time.Hour}
	files := map[string]string{
		"snapshot.json": `{"Version":1,"ID":"2-7","Index":7,"Term":2,"Configuration":{"Servers":[{"ID":"n2","Address":"127.0.0.1:1"}]},"ConfigurationIndex":1}`,
		"list.json":     `{"Index":7,"Texts":["7"]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.start()
	t.Cleanup(n.stop)
	transport, err := raft.NewTCPTransport("127.0.0.1:0", nil, 0, patience, io.Discard) // a connection for each message
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transport.Close() })
	return &fakeLeader{NetworkTransport: transport, t: t, to: n, term: 3,
		header: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("n1"),
			Addr: transport.EncodePeer("n1", transport.LocalAddr())}}
}

// copyAt returns a copy of the state after an entry.
func copyAt(index uint64) []byte { return fmt.Appendf(nil, `{"Index":%d,"Texts":["copy"]}`, index) }

// install sends a copy of the state after an entry of term 2.
func (l *fakeLeader) install(index uint64) error {
	text := copyAt(index)
	return l.installFrom(index, len(text), bytes.NewReader(text))
}

// installFrom sends a copy of the state after an entry of term 2, which is read from a reader.
func (l *fakeLeader) installFrom(index uint64, size int, text io.Reader) error {
	nodes := raft.EncodeConfiguration(
		raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: l.LocalAddr()},
			{ID: "n2", Address: raft.ServerAddress(l.to.address)}}})
	var answer raft.InstallSnapshotResponse
	err := l.InstallSnapshot("n2", raft.ServerAddress(l.to.address),
		&raft.InstallSnapshotRequest{RPCHeader: l.header, SnapshotVersion: raft.SnapshotVersionMax,
			Term: l.term, LastLogIndex: index, LastLogTerm: 2, Configuration: nodes, ConfigurationIndex: 1,
			Size: int64(size)}, &answer, text)
	if err == nil && !answer.Success {
		l.t.Error("the copy was not taken, and there is no error")
	}
	return err
}

// append sends entries of the present term up to an index, which follow on one of previousTerm. Those up to committed
// are committed.
func (l *fakeLeader) append(previous, previousTerm, last, committed uint64) {
	l.t.Helper()
	var entries []*raft.Log
	for i := previous + 1; i <= last; i++ {
		entries = append(entries,
			&raft.Log{Index: i, Term: l.term, Type: raft.LogCommand, Data: fmt.Appendf(make([]byte, 16), "%d", i)})
	}
	var answer raft.AppendEntriesResponse
	if err := l.AppendEntries("n2", raft.ServerAddress(l.to.address),
		&raft.AppendEntriesRequest{RPCHeader: l.header, Term: l.term,
			PrevLogEntry: previous, PrevLogTerm: previousTerm, Entries: entries, LeaderCommitIndex: committed},
		&answer); err != nil {
		l.t.Fatal(err)
	}
	if !answer.Success {
		l.t.Fatalf("the entries after %d were refused: %+v", previous, answer)
	}
}
