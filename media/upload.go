package media

import (
	"context"
	"errors"
	"fmt"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A prepared file is all that is known of it before it is stored.
type prepared struct {
	received
	storage   Storage
	ext, hash string
	url       string
	width     int // 0: it has no size
	height    int
	formats   []*format
	info      Info
}

// Add stores the files of a form and makes a document of each, linked from where the form says. show is called with each,
// in order, within the transaction; all of it may be called again, beginning with the first.
func (l *Library) Add(ctx context.Context, form *Form, access *permission.Access, show func(i int, s *store.Snapshot, r store.Record) error) error {
	if len(form.files) == 0 {
		return errEmpty
	}
	said, err := infos(form.parsed, len(form.files))
	if err != nil {
		return err
	}
	at, err := l.attachment(form.parsed, access)
	if err != nil {
		return err
	}
	files := make([]*prepared, len(form.files))
	defer func() {
		for _, f := range files {
			l.tidy(f)
		}
	}()
	writes := make([]documents.Write, len(files))
	for i, r := range form.files {
		files[i] = l.fresh(r, said[i])
		if err := l.examine(ctx, files[i]); err != nil {
			return err
		}
		writes[i] = documents.Write{Type: l.typ, Data: files[i].newData(), Access: permission.FullAccess,
			After: func(s *store.Snapshot, row store.Record) error { return show(i, s, row) }}
	}
	return l.keep(ctx, files, func() error { return l.documents.CreateAll(ctx, writes, at) })
}

// keep stores files and has their documents written. Where that fails, nothing of them stays.
func (l *Library) keep(ctx context.Context, files []*prepared, write func() error) error {
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	n, put := note{Provider: l.storage.Provider()}, []Stored(nil)
	for _, f := range files {
		list := f.stored()
		put = append(put, list...)
		n.Files = append(n.Files, notedFile{f.hash, namesOf(list)})
	}
	noted, err := l.note(ctx, n)
	if err != nil {
		return fmt.Errorf("note an upload: %w", err)
	}
	err = l.storage.Put(ctx, put)
	if err == nil {
		if err = write(); err != nil && !refused(err) {
			return err // whether it was written shows at the next start
		}
	}
	if err != nil {
		l.discard(context.WithoutCancel(ctx), removal{l.storage, namesOf(put), noted})
		return err
	}
	l.done(noted)
	return nil
}

// done removes the note of something that has come to its end.
func (l *Library) done(noted string) {
	if err := l.forget(noted); err != nil {
		l.failed(fmt.Errorf("remove the note of an upload: %w", err))
	}
}

// forget removes a note.
func (l *Library) forget(noted string) error {
	if mine, err := l.spare.giveBack(noted); mine {
		return err
	}
	return l.spool.remove(noted)
}

// refused reports whether a write has certainly not been done. After other errors nobody knows until the store is opened anew.
func refused(err error) bool {
	var told *apierror.Error
	return errors.As(err, &told) || errors.Is(err, store.ErrFull) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func namesOf(list []Stored) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return names
}

// Edit changes what is said of a file.
func (l *Library) Edit(ctx context.Context, id uint64, info Info, show func(*store.Snapshot, store.Record) error) error {
	unlock, err := l.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := l.look(id)
	if err != nil {
		return err
	}
	data := jsontree.NewObject()
	info.fill(data)
	return l.documents.Update(ctx, documents.Write{Type: l.typ, DocumentID: old.documentID, Data: data, Access: permission.FullAccess, After: show})
}

var (
	errSeveral   = apierror.Validation("Cannot replace a file with multiple ones")
	errOtherType = apierror.Application("A file can be replaced only by one of the same type: its url, and so its extension, stays")
	errNoEntity  = &apierror.Error{Status: 404, Name: "NotFoundError", Message: "Entity not found"}
	// ErrNoFile is what a client is told who asks for a file that is not there.
	ErrNoFile = &apierror.Error{Status: 404, Name: "NotFoundError", Message: "file.notFound"}
)

// Replace gives a file the content of the one that the form holds. Its id, documentId, hash, extension and url stay.
func (l *Library) Replace(ctx context.Context, id uint64, form *Form, show func(*store.Snapshot, store.Record) error) error {
	if len(form.files) > 1 {
		return errSeveral
	}
	said, err := infos(form.parsed, 1)
	if err != nil {
		return err
	}
	unlock, err := l.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := l.look(id)
	if err != nil {
		return err
	}
	storage, err := l.storageOf(old.provider)
	if err != nil {
		return err
	}
	f := l.fresh(form.files[0], said[0])
	defer func() { l.tidy(f) }()
	f.storage, f.hash, f.ext, f.url = storage, old.hash, old.ext, old.url
	if err := l.sameKind(f); err != nil {
		return err
	}
	if err := l.examine(ctx, f); err != nil {
		return err
	}
	put := f.stored()
	r := &replacement{ID: id, Data: jsontree.Append(nil, f.replacedData()), Put: put, Drop: old.without(namesOf(put))}
	done, err := l.unheld(ctx)
	if err != nil {
		return err
	}
	defer done()
	if h := l.store.Health(); h.State != store.Sound { // the content must not be replaced where the document cannot follow
		return h.Err
	}
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	// From the note on the replacement is decided, and must be finished.
	noted, err := l.note(ctx, note{Provider: old.provider, Replace: r, Files: []notedFile{{old.hash, append(namesOf(put), r.Drop...)}}})
	if err != nil {
		return fmt.Errorf("note a replacement: %w", err)
	}
	err = l.replace(context.WithoutCancel(ctx), storage, r, show)
	if err != nil && (documents.Unavailable(err) != nil || errors.Is(err, store.ErrClosed)) {
		f.formats = nil // the next start finishes it
		return err
	}
	l.done(noted)
	return err
}

// Delete removes a file: the document, with all links to it, and then its contents.
func (l *Library) Delete(ctx context.Context, id uint64, show func(*store.Snapshot, store.Record) error) error {
	unlock, err := l.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	var old existing
	err = l.store.View(func(s *store.Snapshot) error {
		var row store.Record
		if old, row, err = l.find(s, id); err != nil {
			return ErrNoFile
		}
		return show(s, row)
	})
	if err != nil {
		return err
	}
	storage, err := l.storageOf(old.provider)
	if err != nil {
		return err
	}
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	noted, err := l.note(ctx, note{Provider: old.provider, Files: []notedFile{{old.hash, old.names}}, Removes: true})
	if err != nil {
		return fmt.Errorf("note a removal: %w", err)
	}
	err = l.documents.Delete(ctx, documents.Write{Type: l.typ, DocumentID: old.documentID, Access: permission.FullAccess})
	switch {
	case err == nil:
		l.discard(context.WithoutCancel(ctx), removal{storage, old.names, noted})
	case refused(err):
		l.done(noted)
	}
	return err
}
