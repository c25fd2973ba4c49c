package store

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// Several nodes of a cluster have the same content because they apply the same transactions in the same order. The
// store of the leader takes writes as that of a single server does. Before it commits a transaction, it proposes it to
// the other nodes: the entries of the log that the transaction adds, and the notes that it changes. Once the nodes have
// agreed to it, the transaction has an index in Raft's log. Each store keeps the index of the last transaction that it
// has applied. It writes the index in the same transaction, so that it applies none twice.

// ErrOutcome: it is not known whether the nodes of a cluster agree to the write, because the leader has lost its
// majority or its leadership.
var ErrOutcome = errors.New(
	"the leader of the cluster was lost while the nodes agreed to the write: its outcome is not known")

// ErrNotLeader: the store is that of a node that does not lead the cluster, and nothing was done.
var ErrNotLeader = errors.New("this node does not lead the cluster, and takes no writes")

// Propose proposes a transaction, which is encoded, to the nodes of a cluster. The writer goroutine calls it and waits.
//
// When it returns an Agreement, the transaction has its index and will be applied by all nodes. The error wraps
// ErrNotLeader if the transaction was not and will never be applied, and ErrOutcome if that is not known. After such an
// error a node that is still the leader must call Store.Lead. If the transaction was one of Redefine or Settle, the
// store refuses writes until then.
type Propose func(transaction []byte) (Agreement, error)

// An Agreement says that the nodes have agreed to a transaction. Committed must be called once the store has committed
// it, or could not.
type Agreement struct {
	Index     uint64 // see Transaction
	Committed func(error)
}

// A Transaction is one to which the nodes of a cluster have agreed.
type Transaction struct {
	Index uint64 // in Raft's log: greater than that of all earlier ones
	Data  []byte // as it was passed to Propose
}

// TransactionFormat grows with each change of what a Transaction holds, of the entries of the log, of conversions, and
// of the file, which nodes copy from one another. This version of the store writes it, and reads it and all earlier
// ones. Each of the four numbers has eight bits.
const TransactionFormat = logentry.TransactionVersion<<24 | int(Format)<<16 | evolve.Version<<8 | logentry.Version

// maxProposed is how many bytes a proposed transaction may have: Raft's log (raft-wal) stores entries of more than 64
// MiB, and then cannot read them.
const maxProposed = 60 << 20

// proposedTogether is how many bytes the transaction of several writes may have before it takes no further one.
const proposedTogether = 8 << 20

// proposes reports whether the transaction has to be proposed.
func (tx *Tx) proposes() bool { return tx.store.propose != nil && !tx.log.copying }

// propose has the nodes of the cluster agree to the transaction, if the store is that of a node. committed must be
// called with the error of the commit, and returns the error of the write.
func (tx *Tx) propose() (committed func(error) error, err error) {
	if !tx.proposes() {
		return func(err error) error { return err }, nil
	}
	proposal := &tx.log.proposal
	data := proposal.Append(make([]byte, 0, proposal.Size()))
	if len(data) > maxProposed {
		return nil, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxProposed>>20)
	}
	agreed, err := tx.store.propose(data)
	if err != nil {
		return nil, err
	}
	committed = func(err error) error {
		agreed.Committed(err)
		if err != nil { // the write must not be tried again: the node applies the transaction when it can
			return fmt.Errorf("%w (%v)", ErrOutcome, err)
		}
		return nil
	}
	if err := tx.store.guard(
		func() error { return putNumber(tx.bucket(format.Meta), format.KeyAppliedIndex, agreed.Index) }); err != nil {
		return nil, committed(err)
	}
	return committed, nil
}

// appliedIndex returns the index of the last transaction of the cluster that the content has.
func (f *file) appliedIndex() (index uint64, err error) {
	err = f.read(func(tx *bolt.Tx) error {
		index = getNumber(f.meta(tx), format.KeyAppliedIndex)
		return nil
	})
	return index, err
}

// ApplyTransactions applies transactions to which the nodes of a cluster have agreed. It skips those that the content
// has already. It also skips those that do not follow on the present state, as every other node does. If the store took
// writes, it takes none until the next Lead.
//
// Conversions change the definitions: see ApplyEntries.
func (s *Store) ApplyTransactions(ctx context.Context, list []Transaction) (redefined bool, err error) {
	err = s.byWriter(ctx, func() error {
		if err := s.health.err(); err != nil {
			return err
		}
		if err := s.stopLeading(); err != nil {
			return err
		}
		last, err := s.appliedIndex()
		if err != nil {
			return err
		}
		for len(list) > 0 && list[0].Index <= last {
			list = list[1:]
		}
		for len(list) > 0 {
			n, err := s.applyTransactions(list)
			if err != nil {
				return err
			}
			list = list[n:]
		}
		redefined = s.current.Load().pinned.Load() != nil
		return nil
	})
	return redefined, err
}

