package filesync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"lectern/gateway/internal/paced"
	"lectern/gateway/internal/replication"
	"lectern/internal/within"
	"lectern/media"
)

const (
	// scrubEvery is the time from the beginning of one pass over all files to the next.
	scrubEvery = 24 * time.Hour
	// scrubRate is how many bytes of files are read in a second at most, so that requests hardly notice.
	scrubRate = 8 << 20
)

// Damage counts files whose content on the disk of this node was not what the store lists.
type Damage struct {
	Found, Repaired atomic.Uint64
}

// Scrub reads the files of this node, each once a day and the first time soon after the start, until ctx ends. A disk
// may damage a file without anybody noticing; Scrub replaces such a file by the content that another node has.
func (f *NodeFiles) Scrub(ctx context.Context) {
	tick := time.NewTicker(scrubEvery)
	defer tick.Stop()
	pace := paced.NewPace(scrubRate)
	for {
		if err := f.scrub(ctx, pace); err != nil && ctx.Err() == nil {
			f.options.Log.Error("the uploaded files of the node could not all be checked, and will be tomorrow",
				"error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// scrub makes one pass.
func (f *NodeFiles) scrub(ctx context.Context, pace *paced.Pace) error {
	library := f.options.Library()
	if library == nil {
		return nil // upload is switched off
	}
	_, list, err := f.list(func(string) bool { return true })
	errs := []error{err}
	for _, file := range list {
		damage := f.verify(ctx, &file, pace)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if damage == nil {
			continue
		}
		f.Damage.Found.Add(1)
		f.options.Log.Error("an uploaded file is damaged on the disk of this node", "file", file.Name, "error", damage)
		if err := f.repair(ctx, library, &file); err != nil {
			errs = append(errs, fmt.Errorf("replace the damaged file %s: %w", file.Name, err))
			continue
		}
		f.Damage.Repaired.Add(1)
		f.options.Log.Info("a damaged file was replaced by the content that another node has", "file", file.Name)
	}
	return errors.Join(errs...)
}

// verify returns why a file that is in place is damaged, nil if it is not. Run cares for those that are not in place.
func (f *NodeFiles) verify(ctx context.Context, file *replication.File, pace *paced.Pace) error {
	in, err := within.Open(f.options.Uploads, file.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !file.Same(info) {
		return err
	}
	sum, err := replication.Checksum(io.TeeReader(in, pace.Writer(ctx, io.Discard)))
	if err == nil && sum != file.SHA256 {
		err = replication.ErrDamaged
	}
	return err
}

// repair puts the content that another node has in the place of a damaged one. The damaged one stays until then.
func (f *NodeFiles) repair(ctx context.Context, library *media.Library, file *replication.File) error {
	if err := f.fetch(ctx, file, f.stage); err != nil {
		return err
	}
	return library.Change(ctx, []string{file.Name}, func() error {
		_, err := f.placeStaged(file.Name, file, true) // not done if the file has another content by now
		return err
	})
}
