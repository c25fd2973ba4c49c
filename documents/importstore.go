package documents

import (
	"errors"
	"fmt"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/internal/extsort"
	"lectern/store"
)

// A storingPhase is one of the times that documents are read to store them.
type storingPhase int

const (
	// storing: a document with a link to one that does not exist yet has to wait. If it is new, its versions are stored without links, so that others
	// can link to them.
	storing storingPhase = iota
	// linking: what has waited is stored. Only a link to a localization that the import adds to an existing document may still have no target, since that
	// document may have waited too. The document with the link is stored without it, and waits once more.
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
func (im *importer) storeTogether(documents []*importDocument, phase storingPhase, deferred *extsort.Sorter, result *ImportResult) (stored int, err error) {
	var done storedChunk
	err = im.s.store.Write(im.ctx, func(tx *store.Tx) error {
		done = storedChunk{}
		im.ids.reserve(im.s.model, tx)
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

// numberDocuments gives numbers to the documents that one transaction stores: as many of them as together replace up to importReplaced bytes of rows, and
// at least one. It returns how many these are, and the new ones among them. Others may link to the new ones before they are stored, since all are in the
// same transaction. Documents of single types are not among the new ones: they may have to wait for the next phase.
func numberDocuments(tx *store.Tx, documents []*importDocument) (stored int, together map[documentName]*importDocument) {
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
	wr       *writing
}

// run stores a document with its links, or has it wait.
func (w *documentWrite) run(phase storingPhase) error {
	former, formerID, err := w.former()
	if err != nil {
		return err
	}
	complete := w.findTargets(phase)
	if !complete && phase == storing {
		isNew := w.isNew && former == 0
		w.wait(isNew)
		if !isNew {
			return nil
		}
		w.wr = w.writing()
		w.wr.create(w.doc, w.id)
		w.putRows()
		return w.apply(store.Created)
	}
	if !complete && phase == linking {
		w.wait(true)
	}
	if former != 0 {
		wr := w.writing()
		wr.begin(former, formerID)
		if err := wr.remove(); err != nil {
			return err
		}
		if err := wr.apply(); err != nil {
			return err
		}
	}
	w.wr = w.writing()
	action := store.Updated
	switch {
	case w.added:
		w.wr.begin(w.doc, w.id)
		w.clear()
		if err := w.adopt(); err != nil {
			return err
		}
	case !w.isNew:
		w.wr.begin(w.doc, w.id)
		w.clear()
		w.putRows()
	default:
		w.wr.create(w.doc, w.id)
		w.putRows()
		action = store.Created
	}
	w.putLinks()
	return w.apply(action)
}

// wait has the document wait for the next phase.
func (w *documentWrite) wait(added bool) {
	w.done.waiting = append(w.done.waiting, waiting{w.importDocument, added})
}

func (w *documentWrite) writing() *writing {
	return &writing{s: w.im.s, tx: w.tx, w: &Write{Type: w.typ, DocumentID: w.id, Locale: "*"}, t: w.typ, locale: "*"}
}

func (w *documentWrite) apply(action store.Action) error {
	w.wr.batch.Log(w.typ, w.id, action)
	return w.wr.apply()
}

// former returns the document of a single type that has another documentId than the one in the file, and is replaced by it.
func (w *documentWrite) former() (former uint64, documentID string, err error) {
	if w.typ.Kind != contenttypes.SingleType {
		return 0, "", nil
	}
	if former, documentID, err = single(w.tx.Snapshot, w.typ); former == w.doc {
		former = 0
	}
	return former, documentID, err
}

// findTargets finds the documents that the links lead to. It returns false if one does not exist. In the last phase it warns of such a link: its target is
// not in the file because it is invalid.
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
					fmt.Sprintf("%s: stored without the link to %s, which the import left out", issues.PathName(e.path), e.id)})
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
	if doc, ok := w.lookUp(e); ok && hasLocalization(w.tx.Snapshot, e.target, doc, e.locale) {
		e.to = doc
	}
}

// lookUp finds the target of a link. It remembers roles, since looking one up reads an index, and the writes in a transaction wait in memory
// until an index is read.
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

// clear removes the links from the document and its components, the versions that the file does not have, and the links to localizations
// that it does not have.
func (w *documentWrite) clear() {
	kept := map[version]bool{}
	for _, l := range w.lines {
		for _, v := range l.versions {
			kept[version{v.row.Status, v.row.Locale}] = true
		}
	}
	var gone []string
	for _, v := range w.wr.present {
		w.wr.forgetItems(w.wr.row(v).Values)
		w.wr.clearFrom(&w.typ.Schema, w.wr.ref(v.locale))
		if !w.has(v.locale) {
			w.wr.clearTo(w.wr.ref(v.locale))
			gone = append(gone, v.locale)
		}
		if !kept[v] {
			w.wr.batch.DeleteRow(w.typ, w.wr.doc, v.status, v.locale)
		}
	}
	if len(gone) > 0 {
		w.wr.unschedule(gone)
	}
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
			v.row.Doc = w.wr.doc
			v.row.Values[w.typ.Attribute("id").Index].JSON = strconv.AppendUint(nil, id, 10)
			w.wr.batch.PutRow(v.row)
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
	le := w.wr.links
	for _, l := range w.lines {
		for _, e := range l.edges() {
			if e.to == 0 {
				continue
			}
			to := store.Ref{Type: e.target.UID, Doc: e.to, Locale: e.locale}
			from := end{e.attr, false, e.set, w.wr.ref(l.locale)}
			if e.item != nil {
				from.ref = itemRef(e.item)
			}
			le.release(from, to)
			far := from.other(to)
			pos := e.position
			if pos == 0 {
				pos = le.next(far)
			} else {
				pos = le.free(far, pos)
			}
			le.join(from.link(to, uint64(e.index+1)*store.PosStep, pos))
		}
	}
}
