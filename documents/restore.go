package documents

import (
	"context"
	"errors"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// A PastVersion names a version of a document as it was behind an entry of the log.
type PastVersion struct {
	Position store.Position
	Status   store.Status // no effect on types without drafts
}

// Restore writes a past version of a document as its draft, or as the only version of a type without drafts. A document
// that was deleted gets its documentId back. w.Data and w.Status have no effect; w.Locale names the localization. The
// version is checked as a body is: w.Access does not limit it, but a version that the caller could not read by their
// rules counts as missing. The error for a value that is not valid any more does not show the value.
//
// Values that the localizations of a document share become those of the version in all of them, as with any write, even
// if the localization itself is missing by now. Links to documents that are gone, or have no version in the locale, are
// left out. Attributes that were added to the type after the version was written keep their values. A missing version
// is an Error 404, and what the log does not know is an error of store.Snapshot.ViewAt or SequenceOf.
func (s *Service) Restore(ctx context.Context, w Write, of PastVersion) error {
	w.Rules, w.restores = w.rules(), true
	var visible store.Filter
	if w.Access != nil {
		visible = w.Access.VisibleAlone(w.Type, of.Status)
	}
	w.Access, w.Status = permission.FullAccess, store.Draft
	locale, err := s.locale(&w, false)
	if err != nil {
		return err
	}
	action := CreateAction
	if err := s.store.View(func(snap *store.Snapshot) error {
		switch err := s.permits(snap, &Prepared{write: w, action: UpdateAction, locale: locale}); {
		case errors.Is(err, errHidden):
			return apierror.NotFound()
		case err != nil:
			return err
		}
		sequence, err := snap.SequenceOf(of.Position)
		if err != nil {
			return err
		}
		f := pastReader{model: s.model, now: snap, hashes: map[string]string{}, visible: visible}
		if err := snap.ViewAt(
			sequence, func(then *store.Snapshot) error { return f.read(then, &w, of.Status, locale) }); err != nil {
			return err
		}
		_, exists := snap.Document(w.Type, w.DocumentID)
		if w.Type.Kind == contenttypes.SingleType {
			_, exists = snap.Only(w.Type)
		}
		if exists {
			action = UpdateAction
		}
		return nil
	}); err != nil {
		return err
	}
	return s.write(ctx, w, action, (*writing).restore)
}

// restore saves the data of a past version. The document may be gone, or be made again meanwhile.
func (wr *writing) restore() error {
	wr.restoring = true
	find := wr.named
	if wr.t.Kind == contenttypes.SingleType {
		find = func() (uint64, string, error) { return Single(wr.tx.Snapshot, wr.t) }
	}
	doc, id, err := find()
	switch {
	case err != nil:
		return err
	case doc == 0:
		wr.create(wr.tx.NewDoc(), wr.w.DocumentID)
	default:
		wr.begin(doc, id)
	}
	return wr.save()
}

// A pastReader turns a past version of a document into the data of a body.
type pastReader struct {
	model  *contenttypes.Model
	then   *store.Snapshot
	now    *store.Snapshot // to leave out what links lead to no longer
	owner  *contenttypes.ContentType
	status store.Status
	hashes map[string]string // the hashes of passwords, each by itself: they are written as they are

	visible store.Filter // what the version met if the caller may see it; nil: anything
}

// read sets the data of w to those of a version, and the documentId of a single type.
func (f *pastReader) read(then *store.Snapshot, w *Write, status store.Status, locale string) error {
	f.then, f.owner, f.status = then, w.Type, status
	if !w.Type.DraftAndPublish {
		f.status = store.Published
	}
	if w.DocumentID == "" && w.Type.Kind == contenttypes.SingleType {
		w.DocumentID, _ = then.Only(w.Type)
	}
	doc, _ := then.Document(w.Type, w.DocumentID)
	row := then.Version(w.Type, doc, f.status, locale)
	if !row.Exists() || f.visible != nil && !then.Matches(row, f.visible, f.status) {
		return apierror.NotFound()
	}
	w.Data, w.hashes = f.object(row), f.hashes
	return nil
}

// object returns the values of a row or component.
func (f *pastReader) object(r store.Record) *jsontree.Object {
	o := jsontree.NewObject()
	for _, a := range r.Schema().Attributes {
		switch {
		case a.System || a.Type == contenttypes.ID:
		case a.IsRelation():
			o.Set(a.Name, f.links(r, a))
		case !r.Has(a):
		case a.IsScalar():
			v := values.Decode(r.JSON(a))
			if hash, ok := v.(string); ok && a.Type == contenttypes.Password {
				f.hashes[hash] = hash
			}
			o.Set(a.Name, v)
		default:
			o.Set(a.Name, f.items(r, a))
		}
	}
	return o
}

// items returns the components of an attribute.
func (f *pastReader) items(r store.Record, a *contenttypes.Attribute) any {
	list := []any{}
	r.Each(a, func(item store.Record) bool {
		o := f.object(item)
		if a.Type == contenttypes.DynamicZone {
			o.Set("__component", item.Component().UID)
		}
		list = append(list, o)
		return true
	})
	switch {
	case a.Type == contenttypes.DynamicZone || a.Repeatable:
		return list
	case len(list) == 0:
		return nil
	}
	return list[0]
}

// links returns the targets of a relation. If a type without drafts is linked to other targets in drafts than in
// published versions, each target says for which of them.
func (f *pastReader) links(r store.Record, a *contenttypes.Attribute) any {
	sets := store.LinkSetsUnder(a, store.LinkSetsOf(f.owner, f.status))
	lists := make([][]store.Ref, len(sets))
	for i, set := range sets {
		lists[i] = f.targets(r, a, set)
	}
	if len(lists) == 2 && slices.Equal(lists[0], lists[1]) {
		sets = sets[:1]
	}
	items := []any{}
	for i, set := range sets {
		for _, target := range lists[i] {
			if o := f.target(a, target); o != nil {
				if len(sets) == 2 {
					o.Set("status", set.Name())
				}
				items = append(items, o)
			}
		}
	}
	return setOf(items)
}

// targets returns the targets of a relation in a link set.
func (f *pastReader) targets(r store.Record, a *contenttypes.Attribute, set store.LinkSet) (list []store.Ref) {
	if a.Mapped {
		f.then.LinksTo(a.Inverse, set, r.Ref(), func(l store.Link) bool { list = append(list, l.From); return true })
	} else {
		f.then.LinksFrom(a, set, r.Ref(), func(l store.Link) bool { list = append(list, l.To); return true })
	}
	return list
}

// target returns a link as a body names it, nil if the document is gone.
func (f *pastReader) target(a *contenttypes.Attribute, r store.Ref) *jsontree.Object {
	t := f.model.Type(r.Type)
	if t == nil {
		return nil
	}
	for _, status := range store.StatusesOf(t) {
		row := f.then.Version(t, r.Doc, status, r.Locale)
		if !row.Exists() {
			continue
		}
		id := row.DocumentID()
		if !f.present(t, id, r.Locale) {
			return nil
		}
		o := jsontree.NewObject()
		o.Set("documentId", id)
		if a.Target == nil {
			o.Set("__type", t.UID)
		}
		if r.Locale != "" {
			o.Set("locale", r.Locale)
		}
		return o
	}
	return nil
}

// present reports whether a document has a version in a locale now.
func (f *pastReader) present(t *contenttypes.ContentType, documentID, locale string) bool {
	doc, ok := f.now.Document(t, documentID)
	return ok && store.HasLocalization(f.now, t, doc, locale)
}
