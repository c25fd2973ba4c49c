package consensus

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/raft"

	"lectern/store"
)

// A Record is what the files of a stopped node say about its cluster.
type Record struct {
	Peers     []Peer
	LastIndex uint64 // of Raft's log
}

// Read returns the Record of a stopped node.
func Read(c Config) (r Record, err error) {
	log, snaps, err := c.files()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if r.LastIndex, err = log.LastIndex(); err != nil {
		return r, err
	}
	if newest, err := snaps.newest(); err != nil {
		return r, err
	} else if newest != nil {
		r.LastIndex = max(r.LastIndex, newest.Index)
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(c.Address))
	configuration, err := raft.GetConfiguration(c.settings(), noopFSM{}, log, log, snaps, transport)
	if err != nil {
		return r, fmt.Errorf("read the nodes of the cluster: %w", err)
	}
	for _, s := range configuration.Servers {
		r.Peers = append(r.Peers, Peer{Name: string(s.ID), Address: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return r, nil
}

// recoveryGap is how far after the end of the node's log that of the recovered cluster begins. A lost node may have
// entries after that end, and may have applied them. If it comes back, its log must not have the index of an entry of
// the recovered cluster: the leader would take the contents of both for the same. So the leader finds a gap, and sends
// the node a copy, which replaces what the node has.
const recoveryGap = 1 << 32

// Recover makes a list of nodes those of the cluster, in the files of a stopped node, which must be one of them. It is
// for a cluster that has lost its majority for good. The machine applies all transactions of the node's log, also those
// to which the nodes may not have agreed. All other nodes get a copy of what it has then.
func Recover(c Config, peers []Peer) (err error) {
	log, snaps, err := c.files()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := snaps.restoreReceived(c.Machine); err != nil { // the new snapshot stands for what the machine has
		return err
	}
	var to raft.Configuration
	for _, p := range peers {
		suffrage := raft.Nonvoter
		if p.Voter {
			suffrage = raft.Voter
		}
		to.Servers = append(to.Servers, raft.Server{ID: raft.ServerID(p.Name), Address: raft.ServerAddress(p.Address),
			Suffrage: suffrage})
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(c.Address))
	snaps.machine, snaps.gap = durableMachine{c.Machine}, recoveryGap
	replayed := &replay{machine: c.Machine}
	err = raft.RecoverCluster(c.settings(), replayed, log, log, snaps, transport, to)
	if replayed.err != nil {
		err = replayed.err // Raft does not wrap it
	}
	if err != nil {
		return fmt.Errorf("make a configuration of the nodes that are left: %w", err)
	}
	return nil
}

// A durableMachine is a machine whose copy is not needed, because it has its state on disk.
type durableMachine struct{ Machine }

// Copy implements Machine.
func (durableMachine) Copy() (int64, io.ReadCloser, error) {
	return 0, io.NopCloser(strings.NewReader("")), nil
}

// A replay is a raft.FSM that gives a machine the transactions of the log after the last snapshot, which the machine
// has.
type replay struct {
	noopFSM
	machine Machine
	err     error // the first error of the machine
}

// Apply implements raft.FSM.
func (r *replay) Apply(l *raft.Log) any {
	if r.err == nil && l.Type == raft.LogCommand && len(l.Data) >= len(proposalID{}) {
		r.err = r.machine.Apply([]store.Transaction{{Index: l.Index, Data: l.Data[len(proposalID{}):]}})
	}
	return nil
}

// Snapshot implements raft.FSM. It fails if a transaction could not be applied, so that the log is kept.
func (r *replay) Snapshot() (raft.FSMSnapshot, error) {
	if r.err != nil {
		return nil, r.err
	}
	return r.noopFSM.Snapshot()
}
