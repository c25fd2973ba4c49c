package gateway

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

// clusterProtocol is the version of the requests that nodes send to one another. Nodes of different versions do not join one cluster.
const clusterProtocol = 1

// A build is what a node can understand.
type build struct {
	Version  string `json:"version"`  // of Lectern
	Protocol int    `json:"protocol"` // see clusterProtocol
	Format   int    `json:"format"`   // of transactions: it reads this one and all before, and writes this one
}

func (m *member) build() build {
	return build{m.version, clusterProtocol, store.TransactionFormat}
}

// reads returns an error if a node cannot be in a cluster with another one that writes transactions.
func (b build) reads(writer build) error {
	switch {
	case b.Protocol != writer.Protocol:
		return fmt.Errorf("version %s of Lectern speaks version %d of the cluster's protocol, and version %s of Lectern version %d: give all nodes the same version of Lectern", b.Version, b.Protocol, writer.Version, writer.Protocol)
	case b.Format < writer.Format:
		return fmt.Errorf("version %s of Lectern reads transactions up to format %d, and version %s writes format %d: give the node the newer version of Lectern", b.Version, b.Format, writer.Version, writer.Format)
	}
	return nil
}

// watchInterval is how often a node asks the others about themselves.
const watchInterval = 3 * time.Second

// watchMembers keeps in touch with the other nodes until ctx ends, and lets another node lead when the store of this one fails.
func (m *member) watchMembers(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		m.lookAtMembers(ctx)
		m.leadSound(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// leadSound lets another node lead if this one leads and its store takes no writes, because it is damaged or its file is gone.
func (m *member) leadSound(ctx context.Context) {
	if !m.Leads() || m.project.Store().Health().State <= store.Full {
		return
	}
	if err := m.node.Load().Transfer(ctx, ""); err != nil {
		m.log.Warn("the store of this node takes no writes, and no other node can lead the cluster", "error", err)
	}
}

// lookAtMembers learns what the other nodes can read and whether this node was removed, and tells the leader when this node has another address than
// before.
func (m *member) lookAtMembers(ctx context.Context) {
	node := m.node.Load()
	list, err := node.Peers()
	if err != nil || len(list) == 0 {
		return // it has joined no cluster yet
	}
	states := m.statesOf(ctx, list)
	m.builds.Store(&states)
	lost := *m.leader.Load() == ""
	if lost {
		list = m.latestMembers(ctx, list, states)
	}
	own := slices.IndexFunc(list, func(o consensus.Peer) bool { return o.Name == m.options.Name })
	if own < 0 {
		if lost && !m.removed.Swap(true) {
			m.log.Error(removedFromCluster.Message, "node", m.options.Name, "action", removedFromCluster.Action)
		}
		return
	}
	if m.removed.Swap(false) {
		m.log.Info("the node is a member of its cluster again", "node", m.options.Name)
	}
	if list[own].Address == m.options.Address {
		return
	}
	if m.isTwin(ctx, list[own].Address) {
		m.log.Error("another server runs as this node: stop one of the two. Never serve a copy of a data directory beside the original", "node", m.options.Name, "at", list[own].Address)
		return
	}
	m.log.Warn("the cluster knows this node at another address, and is told the present one", "former", list[own].Address, "present", m.options.Address)
	joining, err := m.joining()
	if err == nil {
		votes := list[own].Voter || slices.Contains(joining, m.options.Name)
		err = m.askLeader(ctx, list, states, newNode{m.options.Name, m.options.Address, votes, m.build()})
	}
	if err != nil {
		m.log.Warn("the cluster could not be told the address of this node yet", "error", err)
	}
}

// isTwin reports whether another process answers at an address as this node. Both would vote, and could agree to different things.
func (m *member) isTwin(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var s nodeState
	return m.ask(ctx, address, statePath, nil, &s) == nil && s.Name == m.options.Name && s.Process != m.via
}

// statesOf asks nodes for their states. It has those of the nodes that answer, by name.
func (m *member) statesOf(ctx context.Context, list []consensus.Peer) map[string]nodeState {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var mu sync.Mutex
	states := map[string]nodeState{}
	var asked sync.WaitGroup
	for _, o := range list {
		if o.Name == m.options.Name {
			continue
		}
		asked.Go(func() {
			var s nodeState
			if m.ask(ctx, o.Address, statePath, nil, &s) == nil && s.Name == o.Name {
				mu.Lock()
				defer mu.Unlock()
				states[o.Name] = s
			}
		})
	}
	asked.Wait()
	return states
}

// latestMembers returns the members as a node knows them that has a leader, or list if there is none.
func (m *member) latestMembers(ctx context.Context, list []consensus.Peer, states map[string]nodeState) []consensus.Peer {
	for _, o := range list {
		var newer []consensus.Peer
		if states[o.Name].Leader != "" && m.ask(ctx, o.Address, membersPath, nil, &newer) == nil && len(newer) > 0 {
			return newer
		}
	}
	return list
}

// askLeader has the leader add a node, or change its address.
func (m *member) askLeader(ctx context.Context, list []consensus.Peer, states map[string]nodeState, n newNode) error {
	if m.Leads() {
		return m.addNode(ctx, n)
	}
	err := errors.New("no node knows a leader")
	for _, o := range list {
		if leader := states[o.Name].Leader; leader != "" {
			if err = m.ask(ctx, leader, addPath, n, nil); err == nil {
				return nil
			}
		}
	}
	return err
}

// checkReaders returns an error if a node that this one is in touch with could not read what this one would write as the leader.
func (m *member) checkReaders() error {
	for name, s := range *m.builds.Load() {
		if err := s.reads(m.build()); err != nil {
			return fmt.Errorf("the node %s could not read what this one writes: %w", name, err)
		}
	}
	return nil
}

// maxBehind is how many transactions a node may lack that is ready for requests.
const maxBehind = 1024

// Condition implements role.
func (m *member) Condition() *admin.Condition {
	node := m.node.Load()
	switch f := node.Figures(); {
	case m.removed.Load():
		return &removedFromCluster
	case *m.leader.Load() == "":
		return &noLeader
	case f.Stuck, f.Committed > f.Applied+maxBehind:
		return &behindCluster
	}
	return nil
}
