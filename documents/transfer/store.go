package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/issues"
	"lectern/internal/extsort"
	"lectern/store"
)

// A storingPhase is one of the times that documents are read to store them.
type storingPhase int

const (
	// storing: a document with a link to one that does not exist yet has to wait. If it is new, its versions are stored
	// without links, so that others can link to them.
	storing storingPhase = iota
	// linking: what has waited is stored. Only a link to a localization that the import adds to an existing document
	// may still have no target, since that document may have waited too. The document with the link is stored without
	// it, and waits once more.
	linking
	// completing: what has waited again gets all its links.
	completing
)

// String returns what ImportProgress calls the phase.
func (p storingPhase) String() string {
	if p == storing {
		return "storing"
	}
	return "linking"
}

// store stores all documents: first those that link only to documents that exist by then, and then the others.
func (im *importer) store(result *ImportResult) error {
	from := im.order
	for phase := storing; phase <= completing; phase++ {
		deferred := extsort.New(im.dir(), sortedInMemory) // records as in importer.order
		defer deferred.Close()                            // removes a temporary file
		done, total := 0, from.Len()
		err := im.eachChunk(from, func(c *chunk) error {
			if err := im.storeChunk(c, phase, deferred, result); err != nil {
				return err
			}
			done += c.lines
			im.o.Progress(ImportProgress{phase.String(), done, total})
			return nil
		})
		if err != nil {
			return err
		}
		from = deferred
	}
	return nil
}

// A storedChunk is what became of a chunk. The store may run a transaction again; then it is made again.
type storedChunk struct {
	versions, newIDs int
	waiting          []waiting
	lost             LineProblems // links to documents that the import left out
}

// A waiting document links to one that does not exist yet.
type waiting struct {
	*importDocument
	added bool // whether its versions are stored, without that link
}

// storeChunk stores the documents of a chunk, and adds those that have to wait to deferred.
func (im *importer) storeChunk(c *chunk, phase storingPhase, deferred *extsort.Sorter, result *ImportResult) error {
	for documents := c.documents; len(documents) > 0; {
		stored, err := im.storeTogether(documents, phase, deferred, result)
		if err != nil {
			return err
		}
		documents = documents[stored:]
	}
	return nil
}

