package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A note says what is going on, so that it can be cleared up or finished when a crash comes between. It is durable before the
// first step that it is about, and removed after the last.
type note struct {
	Provider string `json:"provider"` // of the storage
	// Files are files that must be there if a document names them, and otherwise must not.
	Files []notedFile `json:"files"`
	// Removes says that their document is being removed.
	Removes bool `json:"removes,omitempty"`
	// Replace, when set, is what has been decided and remains to be done, from the first step on.
	Replace *replacement `json:"replace,omitempty"`
}

type notedFile struct {
	Hash  string   `json:"hash"` // of the document
	Names []string `json:"names"`
}

// A replacement is a new content for a file that there is.
type replacement struct {
	ID   uint64          `json:"id"`
	Data json.RawMessage `json:"data"` // of the document
	Put  []Stored        `json:"put"`
	Drop []string        `json:"drop"` // formats that the file has no more
}

const noteSuffix = ".note"

// note writes a note, and makes it and the names of all that lies in the spool durable. That of a removal is written on a full
// disk too.
func (l *Library) note(ctx context.Context, n note) (name string, err error) {
	text, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	name, err = l.newNote(text)
	switch {
	case err == nil:
		if err := l.spare.ensure(); err != nil {
			l.failed(err)
		}
	case noSpace(err) && n.Removes:
		return l.spare.take(ctx, text, err)
	}
	return name, err
}

func (l *Library) newNote(text []byte) (name string, err error) {
	f, err := l.spool.create()
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if _, err = f.finish(err); err != nil {
		return "", err
	}
	name = f.name + noteSuffix
	if err := f.root.Rename(f.name, name); err != nil {
		return "", errors.Join(err, l.spool.remove(f.name))
	}
	if err := syncDir(f.root, incoming); err != nil {
		return "", errors.Join(err, l.spool.remove(name))
	}
	return name, nil
}

// Recover finishes or clears away what was going on when the program ended without being able to. It may run while the
// library is in use, and looks only at what lay there when it was opened. Calls after the first have nothing to do.
func (l *Library) Recover(ctx context.Context) error {
	l.recovering.Lock()
	defer l.recovering.Unlock()
	var errs []error
	keep := map[string]bool{}
	for _, name := range l.left {
		if !strings.HasSuffix(name, noteSuffix) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := l.readNote(name)
		if err == nil && n != nil {
			err = l.settle(ctx, n)
		}
		if errors.Is(err, store.ErrRedefined) {
			return err
		}
		if err != nil { // try again at the next start
			errs = append(errs, fmt.Errorf("clear up after an interrupted upload: %w", err))
			keep[name] = true
			for _, f := range n.spooled() {
				keep[f] = true
			}
		}
	}
	for _, name := range l.left {
		if !keep[name] {
			errs = append(errs, l.spool.remove(name))
		}
	}
	l.left = nil
	return errors.Join(errs...)
}

// spooled lists the files in the spool that a note still needs.
func (n *note) spooled() (names []string) {
	if n != nil && n.Replace != nil {
		for _, f := range n.Replace.Put {
			names = append(names, f.Spooled)
		}
	}
	return names
}

// readNote reads a note. One that cannot be read was never finished, so that nothing had begun: it is nil.
func (l *Library) readNote(name string) (*note, error) {
	f, err := l.dir.root().Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	n := &note{}
	if json.Unmarshal(text, n) != nil {
		return nil, nil
	}
	return n, nil
}

// settle does what a note demands.
func (l *Library) settle(ctx context.Context, n *note) error {
	storage, err := l.storageOf(n.Provider)
	if err != nil {
		return err
	}
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	if n.Replace != nil {
		unlock, err := l.lock(ctx, n.Replace.ID)
		if err != nil {
			return err
		}
		defer unlock()
		if err := l.replace(ctx, storage, n.Replace, nil); err != nil && !isNotFound(err) {
			return err
		}
	}
	for _, f := range n.Files {
		unused, err := l.unused(f)
		if err != nil {
			return err
		}
		if err := storage.Delete(ctx, unused); err != nil {
			return err
		}
	}
	return nil
}

// replace carries out a replacement, of which some may have been done before.
func (l *Library) replace(ctx context.Context, storage Storage, r *replacement, show func(*store.Snapshot, store.Record) error) error {
	var put []Stored
	for _, f := range r.Put {
		if _, err := l.dir.root().Lstat(f.Spooled); err == nil {
			put = append(put, f)
		}
	}
	data, err := jsontree.Parse(r.Data, jsontree.MaxDepth)
	if err != nil {
		return err
	}
	object, ok := data.(*jsontree.Object)
	if !ok {
		return errors.New("a replacement's data is no object")
	}
	old, err := l.look(r.ID)
	if err != nil {
		return err
	}
	if err := storage.Put(ctx, put); err != nil {
		return err
	}
	err = l.documents.Update(ctx, documents.Write{Type: l.typ, DocumentID: old.documentID, Data: object, Access: permission.FullAccess, After: show})
	if err != nil {
		return err
	}
	return storage.Delete(ctx, r.Drop)
}

// unused returns those names of a noted file that no document has.
func (l *Library) unused(f notedFile) (names []string, err error) {
	err = l.store.View(func(s *store.Snapshot) error {
		hash, url, formats := l.typ.Attribute("hash"), l.typ.Attribute("url"), l.typ.Attribute("formats")
		var used []string
		s.Equal(l.typ, store.Published, "", hash, jsontree.AppendString(nil, f.Hash), func(r store.Record) bool {
			for _, name := range f.Names {
				if bytes.HasSuffix(r.JSON(url), []byte("/"+name+`"`)) || bytes.Contains(r.JSON(formats), []byte("/"+name+`"`)) {
					used = append(used, name)
				}
			}
			return true
		})
		for _, name := range f.Names {
			if !slices.Contains(used, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

func isNotFound(err error) bool {
	var told *apierror.Error
	return errors.As(err, &told) && told.Status == 404
}
