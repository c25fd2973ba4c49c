package documents

import (
	"context"
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// A Replacement puts the versions and links of a whole document in place of what the store has of it, with the ids and
// times that they have already. It checks nothing. Package transfer stores the documents of a file with it.
type Replacement struct{ wr *writing }

// Replace begins the Replacement of a document in a transaction. doc is its number, and exists says whether it has
// versions.
func (s *Service) Replace(
	tx *store.Tx, t *contenttypes.ContentType, doc uint64, documentID string, exists bool,
) *Replacement {
	w := &Write{Type: t, DocumentID: documentID, Locale: "*"}
	wr := &writing{s: s, tx: tx, w: w, t: t, locale: w.Locale}
	if exists {
		wr.begin(doc, documentID)
	} else {
		wr.create(doc, documentID)
	}
	return &Replacement{wr}
}

// Clear removes the links from the document and its components, the versions that are not kept, and the links to
// localizations of which no version is kept.
func (r *Replacement) Clear(isKept func(store.Status, string) bool) {
	wr := r.wr
	var gone []string
	for _, v := range wr.present {
		wr.forgetItems(wr.row(v).Values)
		wr.clearFrom(&wr.t.Schema, wr.ref(v.locale))
		if !slices.ContainsFunc(store.StatusesOf(wr.t), func(s store.Status) bool { return isKept(s, v.locale) }) {
			wr.clearTo(wr.ref(v.locale))
			gone = append(gone, v.locale)
		}
		if !isKept(v.status, v.locale) {
			wr.batch.DeleteRow(wr.t, wr.doc, v.status, v.locale)
		}
	}
	if len(gone) > 0 {
		wr.unschedule(gone)
	}
}

// PutRow adds a version, or puts it in place of the one of its status and locale.
func (r *Replacement) PutRow(row *store.Row) {
	row.Doc = r.wr.doc
	r.wr.batch.PutRow(row)
}

// Link adds a link from the document, or from a component in it. If its target may be linked once, the other links to
// the target are removed. Without a ToPos, or with one that is taken, the link goes to the end of the list of its
// target.
func (r *Replacement) Link(l store.Link) {
	links, from := r.wr.links, end{l.Attr, false, l.Set, l.From}
	links.release(from, l.To)
	if to := from.other(l.To); l.ToPos == 0 {
		l.ToPos = links.next(to)
	} else {
		l.ToPos = links.freePosition(to, l.ToPos)
	}
	links.join(l)
}

// Apply applies the Replacement in its transaction. action is what the log says of it.
func (r *Replacement) Apply(action store.Action) error {
	r.wr.batch.Log(r.wr.t, r.wr.id, action)
	return r.wr.apply()
}

// Remove removes a document with all its versions and links, in a transaction and without hooks.
func (s *Service) Remove(tx *store.Tx, t *contenttypes.ContentType, doc uint64, documentID string) error {
	wr := s.Replace(tx, t, doc, documentID, true).wr
	if err := wr.remove(); err != nil {
		return err
	}
	return wr.apply()
}

// LockImports waits until no import of this Service runs, and keeps others waiting until release is called.
func (s *Service) LockImports(ctx context.Context) (release func(), err error) {
	if err := s.importing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { s.importing.Release(1) }, nil
}
