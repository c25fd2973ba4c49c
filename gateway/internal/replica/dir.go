package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/internal/backoff"
	"lectern/internal/durable"
	"lectern/store"
)

// A dir is the directory replica/ in the data directory of a replica. It has
//
//	origin.json   the address of the origin: the mark of a replica
//	served.json   the definition files that are served
//	next.json     the newest definition files of the origin, until they are served
//	in-step       empty; its time is when the content was last that of the origin, within inStepInterval
//
// The files of the project are written from served.json, or from next.json if the content has those definitions
// already: a replica may be killed between the entry of the log that changes the definitions and the renaming of
// next.json.
type dir struct {
	project string // the directory of the project
	data    string // the data directory
}

const (
	servedFile = "served.json"
	nextFile   = "next.json"
	inStepFile = "in-step"
)

func (d dir) path(name string) string { return filepath.Join(d.data, admin.ReplicaName, name) }

func (d dir) store() string { return filepath.Join(d.data, admin.StoreName) }

// origin returns the address of the origin, "" if the data directory is not that of a replica.
func (d dir) origin() (string, error) {
	return (&admin.Directory{Dir: d.project, Data: d.data}).Origin()
}

// mark makes the data directory that of a replica of the server at an address.
func (d dir) mark(origin string) error {
	text, err := json.Marshal(admin.ReplicaMark{Origin: origin})
	if err != nil {
		return err
	}
	return replication.WriteFile(d.path(admin.ReplicaMarkName), text)
}

// inStep returns when the content was last that of the origin; the zero Time if that was never noted.
func (d dir) inStep() time.Time {
	info, err := os.Stat(d.path(inStepFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// noteInStep notes that the content is that of the origin now.
func (d dir) noteInStep() error {
	now := time.Now()
	if err := os.Chtimes(d.path(inStepFile), now, now); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(d.path(inStepFile), nil, 0o600)
}

// keep stores definition files under a name.
func (d dir) keep(name string, files *replication.Definitions) error {
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return replication.WriteFile(d.path(name), text)
}

// nextIsServed records that the files of next.json are served.
func (d dir) nextIsServed() error {
	if err := os.Rename(d.path(nextFile), d.path(servedFile)); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(d.path(servedFile)))
}

// place makes a complete copy of the origin's store, with its definition files, the content of the replica.
func (d dir) place(copied string, files *replication.Definitions) error {
	if err := d.keep(nextFile, files); err != nil {
		return err
	}
	if err := os.Rename(copied, d.store()); err != nil {
		return err
	}
	return durable.SyncDir(d.data)
}

// restore writes the files of the project that fit the content. It returns store.ErrOtherDefinitions if there are none.
func (d dir) restore(load func() (*config.Definition, error)) error {
	var refused error
	for _, name := range []string{servedFile, nextFile} {
		text, err := os.ReadFile(d.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		files, err := replication.ParseDefinitions(text)
		if err != nil {
			return err
		}
		if err := files.Unpack(d.project); err != nil {
			return err
		}
		def, err := load()
		if err != nil {
			refused = err
			continue
		}
		switch err := d.fits(def); {
		case err == nil && name == nextFile:
			return d.nextIsServed()
		case !errors.Is(err, store.ErrOtherDefinitions):
			return err
		}
	}
	if refused != nil {
		return refused
	}
	return store.ErrOtherDefinitions
}

// fits returns store.ErrOtherDefinitions if the content has other definitions.
func (d dir) fits(def *config.Definition) error {
	r, err := store.OpenReplica(d.store(), store.Options{LockTimeout: lockTimeout})
	if err != nil {
		return err
	}
	return errors.Join(r.Fits(def.Model), r.Close())
}

// copyName is the name of a copy of the origin's store while it arrives. A store that is opened removes what is left of
// one.
const copyName = admin.StoreName + ".copy.new"

// Prepare makes the data directory that of a replica that can be opened. The first time, it copies the origin.
func Prepare(ctx context.Context, o Options) error {
	lock, err := admin.Lock(o.Data)
	if errors.Is(err, admin.ErrBusy) {
		return admin.BusyError(o.Data)
	}
	if err != nil {
		return err
	}
	err = dir{o.Dir, o.Data}.prepare(ctx, o)
	return errors.Join(err, lock.Release())
}

// lockTimeout is how long a replica waits for the lock of a store that it has not open.
const lockTimeout = 20 * time.Millisecond

func (d dir) prepare(ctx context.Context, o Options) error {
	follows, err := d.origin()
	if err != nil {
		return err
	}
	_, missing := os.Stat(d.store())
	if missing == nil && follows == "" {
		return fmt.Errorf("%s has content of its own: take another directory for the replica, or remove replica "+
			"from config/server.yaml if it has it", d.project)
	}
	if missing == nil {
		if err := d.restore(o.Load); !errors.Is(err, store.ErrOtherDefinitions) {
			return err
		}
		o.Log.Warn("the replica was stopped while its content was converted to changed definitions, or is of "+
			"another version than before; "+
			"it begins anew with a copy, and serves when the origin has sent it",
			"origin", o.URL)
	}
	if err := d.mark(o.URL); err != nil {
		return err
	}
	if err := d.copyOrigin(ctx, o); err != nil {
		return err
	}
	return d.restore(o.Load)
}

// copyOrigin copies the store and the definition files of the origin. It tries again as long as the origin cannot be
// reached.
func (d dir) copyOrigin(ctx context.Context, o Options) error {
	origin, err := o.origin()
	if err != nil {
		return err
	}
	defer origin.Close()
	retry := backoff.New()
	for {
		copied := filepath.Join(d.data, copyName)
		files, err := origin.Copy(ctx, copied, func(int64) {})
		if err == nil {
			return errors.Join(d.place(copied, files), d.noteInStep())
		}
		var refused *replication.RefusedError
		if ctx.Err() != nil || errors.As(err, &refused) {
			return fmt.Errorf("copy %s: %w", o.URL, err)
		}
		o.Log.Warn("the origin cannot be copied yet", "origin", o.URL, "error", err)
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
}
