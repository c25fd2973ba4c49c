package documents

import (
	"slices"
	"strconv"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A writing is the state of one write while it is computed: the document, its rows and links before and after, and the
// batch of changes. Nothing reaches the store before apply.
type writing struct {
	s         *Service
	tx        *store.Tx
	w         *Write
	t         *contenttypes.ContentType
	locale    string            // "" if the type is not localized
	hashes    map[string]string // of the passwords in the body
	restoring bool              // the data is a past version, which the caller may not be allowed to see

	limit, publishing *permission.Limit // of the write, and of the publication that is a part of it; nil: none

	doc      uint64
	id       string                   // documentId
	now      string                   // time of this write, later than any time in the document
	versions map[version]store.Record // versions in the store
	present  []version                // keys of versions, by locale and status
	rows     map[version]*store.Row   // rows that were decoded or are new
	changed  []version                // keys of the rows to write, in the order in which put was called
	links    *linkEdits
	batch    store.Batch
	written  version // version that is passed to After
	removed  bool    // whether a delete found anything to delete
}

// refuse returns the error for values that are not valid. It shows the values only if the caller sent them.
func (wr *writing) refuse(found []issues.Issue) *apierror.Error {
	for i := range found {
		found[i].HasValue = found[i].HasValue && !wr.restoring
	}
	return issues.Error(found...)
}

// A version identifies a row of a document.
type version struct {
	status store.Status
	locale string
}

// find loads the document that w names, and fails if there is none.
func (wr *writing) find() error {
	doc, id, err := wr.named()
	switch {
	case err != nil:
		return err
	case doc == 0:
		return apierror.NotFound()
	}
	wr.begin(doc, id)
	return nil
}

// named looks up the document that w names, or the document of a single type if it names none; doc is 0 if there is
// none.
func (wr *writing) named() (doc uint64, id string, err error) {
	id = wr.w.DocumentID
	if id == "" && wr.t.Kind == contenttypes.SingleType {
		return Single(wr.tx.Snapshot, wr.t)
	}
	doc, _ = wr.tx.Document(wr.t, id)
	return doc, id, nil
}

// Single looks up the document of a single type; doc is 0 if there is none.
func Single(s *store.Snapshot, t *contenttypes.ContentType) (doc uint64, id string, err error) {
	for _, st := range store.StatusesOf(t) {
		page, err := s.Find(&store.Query{Type: t, Status: st, Locales: store.LocaleSet{All: true}, Limit: 1})
		if err != nil {
			return 0, "", err
		}
		if len(page.Rows) > 0 {
			r := page.Rows[0]
			return r.Ref().Doc, r.DocumentID(), nil
		}
	}
	return 0, "", nil
}

// begin loads the versions of an existing document.
func (wr *writing) begin(doc uint64, id string) {
	now := wr.create(doc, id)
	updated, published := wr.t.Attribute("updatedAt"), wr.t.Attribute("publishedAt")
	wr.tx.Versions(wr.t, doc, func(r store.Record) bool {
		v := version{r.Status(), r.Locale()}
		wr.versions[v] = r
		wr.present = append(wr.present, v)
		for _, a := range []*contenttypes.Attribute{updated, published} {
			if t, err := time.Parse(`"`+time.RFC3339+`"`, string(r.JSON(a))); err == nil && !t.Before(now) {
				now = t.Add(time.Millisecond)
			}
		}
		return true
	})
	wr.now = now.Format(contenttypes.TimeFormat)
}

// create sets up the state for a new document.
func (wr *writing) create(doc uint64, id string) (now time.Time) {
	wr.doc, wr.id = doc, id
	wr.versions, wr.present = map[version]store.Record{}, nil
	wr.rows = map[version]*store.Row{}
	wr.links = newLinkEdits(wr.s.model, wr.tx.Snapshot)
	now = wr.s.Now().UTC().Truncate(time.Millisecond)
	wr.now = now.Format(contenttypes.TimeFormat)
	return now
}

// row returns a version with the changes of this write, nil if there is none. After changing it, call put.
func (wr *writing) row(v version) *store.Row {
	if r, ok := wr.rows[v]; ok {
		return r
	}
	rec, ok := wr.versions[v]
	if !ok {
		return nil
	}
	wr.rows[v] = rec.Decode()
	return wr.rows[v]
}

// put adds a version to the rows to write.
func (wr *writing) put(v version, r *store.Row) {
	wr.rows[v] = r
	if !slices.Contains(wr.changed, v) {
		wr.changed = append(wr.changed, v)
	}
}

// drop deletes a version and the links of its components.
func (wr *writing) drop(v version) {
	if r := wr.row(v); r != nil {
		wr.forgetItems(r.Values)
	}
	wr.batch.DeleteRow(wr.t, wr.doc, v.status, v.locale)
	wr.rows[v] = nil
}

// newRow returns an empty row for a version that does not exist yet.
func (wr *writing) newRow(v version) *store.Row {
	r := &store.Row{Type: wr.t, Doc: wr.doc, Status: v.status, Locale: v.locale,
		Values: make([]store.Value, len(wr.t.Attributes))}
	wr.setSystem(r, "id", strconv.AppendUint(nil, wr.tx.NewRowID(wr.t), 10))
	wr.setSystem(r, "documentId", jsontree.AppendString(nil, wr.id))
	wr.setTime(r, "createdAt")
	wr.setTime(r, "updatedAt")
	if wr.t.Localized {
		wr.setSystem(r, "locale", jsontree.AppendString(nil, v.locale))
	}
	return r
}

func (wr *writing) setSystem(r *store.Row, name string, value []byte) {
	if a := wr.t.Attribute(name); a != nil {
		r.Values[a.Index].JSON = value
	}
}

func (wr *writing) setTime(r *store.Row, name string) { wr.setSystem(r, name, []byte(`"`+wr.now+`"`)) }

func (wr *writing) system(r *store.Row, name string) []byte {
	if a := wr.t.Attribute(name); a != nil {
		return r.Values[a.Index].JSON
	}
	return nil
}

// draft returns the version that a body is written to: the draft, or the only version of a type without drafts.
func (wr *writing) draft() version {
	if wr.t.DraftAndPublish {
		return version{store.Draft, wr.locale}
	}
	return version{store.Published, wr.locale}
}

func (wr *writing) published() version { return version{store.Published, wr.locale} }

// ref returns the reference to the document in a locale, for links.
func (wr *writing) ref(locale string) store.Ref {
	return store.Ref{Type: wr.t.UID, Doc: wr.doc, Locale: locale}
}

// linkSets returns the sets in which a version of this document has links under an attribute.
func (wr *writing) linkSets(a *contenttypes.Attribute, st store.Status) []store.LinkSet {
	return store.LinkSetsUnder(a, store.LinkSetsOf(wr.t, st))
}

// apply applies the batch to the store and shows the written version.
func (wr *writing) apply() error {
	if err := wr.tx.Err(); err != nil {
		return err
	}
	for _, v := range wr.changed {
		if r := wr.rows[v]; r != nil {
			wr.batch.PutRow(r)
		}
	}
	if wr.links != nil {
		wr.links.emit(&wr.batch)
	}
	if err := wr.tx.Apply(&wr.batch); err != nil {
		return err
	}
	if err := wr.checkWritten(); err != nil {
		return err
	}
	if err := wr.changeNotes(); err != nil {
		return err
	}
	if wr.w.After == nil || wr.doc == 0 {
		return nil
	}
	r := wr.tx.Version(wr.t, wr.doc, wr.written.status, wr.written.locale)
	if !r.Exists() {
		return nil
	}
	return wr.w.After(wr.tx.Snapshot, r)
}

func (wr *writing) changeNotes() (err error) {
	for _, n := range wr.w.Notes {
		if n.Value == nil {
			err = wr.tx.DeleteNote(n.Name)
		} else {
			err = wr.tx.PutNote(n.Name, n.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
