package consensus_test

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"
)

// A heartbeatLog counts the lines of a log about heartbeats that failed.
type heartbeatLog struct{ warnings, repeated atomic.Int64 }

func (l *heartbeatLog) Write(line []byte) (int, error) {
	switch {
	case !bytes.Contains(line, []byte("failed to heartbeat to")):
	case bytes.Contains(line, []byte("level=WARN")):
		l.warnings.Add(1)
	default:
		l.repeated.Add(1)
	}
	return len(line), nil
}

// TestUnreachableNode has a node of a cluster go down. The leader warns about it once, however often it tries to reach
// it.
func TestUnreachableNode(t *testing.T) {
	nodes := newNodes(t, 3)
	logs := make([]*heartbeatLog, len(nodes))
	for i, n := range nodes {
		n.stop()
		logs[i] = &heartbeatLog{}
		n.log = logs[i]
	}
	for _, n := range nodes[:2] {
		n.start()
	}
	leader := -1
	nodes[0].wait(t, "heartbeats that fail", func() bool {
		leader = slices.IndexFunc(logs, func(l *heartbeatLog) bool { return l.repeated.Load() > 2 })
		return leader >= 0
	})
	if got := logs[leader].warnings.Load(); got != 1 {
		t.Errorf("the leader warned %d times about a node that is down", got)
	}
}
