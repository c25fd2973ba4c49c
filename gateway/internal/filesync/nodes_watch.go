package filesync

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"lectern/gateway/internal/replication"
	"lectern/internal/backoff"
	"lectern/internal/within"
	"lectern/media"
	"lectern/store"
)

// Wake has Run look at the notes soon.
func (f *NodeFiles) Wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// Run keeps the files as the store lists them, until ctx ends.
func (f *NodeFiles) Run(ctx context.Context) {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	retry, all := backoff.New(), true
	for {
		err := f.look(ctx, all)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.options.Log.Warn("the node does not have all uploaded files yet", "error", err)
			if retry.Wait(ctx) != nil {
				return
			}
			continue
		}
		retry = backoff.New()
		select {
		case <-f.woken:
			all = false
		case <-tick.C:
			all = true
		case <-ctx.Done():
			return
		}
	}
}

// look puts in place what has changed in the store since the last look, and with all everything, and removes what is
// not listed any more.
func (f *NodeFiles) look(ctx context.Context, all bool) error {
	library := f.options.Library()
	if library == nil {
		return nil // upload is switched off
	}
	seen, list, err := f.list(func(seen string) bool { return all || seen != f.compare })
	if err != nil || list == nil {
		return err
	}
	var errs []error
	for name, file := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !all && sameFile(f.placed[name], file) {
			continue
		}
		err := f.put(ctx, library, &file)
		if err == nil {
			f.placed[name] = file
		}
		errs = append(errs, err)
	}
	for name := range f.placed {
		if _, ok := list[name]; !ok {
			errs = append(errs, f.drop(ctx, library, name))
			delete(f.placed, name)
		}
	}
	if all {
		errs = append(errs, f.sweep(ctx, library, list))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	f.compare = seen
	return nil
}

// list returns the files that the store lists, and the note that changes with them. The list is nil unless they are
// wanted.
func (f *NodeFiles) list(wanted func(seen string) bool) (seen string, list map[string]replication.File, err error) {
	err = f.options.Store().View(func(s *store.Snapshot) error {
		if seen = string(s.Note(filesNote)); !wanted(seen) {
			return nil
		}
		list = map[string]replication.File{}
		for name, raw := range s.Notes(fileNote) {
			file, err := parseFile(raw)
			if err != nil {
				return err
			}
			list[name[len(fileNote):]] = *file
		}
		return nil
	})
	return seen, list, err
}

// Complete implements media.Nodes.
func (f *NodeFiles) Complete(ctx context.Context) error {
	_, list, err := f.list(func(string) bool { return true })
	if err != nil {
		return err
	}
	for name := range list {
		if _, err := within.Lstat(f.options.Uploads, name); err == nil {
			continue
		}
		if err := f.Place(ctx, []string{name}); err != nil {
			return err
		}
	}
	return nil
}

// put puts a file in place.
func (f *NodeFiles) put(ctx context.Context, library *media.Library, file *replication.File) error {
	if f.inPlace(file) {
		return nil
	}
	return library.Change(ctx, []string{file.Name}, func() error { return f.Place(ctx, []string{file.Name}) })
}

// drop removes a file that the store does not list.
func (f *NodeFiles) drop(ctx context.Context, library *media.Library, name string) error {
	return library.Change(ctx, []string{name}, func() error { return f.Place(ctx, []string{name}) })
}

// sweep removes files that are not listed, and contents that have been staged for too long.
func (f *NodeFiles) sweep(ctx context.Context, library *media.Library, list map[string]replication.File) error {
	err := each(f.options.Uploads, func(_ *os.Root, name string, _ fs.FileInfo) error {
		if _, ok := list[name]; ok {
			return nil
		}
		return f.drop(ctx, library, name)
	})
	if failed := within.Do(f.options.Uploads, sweepStaged); !errors.Is(failed, fs.ErrNotExist) {
		err = errors.Join(err, failed)
	}
	return err
}

// sweepStaged removes contents that have been staged for too long.
func sweepStaged(uploads *os.Root) error {
	staged, err := fs.ReadDir(uploads.FS(), stagedName)
	for _, e := range staged {
		if info, gone := e.Info(); gone == nil && time.Since(info.ModTime()) > maxStaged {
			err = errors.Join(err, uploads.Remove(path.Join(stagedName, e.Name())))
		}
	}
	return err
}

// ListAll writes notes of the uploaded files that a node has when it begins a cluster with its content.
func ListAll(ctx context.Context, st *store.Store, uploads string) error {
	var sums Sums
	list, err := sums.List(ctx, uploads)
	if err != nil {
		return err
	}
	return st.Write(ctx, func(tx *store.Tx) error {
		var former []string // of another cluster
		for name := range tx.Notes(fileNote) {
			former = append(former, name)
		}
		for _, name := range former {
			if err := tx.DeleteNote(name); err != nil {
				return err
			}
		}
		for i := range list {
			text, err := json.Marshal(&list[i])
			if err == nil {
				err = tx.PutNote(fileNote+list[i].Name, text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
