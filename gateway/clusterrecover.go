package gateway

import (
	"context"
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
	Before, After []string // the members, as NAME@HOST:PORT
}

// RecoverCluster makes nodes the members of the cluster, after its majority was lost for good: they go on with the content of the node in dir, which
// must be one of them and be stopped. If nodes is empty, that node is the only member. The content begins a new epoch, because positions that clients and
// replicas have from lost nodes may be those of other writes. Unless confirmed is set, RecoverCluster changes nothing.
func RecoverCluster(ctx context.Context, dir string, o Options, nodes []config.ClusterNode, confirmed bool) (r Recovery, err error) {
	path := Directory(dir, o).DataPath()
	lock, err := admin.Lock(path)
	if errors.Is(err, admin.ErrBusy) {
		return r, admin.BusyError(path)
	}
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	s, err := newStoppedMember(ctx, dir, o, lock)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	name := s.member.options.Name
	c := consensus.Config{Name: name, Address: name, Dir: s.member.dir, Log: s.member.log, Machine: s} // no node dials the address
	record, err := consensus.Read(c)
	if err != nil {
		return r, err
	}
	members, err := recovered(name, record.Peers, nodes)
	if err != nil {
		return r, err
	}
	r = Recovery{Node: name, LastIndex: record.LastIndex, Before: memberTexts(record.Peers), After: memberTexts(members)}
	if !confirmed {
		return r, nil
	}
	if err := consensus.Recover(c, members); err != nil {
		return r, err
	}
	return r, s.beginEpoch() // after the members: the nodes may go on as before if they were not changed
}

// A stoppedMember is the machine of a node that does not run.
type stoppedMember struct {
	*member
	open  func() (*store.Store, error)
	store *store.Store // nil before the first Apply
}

var _ consensus.Machine = (*stoppedMember)(nil)

// newStoppedMember returns the machine of the node in dir, whose data directory is locked.
func newStoppedMember(ctx context.Context, dir string, o Options, lock *admin.DataDir) (*stoppedMember, error) {
	o, err := o.clustering(dir)
	if err != nil {
		return nil, err
	}
	if o.Cluster == nil {
		o.Cluster = &Cluster{}
	}
	o = o.logging(dir)
	m, err := newMember(dir, o)
	if err != nil {
		return nil, err
	}
	if belongs, err := consensus.HasState(m.dir); err != nil || !belongs {
		return nil, errors.Join(err, fmt.Errorf("%s has not been a node of a cluster", dir))
	}
	return &stoppedMember{member: m, open: func() (*store.Store, error) {
		path := filepath.Join(m.data, admin.StoreName)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("the node has no content: %w", err)
		}
		if err := m.takeStored(path); err != nil {
			return nil, err
		}
		p := newProject(dir, o)
		p.role, p.Data, m.project = m, lock, p
		d, err := p.read()
		if err != nil {
			return nil, err
		}
		if err := p.prepare(ctx, d); err != nil {
			return nil, err
		}
		return p.openStore(d.Definition)
	}}, nil
}

// Apply implements consensus.Machine.
func (s *stoppedMember) Apply(list []store.Transaction) (err error) {
	if s.store == nil {
		if s.store, err = s.open(); err != nil {
			return err
		}
	}
	_, err = s.store.ApplyTransactions(s.ctx, list)
	return err
}

// beginEpoch begins a new epoch of the content.
func (s *stoppedMember) beginEpoch() error {
	if err := s.closeStore(); err != nil {
		return err
	}
	r, err := store.OpenReplica(filepath.Join(s.data, admin.StoreName), store.Options{LockTimeout: lockRetry})
	if err != nil {
		return fmt.Errorf("begin a new epoch: %w; repeat the command", err)
	}
	return errors.Join(r.BeginEpoch(), r.Close())
}

func (s *stoppedMember) close() error {
	s.end()
	return s.closeStore()
}

// closeStore closes the store if Apply has opened it.
func (s *stoppedMember) closeStore() error {
	if s.store == nil {
		return nil
	}
	st := s.store
	s.store = nil
	return st.Close()
}

// recovered returns the members of a recovered cluster. former are those before.
func recovered(name string, former []consensus.Peer, nodes []config.ClusterNode) (members []consensus.Peer, err error) {
	for _, n := range nodes {
		members = append(members, consensus.Peer{Name: n.Name, Address: n.Address, Voter: true})
	}
	if len(nodes) == 0 {
		for _, m := range former {
			if m.Name == name {
				m.Voter = true
				members = append(members, m)
			}
		}
		if len(members) == 0 {
			return nil, fmt.Errorf("the node %s was no member of the cluster; name the nodes as NAME@HOST:PORT", name)
		}
	}
	if !slices.ContainsFunc(members, func(m consensus.Peer) bool { return m.Name == name }) {
		return nil, fmt.Errorf("the content is that of the node %s; name it among the nodes as %[1]s@HOST:PORT", name)
	}
	return members, nil
}

func memberTexts(list []consensus.Peer) (texts []string) {
	for _, m := range list {
		text := m.Name + "@" + m.Address
		if !m.Voter {
			text += " (no vote)"
		}
		texts = append(texts, text)
	}
	return texts
}
