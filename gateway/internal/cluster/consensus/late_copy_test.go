package consensus_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// install sends a copy of the state after an entry of term 2.
func (l *fakeLeader) install(index uint64) error {
	text := fmt.Sprintf(`{"Index":%d,"Texts":["copy"]}`, index)
	members := raft.EncodeConfiguration(
		raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: l.LocalAddr()},
			{ID: "n2", Address: raft.ServerAddress(l.to.address)}}})
	var answer raft.InstallSnapshotResponse
	err := l.InstallSnapshot("n2", raft.ServerAddress(l.to.address),
		&raft.InstallSnapshotRequest{RPCHeader: l.header, SnapshotVersion: raft.SnapshotVersionMax,
			Term: l.term, LastLogIndex: index, LastLogTerm: 2, Configuration: members, ConfigurationIndex: 1,
			Size: int64(len(text))}, &answer, strings.NewReader(text))
	if err == nil && !answer.Success {
		l.t.Fatal("the copy was not taken, and there is no error")
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

// TestLateCopy sends a node a copy twice, as a leader may that has lost the answer, or that has removed the node and
// added it again. The second one arrives after the entries that follow on it. The node must keep them: the leader
// counts on them.
func TestLateCopy(t *testing.T) {
	for committed := uint64(9); committed <= 11; committed++ {
		t.Run(fmt.Sprint(committed), func(t *testing.T) {
			leader := newFakeLeader(t)
			if err := leader.install(9); err != nil {
				t.Fatal(err)
			}
			leader.append(9, 2, 11, committed)
			if err := leader.install(9); err == nil {
				t.Error("the node took an older state")
			}
			leader.append(11, 3, 12, 12)
			leader.to.wait(t, "all entries", has(leader.to, "copy", "10", "11", "12"))
			if leader.to.state.Moved != 1 {
				t.Errorf("the state was replaced %d times, want once", leader.to.state.Moved)
			}
		})
	}
}

// TestNextLeader sends a node a copy and entries of a leader that is lost before others have them. The next leader has
// others in their place, or a copy that goes further.
func TestNextLeader(t *testing.T) {
	for name, next := range map[string]struct {
		send func(*fakeLeader)
		want []string
	}{
		"entries": {func(l *fakeLeader) { l.append(9, 2, 10, 10) }, []string{"copy", "10"}},
		"copy": {func(l *fakeLeader) {
			if err := l.install(15); err != nil {
				l.t.Fatal(err)
			}
			l.append(15, 2, 16, 16)
		}, []string{"copy", "16"}},
	} {
		t.Run(name, func(t *testing.T) {
			leader := newFakeLeader(t)
			if err := leader.install(9); err != nil {
				t.Fatal(err)
			}
			leader.append(9, 2, 11, 9)
			leader.term++
			next.send(leader)
			leader.to.wait(t, "what the next leader has", has(leader.to, next.want...))
		})
	}
}
