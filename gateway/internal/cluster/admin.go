package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/internal/cluster/consensus"
)

// A clusterAdmin administers the cluster of a node.
type clusterAdmin struct{ *Node }

// statusTimeout bounds how long a node may take to answer with its state.
const statusTimeout = 2 * time.Second

// Status implements admin.Cluster. It asks all nodes at once.
func (a clusterAdmin) Status(ctx context.Context) (admin.ClusterStatus, error) {
	raft, err := a.running()
	if err != nil {
		return admin.ClusterStatus{}, err
	}
	list, err := raft.Peers()
	if err != nil {
		return admin.ClusterStatus{}, err
	}
	slices.SortFunc(list, func(a, b consensus.Peer) int { return strings.Compare(a.Name, b.Name) })
	status := admin.ClusterStatus{Node: a.options.Name, Nodes: make([]admin.NodeStatus, len(list))}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for i, p := range list {
		asked.Go(func() { status.Nodes[i] = a.statusOf(ctx, p) })
	}
	asked.Wait()
	var latest uint64
	for _, s := range status.Nodes {
		if s.Leader {
			status.Leader, latest = s.Name, s.Revision
		}
	}
	joining, err := a.joining()
	if err != nil {
		return status, err
	}
	for i := range status.Nodes {
		s := &status.Nodes[i]
		s.Joining = !s.Voter && slices.Contains(joining, s.Name)
		if s.Error == "" && s.Revision < latest {
			s.Behind = latest - s.Revision
		}
	}
	return status, nil
}

// statusOf asks a node for its state.
func (a clusterAdmin) statusOf(ctx context.Context, p consensus.Peer) admin.NodeStatus {
	status := admin.NodeStatus{Name: p.Name, Address: p.Address, Voter: p.Voter, Leader: p.Leader}
	var state nodeState
	if p.Name == a.options.Name {
		state = a.state()
	} else {
		if err := a.ask(ctx, p.Address, statePath, nil, &state); err != nil {
			if sent := (*url.Error)(nil); errors.As(err, &sent) {
				err = sent.Err // without the path
			}
			status.Error = err.Error()
			return status
		}
	}
	if state.Name != p.Name {
		status.Error = "the node " + state.Name + " answers at this address"
		return status
	}
	status.Revision, status.Version = state.Revision, state.Version
	return status
}

// Add implements admin.Cluster.
func (a clusterAdmin) Add(ctx context.Context, to admin.ClusterNode) error {
	return a.change(ctx, addPath, newNode{Name: to.Name, Address: to.Address, Voter: to.Voter}, (*Node).addNode)
}

// Remove implements admin.Cluster. If the node leads, another one becomes the leader first.
func (a clusterAdmin) Remove(ctx context.Context, name string) error {
	raft, err := a.running()
	if err != nil {
		return err
	}
	gone, err := raft.Peer(name)
	if err != nil {
		return err
	}
	if gone.Leader {
		if err := a.Transfer(ctx, ""); err != nil {
			return fmt.Errorf("%s leads the cluster, and no other node can lead instead: %w", name, err)
		}
		if _, err := a.awaitLeader(ctx, gone.Address); err != nil {
			return errors.New("the cluster has no other leader yet; try again")
		}
	}
	return a.change(ctx, removePath, newNode{Name: name}, (*Node).removeNode)
}

// Transfer implements admin.Cluster.
func (a clusterAdmin) Transfer(ctx context.Context, name string) error {
	return a.change(ctx, transferPath, newNode{Name: name}, (*Node).transferLead)
}

// change has the leader change the cluster.
func (a clusterAdmin) change(ctx context.Context, path string, to newNode, here peerChange) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if _, err := a.running(); err != nil {
		return err
	}
	if a.Leads() {
		return here(a.Node, ctx, to)
	}
	leader, err := a.awaitLeader(ctx, "")
	if err != nil {
		return errors.New("the cluster has no leader now; nothing was changed. " + admin.LostMajority)
	}
	return a.ask(ctx, leader, path, to, nil)
}
