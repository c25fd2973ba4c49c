package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// A Recovery says what becomes of a cluster that is recovered.
type Recovery struct {
	Node          string   // the node that it is recovered from
	LastIndex     uint64   // of that node's log
	Before, After []string // the nodes, as NAME@HOST:PORT
}

// Recover makes nodes those of the cluster, after its majority was lost for good: they go on with the content of the
// node in o.Data, which must be one of them and be stopped. If list is empty, that node is alone. The content begins a
// new epoch, because positions that clients and replicas have from lost nodes may be those of other writes. Unless
// confirmed is set, Recover changes nothing.
func Recover(o Options, open func(*Node) (*store.Store, error), list []config.ClusterNode, confirmed bool) (r Recovery,
	err error) {
	n, err := New(o)
	if err != nil {
		return r, err
	}
	if belongs, err := consensus.HasState(n.dir); err != nil || !belongs {
		return r, errors.Join(err, fmt.Errorf("%s has not been a node of a cluster", o.Dir))
	}
	s := &stoppedNode{Node: n, open: open}
	defer func() { err = errors.Join(err, s.close()) }()
	// no node dials the address
	c := consensus.Config{Name: n.options.Name, Address: n.options.Name, Dir: n.dir, Log: n.log, Machine: s}
	record, err := consensus.Read(c)
	if err != nil {
		return r, err
	}
	peers, err := recovered(n.options.Name, record.Peers, list)
	if err != nil {
		return r, err
	}
	r = Recovery{Node: n.options.Name, LastIndex: record.LastIndex, Before: peerTexts(record.Peers),
		After: peerTexts(peers)}
	if !confirmed {
		return r, nil
	}
	if err := consensus.Recover(c, peers); err != nil {
		return r, err
	}
	return r, s.beginEpoch() // after the nodes: they may go on as before if they were not changed
}

// A stoppedNode is the machine of a node that does not run.
type stoppedNode struct {
	*Node
	open  func(*Node) (*store.Store, error)
	store *store.Store // nil before the first Apply
}

var _ consensus.Machine = (*stoppedNode)(nil)

// Apply implements consensus.Machine.
func (s *stoppedNode) Apply(list []store.Transaction) (err error) {
	if s.store == nil {
		if s.store, err = s.openStore(); err != nil {
			return err
		}
	}
	_, err = s.store.ApplyTransactions(s.ctx, list)
	return err
}

// openStore opens the store as the node has left it.
func (s *stoppedNode) openStore() (*store.Store, error) {
	path := filepath.Join(s.options.Data, admin.StoreName)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the node has no content: %w", err)
	}
	if err := s.takeStored(path); err != nil {
		return nil, err
	}
	return s.open(s.Node)
}

// beginEpoch begins a new epoch of the content.
func (s *stoppedNode) beginEpoch() error {
	if err := s.closeStore(); err != nil {
		return err
	}
	r, err := store.OpenReplica(filepath.Join(s.options.Data, admin.StoreName), store.Options{LockTimeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("begin a new epoch: %w; repeat the command", err)
	}
	return errors.Join(r.BeginEpoch(), r.Close())
}

func (s *stoppedNode) close() error {
	s.end()
	return s.closeStore()
}

// closeStore closes the store if Apply has opened it.
func (s *stoppedNode) closeStore() error {
	if s.store == nil {
		return nil
	}
	st := s.store
	s.store = nil
	return st.Close()
}

// recovered returns the nodes of a recovered cluster. old are those before.
func recovered(name string, old []consensus.Peer, nodes []config.ClusterNode) (peers []consensus.Peer, err error) {
	for _, n := range nodes {
		peers = append(peers, consensus.Peer{Name: n.Name, Address: n.Address, Voter: true})
	}
	if len(nodes) == 0 {
		for _, p := range old {
			if p.Name == name {
				p.Voter = true
				peers = append(peers, p)
			}
		}
		if len(peers) == 0 {
			return nil, fmt.Errorf("the node %s was not of the cluster; name the nodes as NAME@HOST:PORT", name)
		}
	}
	if !slices.ContainsFunc(peers, func(p consensus.Peer) bool { return p.Name == name }) {
		return nil, fmt.Errorf("the content is that of the node %s; name it among the nodes as %[1]s@HOST:PORT", name)
	}
	return peers, nil
}

func peerTexts(list []consensus.Peer) (texts []string) {
	for _, p := range list {
		text := p.Name + "@" + p.Address
		if !p.Voter {
			text += " (no vote)"
		}
		texts = append(texts, text)
	}
	return texts
}