// stopLeading has the store take no writes. The writer goroutine calls it.
func (f *file) stopLeading() error {
	if f.applier != nil {
		return nil
	}
	f.leads.Store(false)
	c, err := f.loadConversion(Options{}) // what a transaction that was not committed has left in memory goes
	if err == nil {
		f.applier = &applier{file: f, conversion: c}
	}
	return err
}

// applyTransactions applies the first transactions of a list in one transaction of the store, and returns how many.
func (s *Store) applyTransactions(list []Transaction) (n int, err error) {
	err = s.guard(func() error {
		entries, notes, err := logentry.ParseTransaction(list[0].Data)
		if err != nil {
			return fmt.Errorf("apply transaction %d: %w", list[0].Index, err)
		}
		converts := isConversion(entries)
		_, stop, err := s.keepReading(converts)
		if err != nil {
			return err
		}
		defer stop()
		r := s.applier
		at := r.applied()
		return r.transaction(func(tx *Tx) (applied, error) {
			for {
				if at, err = r.applyTransaction(tx, list[n].Index, entries, notes, at); err != nil {
					return at, fmt.Errorf("apply transaction %d: %w", list[n].Index, err)
				}
				if n++; n == len(list) || converts ||
					tx.buffered() >= maxBuffered { // a conversion has transactions of its own
					return at, nil
				}
				if entries, notes, err = logentry.ParseTransaction(list[n].Data); err != nil || isConversion(entries) {
					return at, nil // the next call decodes it again
				}
			}
		})
	})
	return n, err
}

// applyTransaction applies one transaction of a cluster, or skips it if it does not follow on the present state.
func (r *applier) applyTransaction(tx *Tx, index uint64, entries []*Entry, notes []logentry.NoteChange,
	at applied) (applied, error) {
	meta := tx.bucket(format.Meta)
	if err := putNumber(meta, format.KeyAppliedIndex, index); err != nil {
		return at, err
	}
	if len(entries) > 0 && entries[0].Epoch == at.epoch && entries[0].Sequence > tx.sequence+1 {
		return at, fmt.Errorf("it follows on entry %d, and the store has only %d entries: %w", entries[0].Sequence-1,
			tx.sequence, errEntriesLost)
	}
	if !tx.continues(entries, at.epoch) {
		return at, nil
	}
	for _, e := range entries {
		if err := r.applyNext(tx, e, at); err != nil {
			return at, fmt.Errorf("entry %d: %w", e.Sequence, err)
		}
		at = applied{e.Epoch, e.WholeHash, e}
	}
	for _, n := range notes {
		if err := putNote(meta, n); err != nil {
			return at, err
		}
	}
	return at, nil
}

// errEntriesLost is the error for a transaction after a gap. A leader proposes a transaction after it has applied all
// to which the nodes had agreed before, and every node applies these first and in the same order. So there is a gap
// only if the store has lost entries.
var errEntriesLost = errors.New(
	"what is between them was lost; remove the data of this node, and let it join the cluster again")

// continues reports whether the entries of a transaction follow on the present state.
func (tx *Tx) continues(entries []*Entry, epoch Epoch) bool {
	if len(entries) == 0 {
		return true
	}
	e := entries[0]
	if e.Sequence != tx.sequence+1 || e.Epoch != epoch && e.Kind != EpochEntry {
		return false
	}
	tx.sequence++ // previousHash is of the entry before
	defer func() { tx.sequence-- }()
	return e.Previous == tx.previousHash()
}

// Lead has the store of a node take writes under the definitions of a model, and returns the Store for them, which may
// be the same. It first converts the content, as Open does, if an earlier leader has not finished that. The caller must
// have applied all transactions to which the nodes have agreed.
//
// If the error wraps ErrOutcome or ErrNotLeader, the node is no longer the leader; the store goes on by
// ApplyTransactions.
func (s *Store) Lead(ctx context.Context, model *contenttypes.Model, opts Options) (*Store, error) {
	unlock, err := s.schema.lockExclusive(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r := &redefinition{model: model, opts: opts, resume: true}
	err = s.byWriter(ctx, func() error {
		if err := s.health.err(); err != nil {
			return err
		}
		if err := s.stopLeading(); err != nil {
			return err
		}
		same := s.bound.model == model && s.pinned.Load() == nil && !s.applier.needs(model) && !s.applier.lacks(model)
		s.applier = nil // it does not know what the conversion changes
		if same {
			r.made = s
		} else if err := r.run(ctx, s); err != nil {
			return err
		}
		s.leads.Store(true)
		return nil
	})
	return r.made, err
}

// StopLeading has the store of a node take no writes, until Lead is called again.
func (s *Store) StopLeading(ctx context.Context) error {
	s.leads.Store(false)
	return s.byWriter(ctx, s.stopLeading)
}

// ResetAppliedIndex forgets the index of the last transaction, for a store that begins a new cluster. The store must
// not be open.
func ResetAppliedIndex(path string) error {
	db, err := openFile(path, Options{}, openThere)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return putNumber(newFile(db, path).meta(tx), format.KeyAppliedIndex, 0)
	})
	return errors.Join(err, db.Close())
}
