package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// clusterProtocol is the version of the requests that nodes send to one another. Nodes of different versions do not
// join one cluster.
const clusterProtocol = 1

// A build is what a node can understand.
type build struct {
	Version  string `json:"version"`  // of Lectern
	Protocol int    `json:"protocol"` // see clusterProtocol
	Format   int    `json:"format"`   // of transactions: it reads this one and all before, and writes this one
}

func (n *Node) build() build {
	return build{n.options.Version, clusterProtocol, store.TransactionFormat}
}

// reads returns an error if a node cannot be in a cluster with another one that writes transactions.
func (b build) reads(writer build) error {
	switch {
	case b.Protocol != writer.Protocol:
		return fmt.Errorf("version %s of Lectern speaks version %d of the cluster's protocol, and version %s of "+
			"Lectern version %d: give all nodes the same version of Lectern", b.Version, b.Protocol, writer.Version,
			writer.Protocol)
	case b.Format < writer.Format:
		return fmt.Errorf("version %s of Lectern reads transactions up to format %d, and version %s writes format "+
			"%d: give the node the newer version of Lectern", b.Version, b.Format, writer.Version, writer.Format)
	}
	return nil
}

// watchInterval is how often a node asks the others about themselves.
const watchInterval = 3 * time.Second

// watchPeers keeps in touch with the other nodes until ctx ends, and lets another node lead when the store of this one
// fails.
func (n *Node) watchPeers(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		n.lookAtPeers(ctx)
		n.leadSound(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// leadSound lets another node lead if this one leads and its store takes no writes, because it is damaged or its file
// is gone.
func (n *Node) leadSound(ctx context.Context) {
	if !n.Leads() || n.project.Store().Health().State <= store.Full {
		return
	}
	if err := n.raft.Load().Transfer(ctx, ""); err != nil {
		n.log.Warn("the store of this node takes no writes, and no other node can lead the cluster", "error", err)
	}
}

// lookAtPeers notes what the other nodes can read and whether this node was removed, and has the leader change the
// address of this node if the cluster knows another one.
func (n *Node) lookAtPeers(ctx context.Context) {
	raft := n.raft.Load()
	list, err := raft.Peers()
	if err != nil || len(list) == 0 {
		return // it has joined no cluster yet
	}
	states := n.statesOf(ctx, list)
	n.builds.Store(&states)
	lost := *n.leader.Load() == ""
	if lost {
		list = n.latestPeers(ctx, list, states)
	}
	own := slices.IndexFunc(list, func(o consensus.Peer) bool { return o.Name == n.options.Name })
	if own < 0 {
		if lost && !n.removed.Swap(true) {
			n.log.Error(removedFromCluster.Message, "node", n.options.Name, "action", removedFromCluster.Action)
		}
		return
	}
	if n.removed.Swap(false) {
		n.log.Info("the node belongs to its cluster again", "node", n.options.Name)
	}
	if list[own].Address == n.options.Address {
		return
	}
	if n.runsElsewhere(ctx, list[own].Address) {
		n.log.Error("another server runs as this node: stop one of the two. Never serve a copy of a data directory "+
			"beside the original", "node", n.options.Name, "at", list[own].Address)
		return
	}
	n.log.Warn("the cluster knows this node at another address, and is told the present one", "former",
		list[own].Address, "present", n.options.Address)
	joining, err := n.joining()
	if err == nil {
		votes := list[own].Voter || slices.Contains(joining, n.options.Name)
		err = n.askLeader(ctx, list, states, newNode{n.options.Name, n.options.Address, votes, n.build()})
	}
	if err != nil {
		n.log.Warn("the cluster could not be told the address of this node yet", "error", err)
	}
}

// runsElsewhere reports whether another process answers at an address as this node. Both would vote, and could agree to
// different things.
func (n *Node) runsElsewhere(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var s nodeState
	return n.ask(ctx, address, statePath, nil, &s) == nil && s.Name == n.options.Name && s.Process != n.via
}

// statesOf asks nodes for their states. It has those of the nodes that answer, by name.
func (n *Node) statesOf(ctx context.Context, list []consensus.Peer) map[string]nodeState {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var mu sync.Mutex
	states := map[string]nodeState{}
	var asked sync.WaitGroup
	for _, o := range list {
		if o.Name == n.options.Name {
			continue
		}
		asked.Go(func() {
			var s nodeState
			if n.ask(ctx, o.Address, statePath, nil, &s) == nil && s.Name == o.Name {
				mu.Lock()
				defer mu.Unlock()
				states[o.Name] = s
			}
		})
	}
	asked.Wait()
	return states
}

// latestPeers returns the nodes of the cluster as one knows them that has a leader, or list if there is none.
func (n *Node) latestPeers(ctx context.Context, list []consensus.Peer, states map[string]nodeState) []consensus.Peer {
	for _, o := range list {
		var newer []consensus.Peer
		if states[o.Name].Leader != "" && n.ask(ctx, o.Address, nodesPath, nil, &newer) == nil && len(newer) > 0 {
			return newer
		}
	}
	return list
}

// askLeader has the leader add a node, or change its address.
func (n *Node) askLeader(ctx context.Context, list []consensus.Peer, states map[string]nodeState, to newNode) error {
	if n.Leads() {
		return n.addNode(ctx, to)
	}
	err := errors.New("no node knows a leader")
	for _, o := range list {
		if leader := states[o.Name].Leader; leader != "" {
			if err = n.ask(ctx, leader, addPath, to, nil); err == nil {
				return nil
			}
		}
	}
	return err
}

// checkReaders returns an error if a node that this one is in touch with could not read what this one would write as
// the leader.
func (n *Node) checkReaders() error {
	for name, s := range *n.builds.Load() {
		if err := s.reads(n.build()); err != nil {
			return fmt.Errorf("the node %s could not read what this one writes: %w", name, err)
		}
	}
	return nil
}

// Conditions of a node that should get no requests although it can answer reads.
var (
	noLeader = admin.Condition{
		State: "no-leader",
		Message: "The node knows no leader of its cluster: it answers reads with what it has, which may be old, and " +
			"writes are answered 503.",
		Action: "Wait a few seconds. If it stays, run `lectern cluster status`, and start the nodes that are down " +
			"or mend the network between them.",
	}
	behindCluster = admin.Condition{
		State: "behind",
		Message: "The node lacks writes to which its cluster has agreed: it answers reads with what it has, which " +
			"is old.",
		Action: "Wait; it catches up by itself. If it stays, see the log.",
	}
	removedFromCluster = admin.Condition{
		State:   "removed",
		Message: "The node was removed from its cluster: it answers reads with what it had then.",
		Action:  "Stop it. To bring it back, run `lectern cluster add` at another node.",
	}
)

// maxBehind is how many transactions a node may lack that is ready for requests.
const maxBehind = 1024

// Condition returns why the node should get no requests; nil if it should get them.
func (n *Node) Condition() *admin.Condition {
	raft := n.raft.Load()
	switch f := raft.Figures(); {
	case n.removed.Load():
		return &removedFromCluster
	case *n.leader.Load() == "":
		return &noLeader
	case f.Stuck, f.Committed > f.Applied+maxBehind:
		return &behindCluster
	}
	return nil
}
