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

// Add stores the files of a form and creates a document for each, linked to the entry that the form names. show is
// called with each document, in order, within the transaction. If the transaction is retried, show is called for all of
// them again from the first. once may be nil, as for Edit and Delete; see store.WriteOnce.
func (l *Library) Add(ctx context.Context, once *store.Once, form *Form, access *permission.Access,
	show func(i int, s *store.Snapshot, r store.Record) error) error {
	if len(form.files) == 0 {
		return errEmpty
	}
	said, err := form.infos(len(form.files))
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
	return l.storeAll(ctx, files, func(notes []documents.Note) error {
		writes[0].Notes, writes[0].Once = notes, once
		err := l.documents.CreateAll(ctx, writes, at)
		if errors.Is(err, documents.ErrNoRow) { // it was deleted meanwhile
			return errNoEntry(at.Type.UID, at.Row)
		}
		return err
	})
}

// storeAll stores files and calls write to create their documents, with notes. If that fails, it deletes the files.
func (l *Library) storeAll(ctx context.Context, files []*prepared, write func([]documents.Note) error) error {
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	n, put := entry{Provider: l.storage.Provider()}, []Stored(nil)
	for _, f := range files {
		list := f.stored()
		put = append(put, list...)
		n.Files = append(n.Files, entryFiles{f.hash, namesOf(list)})
	}
	entryName, err := l.writeEntry(ctx, n)
	if err != nil {
		return fmt.Errorf("write the journal entry of an upload: %w", err)
	}
	notes, err := l.put(ctx, l.storage, put)
	if err == nil {
		if err = write(notes); err != nil && !refused(err) {
			return err // the next start finds out whether it was written
		}
	}
	if err != nil {
		l.discard(context.WithoutCancel(ctx), removal{l.storage, namesOf(put), entryName})
		return err
	}
	l.place(ctx, l.storage, namesOf(put))
	for _, f := range files {
		l.count(f)
	}
	l.done(entryName)
	return nil
}

// done removes the journal entry of a finished operation, and logs if that fails.
func (l *Library) done(entryName string) {
	if err := l.forget(entryName); err != nil {
		l.failed(fmt.Errorf("remove the journal entry of an upload: %w", err))
	}
}

// forget removes a journal entry.
func (l *Library) forget(entryName string) error {
	if mine, err := l.spare.giveBack(entryName); mine {
		return err
	}
	return l.spool.remove(entryName)
}

// refused reports whether a write was certainly not done. After any other error that is unknown until the store is
// opened again.
func refused(err error) bool {
	var refusal *apierror.Error
	var before *store.CarriedOutError
	return errors.As(err, &refusal) || errors.As(err, &before) || errors.Is(err, store.ErrFull) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func namesOf(list []Stored) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return names
}

// Edit changes the fields of a file's document that clients may set.
func (l *Library) Edit(ctx context.Context, once *store.Once, id uint64, info Info,
	show func(*store.Snapshot, store.Record) error) error {
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
	return l.documents.Update(ctx, documents.Write{Type: l.typ, DocumentID: old.documentID, Data: data,
		Access: permission.FullAccess, After: show, Once: once})
}

var (
	errSeveral   = apierror.Validation("Cannot replace a file with multiple ones")
	errOtherType = apierror.Application(
		"A file can be replaced only by one of the same type: its url, and so its extension, stays")
	errNoEntity = &apierror.Error{Status: 404, Name: "NotFoundError", Message: "Entity not found"}
	// ErrNoFile is the answer to a request for a file that does not exist.
	ErrNoFile = &apierror.Error{Status: 404, Name: "NotFoundError", Message: "file.notFound"}
)

// Replace gives a file the content of the one in the form. Its id, documentId, hash, extension and URL stay.
func (l *Library) Replace(ctx context.Context, id uint64, form *Form,
	show func(*store.Snapshot, store.Record) error) error {
	if len(form.files) > 1 {
		return errSeveral
	}
	said, err := form.infos(1)
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
	f, err := l.replacing(ctx, form.files[0], said[0], old)
	defer l.tidy(f)
	if err != nil {
		return err
	}
	put := f.stored()
	r := &replacement{ID: id, From: old.updated, Data: jsontree.Append(nil, f.replacedData()), Put: put,
		Drop: old.without(namesOf(put))}
	done, err := l.waitUnpinned(ctx)
	if err != nil {
		return err
	}
	defer done()
	if h := l.store.Health(); h.State != store.Sound { // do not replace the content if its document cannot be updated
		return h.Err
	}
	ctx, release, err := l.store.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer release()
	// Once the entry is written, the replacement is decided: after a crash the next start finishes it.
	entryName, err := l.writeEntry(ctx,
		entry{Provider: old.provider, Replace: r, Files: []entryFiles{{old.hash, append(namesOf(put), r.Drop...)}}})
	if err != nil {
		return fmt.Errorf("write the journal entry of a replacement: %w", err)
	}
	err = l.replace(context.WithoutCancel(ctx), f.storage, r, show)
	if err != nil && (documents.Unavailable(err) != nil || errors.Is(err, store.ErrClosed) ||
		errors.Is(err, errPartStored)) {
		f.formats, form.files = nil, nil // keep the files: the next start stores them
		return err
	}
	if err == nil {
		l.count(f)
	}
	l.done(entryName)
	return err
}

// Delete deletes a file, within the rules of access: its document, all links to it, and then its content.
func (l *Library) Delete(ctx context.Context, once *store.Once, id uint64,
	show func(*store.Snapshot, store.Record) error, access *permission.Access) error {
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
	err = l.documents.Permits(documents.Write{Type: l.typ, DocumentID: old.documentID, Rules: access},
		documents.DeleteAction)
	if isNotFound(err) {
		return ErrNoFile
	}
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
	entryName, err := l.writeEntry(ctx, entry{Provider: old.provider, Files: []entryFiles{{old.hash, old.names}},
		Removes: true})
	if err != nil {
		return fmt.Errorf("write the journal entry of a removal: %w", err)
	}
	gone := documents.Write{Type: l.typ, DocumentID: old.documentID, Access: permission.FullAccess,
		Notes: unlisted(storage, old.names), Once: once}
	err = l.documents.Delete(ctx, gone)
	switch {
	case err == nil:
		l.discard(context.WithoutCancel(ctx), removal{storage, old.names, entryName})
	case refused(err):
		l.done(entryName)
	}
	return err
}
