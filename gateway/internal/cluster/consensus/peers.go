package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"lectern/store"
)

// A Peer is a node as the cluster knows it.
type Peer struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"` // false: it only reads
	Leader  bool   `json:"leader"`
}

// Peers returns the nodes of the cluster, as this node knows them.
func (n *Raft) Peers() ([]Peer, error) {
	f := n.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, err
	}
	_, leader := n.raft.LeaderWithID()
	list := []Peer{}
	for _, s := range f.Configuration().Servers {
		list = append(list, Peer{string(s.ID), string(s.Address), s.Suffrage == raft.Voter, s.ID == leader})
	}
	return list, nil
}

// Has reports whether the cluster has a node of that name, as this node knows.
func (n *Raft) Has(name string) bool {
	f := n.raft.GetConfiguration()
	return f.Error() == nil &&
		slices.ContainsFunc(f.Configuration().Servers, func(s raft.Server) bool { return s.ID == raft.ServerID(name) })
}

// Peer returns the node with a name. The error lists the names that there are.
func (n *Raft) Peer(name string) (Peer, error) {
	list, err := n.Peers()
	if err != nil {
		return Peer{}, err
	}
	var names []string
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Peer{}, fmt.Errorf("the cluster has no node %s; its nodes are %s", name, strings.Join(names, ", "))
}

// Add adds a node, gives one another address, or gives or takes its vote. Only the leader can.
func (n *Raft) Add(ctx context.Context, name, address string, voter bool) error {
	list, err := n.Peers()
	if err != nil {
		return err
	}
	demoted := false
	for _, p := range list {
		if p.Address == address && p.Name != name {
			return fmt.Errorf("the node %s has the address %s already", p.Name, address)
		}
		demoted = demoted || p.Name == name && p.Voter && !voter
	}
	id, at := raft.ServerID(name), raft.ServerAddress(address)
	if voter {
		return agreed(ctx, n.raft.AddVoter(id, at, 0, ioTimeout))
	}
	if demoted {
		if err := agreed(ctx, n.raft.DemoteVoter(id, 0, ioTimeout)); err != nil {
			return err
		}
	}
	return agreed(ctx, n.raft.AddNonvoter(id, at, 0, ioTimeout))
}

// Remove removes a node. Only the leader can, and not itself: it must give up the lead before.
func (n *Raft) Remove(ctx context.Context, name string) error {
	if _, err := n.Peer(name); err != nil {
		return err
	}
	if name == n.config.Name {
		return fmt.Errorf("the leader %s cannot remove itself", name)
	}
	return agreed(ctx, n.raft.RemoveServer(raft.ServerID(name), 0, ioTimeout))
}

// Transfer makes another node the leader: the one with a name, or any if name is "". Only the leader can.
func (n *Raft) Transfer(ctx context.Context, name string) error {
	if name == "" {
		return agreed(ctx, n.raft.LeadershipTransfer())
	}
	to, err := n.Peer(name)
	switch {
	case err != nil:
		return err
	case to.Name == n.config.Name:
		return nil
	case !to.Voter:
		return fmt.Errorf("the node %s has no vote, so it cannot lead", name)
	}
	return agreed(ctx, n.raft.LeadershipTransferToServer(raft.ServerID(name), raft.ServerAddress(to.Address)))
}

// agreed waits until the nodes have agreed to a change of the cluster. The error wraps store.ErrNotLeader if this node
// does not lead.
func agreed(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }() // never ends if Raft is shut down before it has taken what was asked for
	select {
	case err := <-done:
		if errors.Is(err, raft.ErrNotLeader) {
			return store.ErrNotLeader
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("no majority of the nodes has agreed so far, and may still: %w", ctx.Err())
	}
}

// Figures are what a node knows of itself and its cluster.
type Figures struct {
	Leads       bool
	Term        uint64
	LastIndex   uint64        // of Raft's log
	Committed   uint64        // the index up to which a majority has the log
	Applied     uint64        // the index up to which this node has applied it
	Stuck       bool          // this node cannot apply what was agreed to, and tries again
	LastContact time.Duration // since this node last heard from the leader; 0 at the leader, negative if it never has
	Nodes       int
	Voters      int
	Proposals   uint64 // of this node
	Failed      uint64 // proposals that were not agreed to, or of which this is not known
}

// Figures returns the figures of now.
func (n *Raft) Figures() Figures {
	f := Figures{
		Leads: n.Leading(), Term: n.raft.CurrentTerm(), LastIndex: n.raft.LastIndex(), Committed: n.raft.CommitIndex(),
		Applied: n.appliedIndex(),
		Stuck:   n.stuck.Load(), LastContact: n.LastContact(), Proposals: n.proposals.Load(), Failed: n.failed.Load(),
	}
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		if f.Nodes++; s.Suffrage == raft.Voter {
			f.Voters++
		}
	}
	return f
}

// appliedIndex returns the index up to which the machine has applied Raft's log. Raft's own applied index includes what
// waits for the machine.
func (n *Raft) appliedIndex() uint64 {
	passed, applied := n.raft.AppliedIndex(), n.applied.Load()
	for i := applied + 1; i <= passed; i++ { // entries of Raft's own are not for the machine
		var entry raft.Log
		if n.log.GetLog(i, &entry) != nil || entry.Type == raft.LogCommand {
			return i - 1
		}
	}
	return max(passed, applied)
}

// LastContact returns how long ago this node last heard from the leader: 0 at the leader, negative if it never has.
func (n *Raft) LastContact() time.Duration {
	if n.raft.State() == raft.Leader {
		return 0
	}
	last := n.raft.LastContact()
	if last.IsZero() {
		return -1
	}
	return time.Since(last)
}
