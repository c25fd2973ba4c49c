package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// A node that is added has no vote until it answers and has the content: a majority that needs its vote could agree to nothing before. The leader keeps a list
// of such nodes, so that the next leader gives the votes if this one ends.

// joiningNote is the name of the note with the names of the nodes that are to get a vote.
const joiningNote = "cluster/joining"

// A memberChange changes the cluster. Only the leader can.
type memberChange func(*member, context.Context, newNode) error

// leading returns the node if it leads, or else an error. If the node was elected but will lead only in a moment, leading waits for that, for maxElection at
// most: a node that joins must get what Lead puts into the store.
func (m *member) leading(ctx context.Context) (*consensus.Raft, error) {
	node, err := m.running()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.maxElection())
	defer cancel()
	leads := false
	_ = m.awaitLead(ctx, func(string) bool { // its error tells that ctx has ended
		leads = m.Leads()
		return leads || !node.Elected()
	})
	if !leads {
		return nil, store.ErrNotLeader
	}
	return node, nil
}

// changeMembers makes a change of the members, whose list it passes, one at a time.
func (m *member) changeMembers(ctx context.Context, change func(*consensus.Raft, []consensus.Peer) error) error {
	node, err := m.leading(ctx)
	if err != nil {
		return err
	}
	m.changing.Lock()
	defer m.changing.Unlock()
	list, err := node.Peers()
	if err != nil {
		return err
	}
	return change(node, list)
}

// addNode adds a node, gives one another address, or gives or takes its vote. A node gets its vote later, by giveVotes.
func (m *member) addNode(ctx context.Context, n newNode) error {
	return m.changeMembers(ctx, func(node *consensus.Raft, list []consensus.Peer) error {
		former := memberOf(list, n.Name)
		if former == nil || n.Address != former.Address {
			if err := m.checkAnswer(ctx, n); err != nil {
				return err
			}
		}
		votes := former != nil && former.Voter
		if votes && !n.Voter {
			if err := m.checkWithout(ctx, list, former); err != nil {
				return err
			}
		}
		joins := n.Voter && !votes
		if err := m.noteJoining(ctx, n.Name, joins); err != nil {
			return err
		}
		if err := node.Add(ctx, n.Name, n.Address, n.Voter && votes); err != nil {
			return err
		}
		if joins {
			m.joins.send()
		}
		return nil
	})
}

// removeNode removes a node.
func (m *member) removeNode(ctx context.Context, n newNode) error {
	return m.changeMembers(ctx, func(node *consensus.Raft, list []consensus.Peer) error {
		if gone := memberOf(list, n.Name); gone != nil && gone.Voter {
			if err := m.checkWithout(ctx, list, gone); err != nil {
				return err
			}
		}
		if err := m.noteJoining(ctx, n.Name, false); err != nil {
			return err
		}
		return node.Remove(ctx, n.Name)
	})
}

// memberOf returns the member with a name, nil if there is none.
func memberOf(list []consensus.Peer, name string) *consensus.Peer {
	if i := slices.IndexFunc(list, func(o consensus.Peer) bool { return o.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// transferLead makes a node the leader, any if n has no name.
func (m *member) transferLead(ctx context.Context, n newNode) error { return m.handOver(ctx, n.Name) }

// checkAnswer returns an error unless a node answers at the address at which it is to be a member.
func (m *member) checkAnswer(ctx context.Context, n newNode) error {
	if n.Name == m.options.Name {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var s nodeState
	if err := m.ask(ctx, n.Address, statePath, nil, &s); err != nil {
		return fmt.Errorf("%s does not reach the node %s, which must be served before it is added: %w", m.options.Name, n.Name, err)
	}
	if s.Name != n.Name {
		return fmt.Errorf("the node %s answers at %s, and not %s", s.Name, n.Address, n.Name)
	}
	return nil
}

// checkWithout takes the vote of a member in the list, and returns an error if the voters that are left would agree to nothing.
func (m *member) checkWithout(ctx context.Context, list []consensus.Peer, voter *consensus.Peer) error {
	voter.Voter = false
	return m.checkMajority(list, m.statesOf(ctx, list))
}

// checkMajority returns an error if the voters among the members would agree to nothing, because not enough of them answer. states has those that do.
func (m *member) checkMajority(list []consensus.Peer, states map[string]nodeState) error {
	var silent []string
	voters := 0
	for _, o := range list {
		if !o.Voter {
			continue
		}
		voters++
		if _, answers := states[o.Name]; !answers && o.Name != m.options.Name {
			silent = append(silent, o.Name)
		}
	}
	if 2*len(silent) < voters {
		return nil
	}
	return fmt.Errorf("the cluster would take no writes: of the %d nodes that would have votes, too many do not answer now (%s)", voters, strings.Join(silent, ", "))
}

// joining returns the names of the nodes that are to get a vote, as far as this node knows.
func (m *member) joining() (names []string, err error) {
	select {
	case <-m.opened:
		err = readNote(m.store(), joiningNote, &names)
	default:
	}
	return names, err
}

// noteJoining notes that a node is to get a vote, or is not. m.changing must be held.
func (m *member) noteJoining(ctx context.Context, name string, joins bool) error {
	names, err := m.joining()
	i := slices.Index(names, name)
	if err != nil || joins == (i >= 0) {
		return err
	}
	if joins {
		names = append(names, name)
	} else {
		names = slices.Delete(names, i, i+1)
	}
	return putNotes(ctx, m.project.Store(), map[string]any{joiningNote: names})
}

// giveVotes gives votes to the nodes that are to get one, once they have the content, until ctx ends. The leader runs it.
func (m *member) giveVotes(ctx context.Context) {
	tick := time.NewTicker(m.node.Load().Heartbeat())
	defer tick.Stop()
	for ctx.Err() == nil {
		joins := m.joins.wait() // before the list is read
		left, err := m.admit(ctx)
		if err != nil && ctx.Err() == nil {
			m.log.Warn("a node could not be given its vote yet", "error", err)
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

// admit gives votes to those of the nodes that are to get one that have the content. It reports whether there are others.
func (m *member) admit(ctx context.Context) (left bool, err error) {
	if !m.changing.TryLock() { // a node that has lost the lead waits for giveVotes, which must not wait for a change
		return true, nil
	}
	defer m.changing.Unlock()
	names, err := m.joining()
	if err != nil || len(names) == 0 {
		return false, err
	}
	node := m.node.Load()
	list, err := node.Peers()
	if err != nil {
		return true, err
	}
	states := m.statesOf(ctx, list)
	for _, name := range names {
		if o := memberOf(list, name); o != nil && !o.Voter {
			if s := states[name]; !s.Content || s.Revision+maxBehind < m.store().Revision() {
				left = true
				continue
			}
			o.Voter = true
			if err := m.checkMajority(list, states); err != nil {
				return true, err
			}
			if err := node.Add(ctx, name, o.Address, true); err != nil {
				return true, err
			}
			m.log.Info("a node has the content, and votes from now on", "node", name)
		}
		if err := m.noteJoining(ctx, name, false); err != nil {
			return true, err
		}
	}
	return left, nil
}
