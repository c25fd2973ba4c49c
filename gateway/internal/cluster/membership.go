package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// A node that is added has no vote until it answers and has the content: a majority that needs its vote could agree to
// nothing before. The leader keeps a list of such nodes, so that the next leader gives the votes if this one ends.

// joiningNote is the name of the note with the names of the nodes that are to get a vote.
const joiningNote = "cluster/joining"

// A peerChange changes the cluster. Only the leader can.
type peerChange func(*Node, context.Context, newNode) error

// leading returns the Raft of this node if it leads, or else an error. If the node was elected and does not lead yet,
// leading waits for that, for maxElection at most: a node that joins must get what Lead puts into the store.
func (n *Node) leading(ctx context.Context) (*consensus.Raft, error) {
	raft, err := n.running()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, n.maxElection())
	defer cancel()
	leads := false
	_ = n.awaitLead(ctx, func(string) bool { // its error means that ctx has ended
		leads = n.Leads()
		return leads || !raft.Elected()
	})
	if !leads {
		return nil, store.ErrNotLeader
	}
	return raft, nil
}

// changePeers changes who belongs to the cluster; it passes the present nodes, and lets one change happen at a time.
func (n *Node) changePeers(ctx context.Context, change func(*consensus.Raft, []consensus.Peer) error) error {
	raft, err := n.leading(ctx)
	if err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	list, err := raft.Peers()
	if err != nil {
		return err
	}
	return change(raft, list)
}

// addNode adds a node, gives one another address, or gives or takes its vote. A node gets its vote later, by giveVotes.
func (n *Node) addNode(ctx context.Context, to newNode) error {
	return n.changePeers(ctx, func(raft *consensus.Raft, list []consensus.Peer) error {
		old := peerOf(list, to.Name)
		if old == nil || to.Address != old.Address {
			if err := n.checkAnswer(ctx, to); err != nil {
				return err
			}
		}
		votes := old != nil && old.Voter
		if votes && !to.Voter {
			if err := n.checkWithout(ctx, list, old); err != nil {
				return err
			}
		}
		joins := to.Voter && !votes
		if err := n.noteJoining(ctx, to.Name, joins); err != nil {
			return err
		}
		if err := raft.Add(ctx, to.Name, to.Address, to.Voter && votes); err != nil {
			return err
		}
		if joins {
			n.joins.send()
		}
		return nil
	})
}

// removeNode removes a node.
func (n *Node) removeNode(ctx context.Context, to newNode) error {
	return n.changePeers(ctx, func(raft *consensus.Raft, list []consensus.Peer) error {
		if gone := peerOf(list, to.Name); gone != nil && gone.Voter {
			if err := n.checkWithout(ctx, list, gone); err != nil {
				return err
			}
		}
		if err := n.noteJoining(ctx, to.Name, false); err != nil {
			return err
		}
		return raft.Remove(ctx, to.Name)
	})
}

// peerOf returns the node with a name, nil if there is none.
func peerOf(list []consensus.Peer, name string) *consensus.Peer {
	if i := slices.IndexFunc(list, func(o consensus.Peer) bool { return o.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// transferLead makes a node the leader, any if to has no name.
func (n *Node) transferLead(ctx context.Context, to newNode) error { return n.handOver(ctx, to.Name) }

// checkAnswer returns an error unless a node answers at the address at which it is to be added.
func (n *Node) checkAnswer(ctx context.Context, to newNode) error {
	if to.Name == n.options.Name {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var s nodeState
	if err := n.ask(ctx, to.Address, statePath, nil, &s); err != nil {
		return fmt.Errorf("%s does not reach the node %s, which must be served before it is added: %w", n.options.Name,
			to.Name, err)
	}
	if s.Name != to.Name {
		return fmt.Errorf("the node %s answers at %s, and not %s", s.Name, to.Address, to.Name)
	}
	return nil
}

// checkWithout takes the vote of a node in the list, and returns an error if the voters that are left would agree to
// nothing.
func (n *Node) checkWithout(ctx context.Context, list []consensus.Peer, voter *consensus.Peer) error {
	voter.Voter = false
	return n.checkMajority(list, n.statesOf(ctx, list))
}

// checkMajority returns an error if the nodes with a vote would agree to nothing, because not enough of them
// answer. states has those that do.
func (n *Node) checkMajority(list []consensus.Peer, states map[string]nodeState) error {
	var silent []string
	voters := 0
	for _, o := range list {
		if !o.Voter {
			continue
		}
		voters++
		if _, answers := states[o.Name]; !answers && o.Name != n.options.Name {
			silent = append(silent, o.Name)
		}
	}
	if 2*len(silent) < voters {
		return nil
	}
	return fmt.Errorf("the cluster would take no writes: of the %d nodes that would have votes, too many do not "+
		"answer now (%s)", voters, strings.Join(silent, ", "))
}

// joining returns the names of the nodes that are to get a vote, as far as this node knows.
func (n *Node) joining() (names []string, err error) {
	select {
	case <-n.opened:
		err = readNote(n.store(), joiningNote, &names)
	default:
	}
	return names, err
}

// noteJoining notes that a node is to get a vote, or is not. n.changing must be held.
func (n *Node) noteJoining(ctx context.Context, name string, joins bool) error {
	names, err := n.joining()
	i := slices.Index(names, name)
	if err != nil || joins == (i >= 0) {
		return err
	}
	if joins {
		names = append(names, name)
	} else {
		names = slices.Delete(names, i, i+1)
	}
	return putNotes(ctx, n.project.Store(), map[string]any{joiningNote: names})
}

// giveVotes gives votes to the nodes that are to get one, once they have the content, until ctx ends. The leader runs
// it.
func (n *Node) giveVotes(ctx context.Context) {
	tick := time.NewTicker(n.raft.Load().Heartbeat())
	defer tick.Stop()
	for ctx.Err() == nil {
		joins := n.joins.wait() // before the list is read
		left, err := n.admit(ctx)
		if err != nil && ctx.Err() == nil {
			n.log.Warn("a node could not be given its vote yet", "error", err)
		}
		var again <-chan time.Time
		if left || err != nil {
			again = tick.C
		}
		select {
		case <-ctx.Done():
		case <-joins:
		case <-again:
		}
	}
}

// admit gives votes to those of the nodes that are to get one that have the content. It reports whether there are
// others.
func (n *Node) admit(ctx context.Context) (left bool, err error) {
	if !n.changing.TryLock() { // a node that has lost the lead waits for giveVotes, which must not wait for a change
		return true, nil
	}
	defer n.changing.Unlock()
	names, err := n.joining()
	if err != nil || len(names) == 0 {
		return false, err
	}
	raft := n.raft.Load()
	list, err := raft.Peers()
	if err != nil {
		return true, err
	}
	states := n.statesOf(ctx, list)
	for _, name := range names {
		if o := peerOf(list, name); o != nil && !o.Voter {
			if s := states[name]; !s.Content || s.Revision+maxBehind < n.store().Revision() {
				left = true
				continue
			}
			o.Voter = true
			if err := n.checkMajority(list, states); err != nil {
				return true, err
			}
			if err := raft.Add(ctx, name, o.Address, true); err != nil {
				return true, err
			}
			n.log.Info("a node has the content, and votes from now on", "node", name)
		}
		if err := n.noteJoining(ctx, name, false); err != nil {
			return true, err
		}
	}
	return left, nil
}
