package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/internal/durable"
	"lectern/store"
)

// Promote makes a replica an origin: it no longer follows, and takes writes at the next start. Its content begins a new
// epoch, so that replicas which have followed it, or its origin, begin anew with a copy. partial allows that it is a
// partial replica, which then has all that there is. No server may run on the data directory.
func Promote(o Options, partial bool) (err error) {
	d := dir{o.Dir, o.Data}
	lock, err := admin.Lock(d.data)
	if errors.Is(err, admin.ErrBusy) {
		return admin.BusyError(d.data)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	switch r, err := config.ReadReplica(o.Dir); {
	case err != nil:
		return err
	case r.URL != "":
		return fmt.Errorf("config/server.yaml says that %s follows %s: remove replica there first", o.Dir, r.URL)
	}
	switch origin, err := d.origin(); {
	case err != nil:
		return err
	case origin == "":
		return fmt.Errorf("%s is no replica", o.Dir)
	}
	// A conversion that the origin had begun is finished by the next start.
	if err := d.restore(o.Load); err != nil && !errors.Is(err, store.ErrOtherDefinitions) {
		return err
	}
	r, err := store.OpenReplica(d.store(), store.Options{LockTimeout: lockTimeout})
	if err != nil {
		return err
	}
	if !partial && !r.Part().All() {
		return errors.Join(fmt.Errorf("%s has a part of the content of its origin: to make that part all that there "+
			"is, promote it with --partial", o.Dir), r.Close())
	}
	// before the mark goes: a write without a new epoch could never be told apart
	if err := errors.Join(r.BeginEpoch(), r.Close()); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(d.data, admin.UploadsName, replication.Fetched)); err != nil {
		return err
	}
	if err := os.Remove(d.path(admin.ReplicaMarkName)); err != nil {
		return err
	}
	return durable.SyncDir(d.path(""))
}
