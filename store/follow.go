package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// ErrOtherDefinitions: the content of a replica does not have the definitions of the model.
var ErrOtherDefinitions = errors.New("the content of the replica has other definitions")

// A ReplicaError is the error of writes to a replica. Nothing was done.
type ReplicaError struct {
	Origin string // see Options.Origin
}

func (e *ReplicaError) Error() string {
	return "this is a replica, which takes no writes: send them to " + e.Origin
}

// refused returns a *ReplicaError if the store is a replica, and ErrNotLeader if it is that of a node that does not lead.
func (f *file) refused() error {
	if f.propose != nil && !f.leads.Load() {
		return ErrNotLeader
	}
	if origin := f.origin.Load(); origin != nil {
		return &ReplicaError{*origin}
	}
	return nil
}

// FollowsAnother reports whether a write failed because the content of the store comes from another: it is a replica, or a node that does not lead.
func FollowsAnother(err error) bool {
	var replica *ReplicaError
	return errors.As(err, &replica) || errors.Is(err, ErrNotLeader)
}

// loadReplica is load for a replica, which must have the definitions of the model already. The Store of a node whose content is half converted has
// the definitions that are stored.
func (f *file) loadReplica(model *contenttypes.Model, opts Options) (*Store, error) {
	c, err := f.loadConversion(opts)
	if err != nil {
		return nil, err
	}
	f.follower = &applier{file: f, conversion: c}
	bound, err := f.follower.bindTo(model)
	if errors.Is(err, ErrOtherDefinitions) && f.propose != nil {
		bound, err = bindStored(c.catalog) // until Adopt or Lead
	}
	if err != nil {
		return nil, err
	}
	if opts.Origin != "" {
		f.origin.Store(&opts.Origin)
	}
	return f.newStore(bound), nil
}

// needs reports whether the content has to be converted for a model.
func (r *applier) needs(model *contenttypes.Model) bool {
	return len(r.conversion.pending.Steps) > 0 || evolve.Changed(model, r.conversion.catalog)
}

// lacks reports whether content with the definitions of a model lacks an index. The leader of a cluster or a promoted replica builds it.
func (r *applier) lacks(model *contenttypes.Model) bool {
	return evolve.Converts(model, r.conversion.catalog)
}

// bindTo binds a model to the catalog. It returns ErrOtherDefinitions if they differ, or if the content is half converted.
func (r *applier) bindTo(model *contenttypes.Model) (*binding, error) {
	if r.needs(model) {
		return nil, ErrOtherDefinitions
	}
	catalog, err := r.conversion.catalog.Clone()
	if err != nil {
		return nil, err
	}
	return bind(model, catalog)
}

// ApplyEntries applies entries of the origin's log to a replica, as Replica.Apply does.
//
// The entries of conversions change the definitions. Readers then continue to see the content as it was before, and redefined is true: the
// replica has to be given the Model of the new definitions by Adopt. Entries may be applied in between.
func (s *Store) ApplyEntries(ctx context.Context, list []*Entry) (redefined bool, err error) {
	err = s.byWriter(ctx, func() error {
		if err := s.health.err(); err != nil {
			return err
		}
		if s.follower == nil {
			return errNoReplica
		}
		var stop func()
		if redefined, stop, err = s.keepReading(isConversion(list)); err != nil {
			return err
		}
		defer stop()
		return s.follower.apply(list)
	})
	return redefined, err
}

// isConversion reports whether one of the entries is that of a conversion.
func isConversion(list []*Entry) bool {
	return slices.ContainsFunc(list, func(e *Entry) bool { return e.Kind == ConversionEntry })
}

// keepReading keeps the content as it is readable if a conversion is to be applied, and goes on with that until Adopt or Lead. stop must be called
// when the entries at hand are applied. redefined reports whether readers see the content as it was before a conversion.
func (s *Store) keepReading(converts bool) (redefined bool, stop func(), err error) {
	pinned := s.current.Load().pinned.Load()
	if pinned == nil && converts {
		if pinned, err = s.current.Load().pin(maxPinned()); err != nil {
			return false, nil, err
		}
	}
	if pinned == nil {
		return false, func() {}, nil
	}
	stuck := time.AfterFunc(stuckAfter, pinned.empty) // see redefinition.run
	return true, func() { stuck.Stop() }, nil
}

var errNoReplica = errors.New("the store is no replica")

// Adopt returns the Store of a replica for the definitions that its content has by now. It returns ErrOtherDefinitions if they are not
// those of the model, and nothing has changed then. Afterwards this Store returns ErrRedefined.
func (s *Store) Adopt(ctx context.Context, model *contenttypes.Model) (made *Store, err error) {
	unlock, err := s.schema.lockExclusive(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = s.byWriter(ctx, func() error {
		switch {
		case s.follower == nil:
			return errNoReplica
		case s.current.Load() != s:
			return ErrRedefined
		}
		bound, err := s.follower.bindTo(model)
		if err != nil {
			return err
		}
		pinned := s.pinned.Load()
		if pinned == nil {
			if pinned, err = s.pin(0); err != nil {
				return err
			}
		}
		made = s.newStore(bound)
		pinned.retire()
		return nil
	})
	return made, err
}

// Abandon makes the Store return ErrRedefined from now on, because another file takes the place of this one. The caller must still Close
// the store.
func (s *Store) Abandon(ctx context.Context) error {
	return s.byWriter(ctx, func() error {
		pinned := s.pinned.Load()
		if pinned == nil {
			var err error
			if pinned, err = s.pin(0); err != nil {
				return err
			}
		}
		s.until.Store(-1)
		pinned.retire()
		return nil
	})
}

// Following returns the position of a replica's content: behind the last entry that was applied.
func (s *Store) Following(ctx context.Context) (p Position, err error) {
	err = s.byWriter(ctx, func() error {
		p = Position{s.log.epoch, s.revised.Load()}
		return nil
	})
	return p, err
}

// Fits returns ErrOtherDefinitions if the content of the replica does not have the definitions of the model.
func (r *Replica) Fits(model *contenttypes.Model) error {
	_, err := r.bindTo(model)
	return err
}
