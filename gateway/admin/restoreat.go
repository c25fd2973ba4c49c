package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lectern/backup"
	"lectern/contenttypes"
	"lectern/gateway/config"
	"lectern/internal/objects"
	"lectern/media"
	"lectern/store"
)

// A Restored says what RestoreAt has restored.
type Restored struct {
	Base    backup.Base
	Last    store.Position // behind the last entry that was applied
	Time    time.Time      // of that entry
	Entries int            // that were applied to the base
	Files   int
	Missing []string // uploaded files that documents name and the backup does not have
	Kept    string   // the directory with what was there before; "" if there was nothing
}

// RestoreAt replaces the store and the uploads by those of a point in time, from a backup that Ship has written.
// Otherwise it does what Restore does. progress may be nil.
func (d *Directory) RestoreAt(ctx context.Context, from objects.Store, m backup.PointInTime,
	progress func(entries int)) (done Restored, err error) {
	plan, err := backup.PlanFor(ctx, from, m)
	if err != nil {
		return done, err
	}
	done.Base, done.Last, done.Time = plan.Base, plan.Base.Position, plan.Base.Time
	done.Kept, err = d.replace(func(dir string, def *config.Definition) error {
		base, err := plan.OpenBase(ctx)
		if err != nil {
			return fmt.Errorf("read the base: %w", err)
		}
		if err := errors.Join(unpack(base, dir), base.Close()); err != nil {
			return fmt.Errorf("read the base after entry %s: %w", plan.Base.Position, err)
		}
		if err := applyPlan(ctx, plan, filepath.Join(dir, StoreName), def, &done, progress); err != nil {
			return err
		}
		return d.restoreFiles(ctx, plan, dir, def, &done)
	})
	return done, err
}

const (
	// appliedTogether and appliedBytes bound what a transaction applies.
	appliedTogether = 512
	appliedBytes    = 4 << 20
)

// applyPlan applies the entries of a plan to its base at path.
func applyPlan(ctx context.Context, plan *backup.Plan, path string, def *config.Definition, done *Restored,
	progress func(int)) (err error) {
	s := &def.Settings.Server
	r, err := store.OpenReplica(path, store.Options{LockTimeout: fileLockWait, NoUpgradeCopy: true, Log: s.Log.Limits(),
		Answers: s.Idempotency.Limits()})
	if err != nil {
		return fmt.Errorf("open the base: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if at := r.Position(); at != plan.Base.Position {
		return fmt.Errorf("the base is after entry %s, and its name says %s", at, plan.Base.Position)
	}
	var list []*store.Entry
	size := 0
	apply := func() error {
		if err := r.Apply(list...); err != nil {
			return fmt.Errorf("apply the log: %w", err)
		}
		if done.Entries += len(list); len(list) > 0 {
			done.Last, done.Time = r.Position(), list[len(list)-1].Time
		}
		list, size = list[:0], 0
		if progress != nil {
			progress(done.Entries)
		}
		return nil
	}
	for e, err := range plan.Entries(ctx) {
		if err != nil {
			return err
		}
		if list, size = append(list, e), size+e.Size(); len(list) == appliedTogether || size >= appliedBytes {
			if err := apply(); err != nil {
				return err
			}
		}
	}
	return apply()
}

// restoreFiles writes the uploaded files that the restored documents name below dir.
func (d *Directory) restoreFiles(ctx context.Context, plan *backup.Plan, dir string, def *config.Definition,
	done *Restored) error {
	typ := def.Model.Type(contenttypes.FileUID)
	if typ == nil {
		return nil
	}
	st, err := d.openRestored(filepath.Join(dir, StoreName), def)
	if err != nil {
		return err
	}
	var names []string
	err = st.View(func(s *store.Snapshot) error {
		names, err = media.LocalNames(s, typ, "")
		return err
	})
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	uploads, err := plan.Uploads(ctx, done.Last.Sequence)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(dir, UploadsName))
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		found, err := copyUpload(ctx, uploads, root, name)
		switch {
		case err != nil:
			return err
		case found:
			done.Files++
		default:
			done.Missing = append(done.Missing, name)
		}
	}
	return nil
}

// copyUpload writes one file durably. It reports whether the backup has it.
func copyUpload(ctx context.Context, uploads *backup.Uploads, root *os.Root, name string) (found bool, err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	found, err = uploads.Copy(ctx, name, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && !found {
		err = root.Remove(name)
	}
	return found, err
}
