package consensus_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestSnapshotWhileCopying has a node take a snapshot of its own while it receives a copy that goes further. The
// snapshot ends after the copy, and must not replace it: the node would seem to have nothing of the copy, and would get
// another one.
func TestSnapshotWhileCopying(t *testing.T) {
	leader := newFakeLeader(t)
	n := leader.to
	machine, rest := make(chan struct{}), make(chan struct{})
	goOn, sendRest := sync.OnceFunc(func() { close(machine) }), sync.OnceFunc(func() { close(rest) })
	t.Cleanup(goOn)
	t.Cleanup(sendRest)
	n.setGate(machine)
	leader.append(7, 2, 8, 8)
	<-machine
	n.setGate(nil)

	text := append(copyAt(20), bytes.Repeat([]byte(" "), 2<<20)...)
	copied := make(chan error, 1)
	go func() {
		copied <- leader.installFrom(20, len(text), &gated{bytes.NewReader(text), len(text) / 2, rest})
	}()
	n.wait(t, "the first half of a copy", func() bool {
		is, err := os.Stat(filepath.Join(n.dir, "snapshot.incoming"))
		return err == nil && is.Size() > 0
	})
	snapshot := make(chan error, 1)
	go func() { snapshot <- n.TakeSnapshot() }()
	n.wait(t, "the snapshot to wait for the machine", func() bool {
		_, waiting := n.Backlog()
		return waiting == 1
	})
	goOn() // the snapshot has what is before the copy
	sendRest()
	if err := <-copied; err != nil {
		t.Fatal(err)
	}
	if err := <-snapshot; err == nil {
		t.Error("there is a snapshot that is older than the copy")
	}
	leader.append(20, 2, 21, 21)
	n.wait(t, "what follows on the copy", has(n, "copy", "21"))
}
