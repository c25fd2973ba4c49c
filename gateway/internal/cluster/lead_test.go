package cluster_test

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// A lineTrigger is an io.Writer of a log that calls found with each line that has a text.
type lineTrigger struct {
	text  string
	found func()
}

func (l lineTrigger) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(l.text)) {
		l.found()
	}
	return len(line), nil
}

// TestTransferBeforeLead has a new leader pass the lead on to a node that does not answer before its machine leads. Raft takes nothing from the leader until the
// transfer has failed, and tells nobody that it has. The machine must lead in the end.
func TestTransferBeforeLead(t *testing.T) {
	n := newNodes(t, 1)[0]
	voter := &testNode{t: t, name: "n2", dir: t.TempDir(), heartbeat: time.Minute} // it does not want the lead
	voter.start()
	t.Cleanup(func() { voter.stop() })
	silent, err := net.Listen("tcp", "127.0.0.1:0") // where nobody answers, so that the transfer takes as long as it may
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, to := range [][2]string{{voter.name, voter.address}, {"silent", silent.Addr().String()}} { // the first makes a majority with n
		somehow(t, []*testNode{n}, func(leader *testNode) error { return leader.Add(t.Context(), to[0], to[1], true) })
	}
	voter.wait(t, "the first copy", func() bool { return voter.state.Moved > 0 })
	voter.stop() // first, so that it does not get the lead
	n.stop()
	voter.start()

	n.follows = make(chan struct{})
	n.heartbeat = 10 * heartbeat // so that the machine is about to lead during the transfer
	var transfers atomic.Bool
	n.log = lineTrigger{"starting leadership transfer", func() {
		if transfers.CompareAndSwap(false, true) {
			close(n.follows)
		}
	}}
	n.start()
	for late := time.Now().Add(patience); !transfers.Load(); {
		err := n.Transfer(t.Context(), "silent") // which Raft refuses until the node is its leader
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	n.wait(t, "the lead after a transfer that failed", n.Leading)
}
