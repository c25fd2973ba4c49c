package consensus

import (
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// A transport is how Raft reaches other nodes. Close waits for the heartbeats that are being handled, and none is
// handled afterwards: Raft handles them in the goroutines of their connections, also when it is shut down, and panics
// if it cannot write to its log any more.
type transport struct {
	*raft.NetworkTransport
	open   *connections
	acks   acks
	mu     sync.RWMutex // held while a heartbeat is handled
	closed bool
}

// newTransport returns a transport without pipelines. The leader proposes one transaction after the other, so that they
// gain nothing. When a node refuses an entry while the leader sends it more, a pipeline may wait for itself: the leader
// then sends that node nothing any more, and cannot be closed.
func newTransport(port Port, log hclog.Logger) *transport {
	open := newConnections()
	return &transport{open: open, acks: acks{last: map[raft.ServerID]ack{}},
		NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			Stream: stream{port.Raft(), port, open}, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: ioTimeout, Logger: log,
		})}
}

// AppendEntries implements raft.Transport. It notes what other nodes acknowledge, heartbeats included: Raft sends them
// as messages without entries.
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	round := t.acks.round.Load()
	err := t.NetworkTransport.AppendEntries(id, target, args, resp)
	if err == nil && resp.Success {
		t.acks.add(id, ack{args.Term, round})
	}
	return err
}

// SetHeartbeatHandler implements raft.Transport.
func (t *transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	t.NetworkTransport.SetHeartbeatHandler(func(r raft.RPC) {
		t.mu.RLock()
		defer t.mu.RUnlock()
		if t.closed {
			r.Respond(&raft.AppendEntriesResponse{}, raft.ErrRaftShutdown)
			return
		}
		handle(r)
	})
}

// Close implements raft.WithClose.
func (t *transport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.NetworkTransport.Close()
}
