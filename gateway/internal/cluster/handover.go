package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/internal/backoff"
)

// The leader passes the lead on between writes: it completes those that are under way, and holds the next ones back
// until another node leads, which then gets them. Raft would refuse what is proposed meanwhile.

// A writeGate lets writes begin while it is open. The zero value is open.
type writeGate struct {
	mu     sync.Mutex
	writes int           // under way
	idle   chan struct{} // what shut has returned; nil while the gate is open
}

// begin notes that a write begins, unless the gate is closed. The caller must call end after it.
func (g *writeGate) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return false
	}
	g.writes++
	return true
}

func (g *writeGate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writes--; g.writes == 0 && g.idle != nil {
		close(g.idle)
	}
}

// isOpen reports whether a write may begin.
func (g *writeGate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.idle == nil
}

// shut lets no write begin until reopen is called. The channel that it returns is closed once no write is under way.
func (g *writeGate) shut() (idle <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = make(chan struct{})
	if g.writes == 0 {
		close(g.idle)
	}
	return g.idle
}

// reopen opens the gate again.
func (g *writeGate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = nil
}

// outgoing counts the writes that this node sends to others, by their addresses. The zero value has none.
type outgoing struct {
	mu sync.Mutex
	to map[string]int
}

// begin notes that a write is sent to an address. The caller must call end once it is answered.
func (o *outgoing) begin(address string) (end func()) {
	o.add(address, 1)
	return func() { o.add(address, -1) }
}

func (o *outgoing) add(address string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil {
		o.to = map[string]int{}
	}
	if o.to[address] += n; o.to[address] == 0 {
		delete(o.to, address)
	}
}

// addresses returns the addresses to which writes are sent that are not answered yet.
func (o *outgoing) addresses() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.to))
}

// handOver makes another node the leader: the one with a name, or any if name is "". Only the leader can. A write that
// takes longer than two heartbeats from then on, such as a long upload, may be refused.
func (n *Node) handOver(ctx context.Context, name string) (handed error) {
	n.handing.Lock()
	defer n.handing.Unlock()
	raft, err := n.leading(ctx)
	if err != nil {
		return err
	}
	if name, err = n.successor(ctx, raft, name); err != nil || name == n.options.Name {
		return err
	}
	defer func() {
		if handed != nil { // otherwise the next leader sends them
			n.project.Webhooks().Resume()
		}
	}()
	n.pauseWebhooks(ctx)
	idle := n.writes.shut()
	defer func() {
		n.writes.reopen()
		n.changed.send()
	}()
	late := time.NewTimer(2 * n.heartbeat())
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	// Raft does not give it up when ctx ends, and refuses what is proposed until it is over
	return raft.Transfer(n.ctx, name)
}

// pauseWebhooks has this node send no webhooks, and stores which were delivered, so that the next leader does not send
// them again. Writes go on meanwhile. It waits for a heartbeat at most until requests under way are answered: what was
// not answered by then is sent again.
func (n *Node) pauseWebhooks(ctx context.Context) {
	hooks := n.project.Webhooks()
	answers, cancel := context.WithTimeout(ctx, n.heartbeat())
	defer cancel()
	err := hooks.Pause(answers)
	flush, cancel := context.WithTimeout(ctx, n.heartbeat())
	defer cancel()
	if err = errors.Join(err, hooks.Flush(flush)); err != nil && ctx.Err() == nil {
		n.log.Warn("the next leader may send webhooks again that this node has sent", "error", err)
	}
}

// successor returns the name of the node that is to lead next: name, or, if that is "", the node with a vote that has
// most of the content. That node must answer: Raft refuses writes for as long as it tries to make a node the leader,
// also one that is down.
func (n *Node) successor(ctx context.Context, raft *consensus.Raft, name string) (string, error) {
	if name == n.options.Name {
		return name, nil
	}
	if name != "" {
		to, err := raft.Peer(name)
		if err == nil && len(n.statesOf(ctx, []consensus.Peer{to})) == 0 {
			err = fmt.Errorf("the node %s does not answer, so it cannot lead", name)
		}
		return name, err
	}
	list, err := raft.Peers()
	if err != nil {
		return "", err
	}
	states := n.statesOf(ctx, list)
	for _, n := range list {
		if s, answers := states[n.Name]; answers && n.Voter && (name == "" || s.Revision > states[name].Revision) {
			name = n.Name
		}
	}
	if name == "" {
		return "", errors.New("no other node with a vote answers, so none can lead")
	}
	return name, nil
}

// Retire hands the lead over before the node ends, if it is elected and another node can lead. Otherwise the others
// would have to find out that it is gone.
func (n *Node) Retire(ctx context.Context) {
	raft := n.raft.Load()
	if raft == nil || !raft.Elected() || raft.Figures().Voters == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.maxElection())
	defer cancel()
	if err := n.handOver(ctx, ""); err != nil {
		n.log.Warn("the lead could not be handed over before the node ends", "error", err)
		return
	}
	n.awaitForgotten(ctx, raft)
}

// awaitForgotten waits until the other nodes take another one for the leader, and have the answers to all writes that
// they have sent to this one. Nobody would know the outcome of a write that arrives just when this node stops
// listening. awaitForgotten waits for a heartbeat at most, and for no node that is down.
func (n *Node) awaitForgotten(ctx context.Context, raft *consensus.Raft) {
	ctx, cancel := context.WithTimeout(ctx, n.heartbeat())
	defer cancel()
	list, err := raft.Peers()
	if err != nil {
		return // Raft has ended
	}
	for retry := backoff.New(); ; {
		remembered := false
		for _, other := range n.statesOf(ctx, list) {
			remembered = remembered || other.Leader == n.options.Address || slices.Contains(other.SendsTo,
				n.options.Address)
		}
		if !remembered || retry.Wait(ctx) != nil {
			return
		}
	}
}
