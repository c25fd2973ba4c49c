package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/durable"
	"lectern/internal/within"
	"lectern/jsontree"
	"lectern/store"
)

// An entry of the journal describes an operation on files before it begins, so that the next start can finish or undo
// it after a crash. It is durable before the first step of the operation and removed after the last.
type entry struct {
	Provider string `json:"provider"` // name of the storage
	// Files must exist if a document names them, and must be deleted otherwise.
	Files []entryFiles `json:"files"`
	// Removes is set if the operation deletes the document of Files.
	Removes bool `json:"removes,omitempty"`
	// Replace, if set, is a replacement that must be finished, whichever step the crash interrupted.
	Replace *replacement `json:"replace,omitempty"`
}

type entryFiles struct {
	Hash  string   `json:"hash"` // attribute hash of the document
	Names []string `json:"names"`
}

// A replacement gives an existing file another content.
type replacement struct {
	ID   uint64          `json:"id"`
	From string          `json:"from,omitempty"` // updatedAt of the document that is to change; "" in entries of older versions
	Data json.RawMessage `json:"data"`           // changes to the document
	Put  []Stored        `json:"put"`
	Drop []string        `json:"drop"` // names of formats that the new content does not have
}

const entrySuffix = ".note"

// writeEntry writes a journal entry and returns its name. The entry, and the names of all files in the spool, are
// durable then. The entry of a removal can be written even if the disk is full.
func (l *Library) writeEntry(ctx context.Context, n entry) (name string, err error) {
	text, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	name, err = l.newEntry(text)
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

func (l *Library) newEntry(text []byte) (name string, err error) {
	f, err := l.spool.create()
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if _, err = f.finish(err); err != nil {
		return "", err
	}
	name = f.name + entrySuffix
	if err := f.root.Rename(f.name, name); err != nil {
		return "", errors.Join(err, l.spool.remove(f.name))
	}
	if err := durable.SyncIn(f.root, incoming); err != nil {
		return "", errors.Join(err, l.spool.remove(name))
	}
	return name, nil
}

// Recover finishes or undoes the operations that the last run of the program left unfinished. It may run while the
// library is in use: it handles only the files that were in the spool when the library was opened. Later calls do
// nothing.
func (l *Library) Recover(ctx context.Context) error {
	l.recovering.Lock()
	defer l.recovering.Unlock()
	var errs []error
	keep, unread := map[string]bool{}, false
	for _, name := range l.left {
		if !strings.HasSuffix(name, entrySuffix) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := l.readEntry(name)
		if err == nil && n != nil {
			err = l.finish(ctx, n)
		}
		if errors.Is(err, store.ErrRedefined) {
			return err
		}
		if errors.Is(err, errForeign) {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if err != nil { // the next start tries again
			errs = append(errs, fmt.Errorf("clear up after an interrupted upload: %w", err))
			keep[name], unread = true, unread || n == nil
			for _, f := range n.spooled() {
				keep[f] = true
			}
		}
	}
	for _, name := range l.left {
		mayBeNeeded := unread &&
			!strings.HasSuffix(name, entrySuffix) // an entry that could not be read may need any file in the spool
		if !keep[name] && !mayBeNeeded {
			errs = append(errs, l.spool.remove(name))
		}
	}
	l.left = nil
	return errors.Join(errs...)
}

// spooled returns the names of the files in the spool that an entry still needs.
func (n *entry) spooled() (names []string) {
	if n != nil && n.Replace != nil {
		for _, f := range n.Replace.Put {
			names = append(names, f.Spooled)
		}
	}
	return names
}

// errForeign: an entry names files that no library names. Somebody has put it there, perhaps to have files removed.
var errForeign = errors.New(
	"the note of an interrupted upload names files that are none of an upload; it is removed, and nothing is done")

// check returns errForeign unless an entry names only uploaded files, and contents in the spool.
func (n *entry) check() error {
	var names []string
	for _, f := range n.Files {
		names = append(names, f.Names...)
	}
	if n.Replace != nil {
		names = append(names, n.Replace.Drop...)
		for _, f := range n.Replace.Put {
			if dir, name := path.Split(f.Spooled); dir != incoming+"/" || !isStoredName(name) ||
				strings.HasSuffix(name, entrySuffix) {
				return errForeign
			}
			names = append(names, f.Name)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return !isStoredName(name) }) {
		return errForeign
	}
	return nil
}

// readEntry reads an entry. It returns nil for an incomplete one, which was interrupted before its operation began.
func (l *Library) readEntry(name string) (*entry, error) {
	f, err := within.OpenIn(l.dir.root(), name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	n := &entry{}
	if json.Unmarshal(text, n) != nil {
		return nil, nil
	}
	return n, n.check()
}

// finish finishes the operation of an entry, or undoes it.
func (l *Library) finish(ctx context.Context, n *entry) error {
	storage, err := l.storageOf(n.Provider)
	if err != nil {
		return err
	}
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, ok := storage.(*onNodes); n.Replace != nil &&
		!ok { // the files of nodes are replaced in the transaction of the document
		unlock, err := l.lock(ctx, n.Replace.ID)
		if err != nil {
			return err
		}
		defer unlock()
		old, err := l.look(n.Replace.ID)
		if err == nil && (n.Replace.From == "" ||
			n.Replace.From == old.updated) { // else it is done, or another has followed, which must stay
			err = l.replace(ctx, storage, n.Replace, nil)
		}
		if err != nil && !isNotFound(err) {
			return err
		}
	}
	for _, f := range n.Files {
		unused, err := l.unused(ctx, f)
		if err != nil {
			return err
		}
		if err := storage.Delete(ctx, unused); err != nil {
			return err
		}
		l.forgetVariants(unused...)
	}
	return nil
}

// errPartStored: some files of a replacement are stored, and others perhaps not.
var errPartStored = errors.New(
	"the replacement of a file is not complete; the next start finishes it, unless the file is changed before")

// replace carries out a replacement. It may be called after an interrupted replacement: steps that were done are done
// again or skipped.
func (l *Library) replace(ctx context.Context, storage Storage, r *replacement,
	show func(*store.Snapshot, store.Record) error) error {
	var put []Stored
	for _, f := range r.Put {
		switch _, err := l.dir.root().Lstat(f.Spooled); {
		case err == nil:
			put = append(put, f)
		case !errors.Is(err, fs.ErrNotExist):
			return err
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
	putFiles := func() ([]documents.Note,
		error) { // not before the hooks have accepted it: the earlier content is gone then
		notes, err := l.put(ctx, storage, put)
		l.forgetVariants(namesOf(put)...)
		if _, ok := storage.(*onNodes); err != nil && !ok && !errors.Is(err, errNoneStored) {
			err = fmt.Errorf("%w: %w", errPartStored, err)
		}
		return append(notes, unlisted(storage, r.Drop)...), err
	}
	err = l.documents.Update(ctx, documents.Write{Type: l.typ, DocumentID: old.documentID, Data: object,
		Access: permission.FullAccess, Ready: putFiles, After: show})
	if err != nil {
		return err
	}
	l.place(ctx, storage, namesOf(put))
	err = storage.Delete(ctx, r.Drop)
	l.forgetVariants(r.Drop...)
	return err
}

// unused returns the names in f that no document has. The document with the hash in f has them, as a rule. If it does
// not, all documents are asked: an entry does not have a file removed that another document names.
func (l *Library) unused(ctx context.Context, f entryFiles) (names []string, err error) {
	err = l.store.View(func(s *store.Snapshot) error {
		hash, url, formats := l.typ.Attribute("hash"), l.typ.Attribute("url"), l.typ.Attribute("formats")
		var used []string
		s.Equal(l.typ, store.Published, "", hash, jsontree.AppendString(nil, f.Hash), func(r store.Record) bool {
			for _, name := range f.Names {
				if bytes.HasSuffix(r.JSON(url), []byte("/"+name+`"`)) ||
					bytes.Contains(r.JSON(formats), []byte("/"+name+`"`)) {
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
		if len(names) == 0 {
			return nil
		}
		return s.Each(&store.Query{Type: l.typ, Limit: -1}, func(int64) error { return nil },
			func(rows []store.Record) error {
				for _, row := range rows {
					used := existingIn(l.typ, row).names
					names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(used, name) })
				}
				return ctx.Err()
			})
	})
	return names, err
}

func isNotFound(err error) bool {
	var refusal *apierror.Error
	return errors.As(err, &refusal) && refusal.Status == 404
}