// storeTogether stores as many of the documents as one transaction may replace, and returns how many these are.
func (im *importer) storeTogether(documents []*importDocument, phase storingPhase, deferred *extsort.Sorter,
	result *ImportResult) (stored int, err error) {
	var done storedChunk
	err = im.s.Store().Write(im.ctx, func(tx *store.Tx) error {
		done = storedChunk{}
		im.ids.reserve(im.s.Model(), tx)
		var together map[documentName]*importDocument
		stored, together = numberDocuments(tx, documents)
		for _, d := range documents[:stored] {
			dw := documentWrite{im: im, tx: tx, importDocument: d, together: together, done: &done}
			if err := dw.run(phase); err != nil {
				return fmt.Errorf("store document %s of %s: %w", d.id, d.typ.UID, err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	im.ids.begun = im.ids.begun || done.versions > 0
	result.Versions += done.versions
	result.NewIDs += done.newIDs
	for _, p := range done.lost {
		im.warn(p.Line, p.Message)
	}
	for _, d := range done.waiting {
		for _, r := range d.refs {
			if d.added {
				r[lineFresh] |= addedDocument
			}
			if err := deferred.Add(r); err != nil {
				return 0, err
			}
		}
	}
	return stored, nil
}

// A documentName identifies a document.
type documentName struct {
	typ *contenttypes.ContentType
	id  string
}

// numberDocuments gives numbers to the documents that one transaction stores: as many of them as together replace up to
// importReplaced bytes of rows, and at least one. It returns how many these are, and the new ones among them. Others
// may link to the new ones before they are stored, since all are in the same transaction. Documents of single types are
// not among the new ones: they may have to wait for the next phase.
func numberDocuments(tx *store.Tx,
	documents []*importDocument) (stored int, together map[documentName]*importDocument) {
	together = map[documentName]*importDocument{}
	size := 0
	for i, d := range documents {
		doc, exists := tx.Document(d.typ, d.id)
		if exists {
			tx.Versions(d.typ, doc, func(r store.Record) bool {
				size += r.Size()
				return true
			})
		}
		if size > importReplaced && i > 0 {
			return i, together
		}
		if d.doc, d.isNew = doc, !exists; d.isNew {
			d.doc = tx.NewDoc()
		}
		if d.isNew && d.typ.Kind != contenttypes.SingleType {
			together[documentName{d.typ, d.id}] = d
		}
	}
	return len(documents), together
}

// A documentWrite stores one document in a transaction.
type documentWrite struct {
	*importDocument
	im       *importer
	tx       *store.Tx
	together map[documentName]*importDocument
	done     *storedChunk
	replaces *documents.Replacement
}

// run stores a document with its links, or has it wait.
func (w *documentWrite) run(phase storingPhase) error {
	other, otherID, err := w.otherSingle()
	if err != nil {
		return err
	}
	complete := w.findTargets(phase)
	if !complete && phase == storing {
		isNew := w.isNew && other == 0
		w.wait(isNew)
		if !isNew {
			return nil
		}
		w.begin(false)
		w.putRows()
		return w.replaces.Apply(store.Created)
	}
	if !complete && phase == linking {
		w.wait(true)
	}
	if other != 0 {
		if err := w.im.s.Remove(w.tx, w.typ, other, otherID); err != nil {
			return err
		}
	}
	action := store.Updated
	switch {
	case w.added:
		w.begin(true)
		if err := w.adopt(); err != nil {
			return err
		}
	case !w.isNew:
		w.begin(true)
		w.putRows()
	default:
		w.begin(false)
		w.putRows()
		action = store.Created
	}
	w.putLinks()
	return w.replaces.Apply(action)
}

// begin begins to replace the document. If it exists, it loses what the file does not have.
func (w *documentWrite) begin(exists bool) {
	w.replaces = w.im.s.Replace(w.tx, w.typ, w.doc, w.id, exists)
	if exists {
		w.replaces.Clear(w.hasVersion)
	}
}

// hasVersion reports whether the file has a version of the document.
func (w *documentWrite) hasVersion(status store.Status, locale string) bool {
	return slices.ContainsFunc(w.lines, func(l *importLine) bool {
		return l.locale == locale && slices.Contains(l.statuses, status)
	})
}

// wait has the document wait for the next phase.
func (w *documentWrite) wait(added bool) {
	w.done.waiting = append(w.done.waiting, waiting{w.importDocument, added})
}

// otherSingle returns the document of a single type that has another documentId than the one in the file, and is
// replaced by it.
func (w *documentWrite) otherSingle() (other uint64, documentID string, err error) {
	if w.typ.Kind != contenttypes.SingleType {
		return 0, "", nil
	}
	if other, documentID, err = documents.Single(w.tx.Snapshot, w.typ); other == w.doc {
		other = 0
	}
	return other, documentID, err
}

// findTargets finds the documents that the links lead to. It returns false if one does not exist. In the last phase it
// warns of such a link: its target is not in the file because it is invalid.
func (w *documentWrite) findTargets(phase storingPhase) (complete bool) {
	complete = true
	for _, l := range w.lines {
		for _, e := range l.edges() {
			w.findTarget(e)
			switch {
			case e.to != 0:
			case phase == storing:
				return false
			case phase == completing:
				w.done.lost = append(w.done.lost, LineProblem{l.number,
					fmt.Sprintf("%s: stored without the link to %s, which the import left out", issues.PathName(e.path),
						e.id)})
			}
			complete = complete && e.to != 0
		}
	}
	return complete
}

func (w *documentWrite) findTarget(e *edge) {
	e.to = 0
	if e.target == w.typ && e.id == w.id {
		if w.has(e.locale) {
			e.to = w.doc
		}
		return
	}
	if d := w.together[documentName{e.target, e.id}]; d != nil {
		if d.has(e.locale) {
			e.to = d.doc
		}
		return
	}
	if doc, ok := w.lookUp(e); ok && store.HasLocalization(w.tx.Snapshot, e.target, doc, e.locale) {
		e.to = doc
	}
}

// lookUp finds the target of a link. It remembers roles, since looking one up reads an index, and the writes in a
// transaction wait in memory until an index is read.
func (w *documentWrite) lookUp(e *edge) (doc uint64, ok bool) {
	if e.target.UID != contenttypes.RoleUID {
		return w.tx.Document(e.target, e.id)
	}
	if doc, ok = w.im.roles[e.id]; !ok {
		if doc, ok = lookUp(w.tx.Snapshot, e.target, e.id); ok {
			w.im.roles[e.id] = doc
		}
	}
	return doc, ok
}

// putRows adds the versions to the batch, with their ids.
func (w *documentWrite) putRows() {
	ids := &w.im.ids
	for _, l := range w.lines {
		for _, v := range l.versions {
			for _, n := range v.ids[1:] {
				if n.item.ID = n.id; !ids.keepsItem(w.im, n.idName) {
					n.item.ID = w.tx.NewComponentID()
					w.replaced(n)
				}
			}
			id := v.ids[0].id
			switch {
			case id == 0:
				id = ids.base(w.typ) + 1 + v.fresh
			case !ids.keepsRow(w.im, w.typ, v.ids[0].idName):
				id = w.tx.NewRowID(w.typ)
				w.replaced(v.ids[0])
			}
			v.row.Values[w.typ.Attribute("id").Index].JSON = strconv.AppendUint(nil, id, 10)
			w.replaces.PutRow(v.row)
			w.done.versions++
		}
	}
}

// replaced counts an id of the file that was not kept.
func (w *documentWrite) replaced(n importedID) {
	if n.id > 0 {
		w.done.newIDs++
	}
}

// adopt takes the ids of components from the versions that are stored already.
func (w *documentWrite) adopt() error {
	for _, l := range w.lines {
		for _, v := range l.versions {
			r := w.tx.Version(w.typ, w.doc, v.row.Status, v.row.Locale)
			if !r.Exists() {
				return errors.New("it was removed while the import went on; repeat the import")
			}
			adoptIDs(v.row.Values, r)
		}
	}
	return nil
}

func adoptIDs(values []store.Value, r store.Record) {
	for _, a := range r.Schema().Attributes {
		items := values[a.Index].Items
		if len(items) == 0 {
			continue
		}
		r.Each(a, func(stored store.Record) bool {
			if len(items) == 0 {
				return false
			}
			items[0].ID = stored.ID()
			adoptIDs(items[0].Values, stored)
			items = items[1:]
			return true
		})
	}
}

// putLinks adds the links of all versions.
func (w *documentWrite) putLinks() {
	for _, l := range w.lines {
		for _, e := range l.edges() {
			if e.to == 0 {
				continue
			}
			from := store.Ref{Type: w.typ.UID, Doc: w.doc, Locale: l.locale}
			if e.item != nil {
				from = store.Ref{Type: e.item.Component.UID, Doc: e.item.ID}
			}
			w.replaces.Link(store.Link{
				Attr: e.attr, Set: e.set, From: from, To: store.Ref{Type: e.target.UID, Doc: e.to, Locale: e.locale},
				FromPos: uint64(e.index+1) * store.PosStep, ToPos: e.position,
			})
		}
	}
}
