package transfer

import (
	"errors"
	"fmt"
	"strconv"

	"lectern/contenttypes"
	"lectern/internal/extsort"
	"lectern/jsontree"
	"lectern/store"
)

// importIDs decides which ids of rows and components in the file are kept: all that no other document of the store has.
// The others are replaced by new ones. An id that another client gets while the import checks the file counts as taken.
type importIDs struct {
	last  idCounters                           // of the store when the check began
	file  idCounters                           // greatest in the file
	fresh map[*contenttypes.ContentType]uint64 // rows in the file without id

	wanted *extsort.Sorter // ids of components
	taken  map[uint64]bool // hashes of ids that other documents of the store have

	begun  bool       // whether something was stored
	stored idCounters // of the store when the import began to store
}

// idCounters are the greatest ids of the rows of each type, and of components.
type idCounters struct {
	row  map[*contenttypes.ContentType]uint64
	item uint64
}

// The fields of the records of importIDs.wanted.
const (
	idHash  = iota
	idState // wantedID or storedID
	idDoc   // hash of the document
)

const (
	wantedID = iota // in the file
	storedID        // in the store
)

// An idName identifies an id of a row or component: the uid of its schema, and the id.
type idName struct {
	uid string
	id  uint64
}

// An importedID is the id that a row (item is nil) or a component has in the file, 0 for none.
type importedID struct {
	idName
	item *store.Item
}

func newImportIDs() importIDs {
	return importIDs{
		file: idCounters{row: map[*contenttypes.ContentType]uint64{}}, fresh: map[*contenttypes.ContentType]uint64{},
		taken: map[uint64]bool{},
	}
}

func (im *importer) hashID(n idName) uint64 {
	return im.hash(n.uid, "id", strconv.FormatUint(n.id, 10))
}

// parseImportedID returns the id in a line or component, or 0 if there is none.
func parseImportedID(v any) (uint64, error) {
	if v == nil {
		return 0, nil
	}
	n, _ := v.(jsontree.Number)
	id, err := strconv.ParseUint(string(n), 10, 64)
	if err != nil || id == 0 || id > store.MaxID {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", uint64(store.MaxID))
	}
	return id, nil
}

// checkIDs returns an error if an id occurs twice in a line.
func (l *importLine) checkIDs() error {
	seen := map[idName]bool{}
	for _, v := range l.versions {
		for _, n := range v.ids {
			switch {
			case n.id == 0:
				continue
			case len(l.versions) > 1:
				return errors.New("id: give the line a status, since a draft and a published version have different ids")
			case seen[n.idName]:
				return fmt.Errorf("id: the id %d of %s is there twice", n.id, n.uid)
			}
			seen[n.idName] = true
		}
	}
	return nil
}

// begin reads the counters of the store in the first snapshot of the check.
func (ids *importIDs) begin(model *contenttypes.Model, snap *store.Snapshot) {
	if ids.last.row == nil {
		ids.last = countersOf(model, snap)
	}
}

// countersOf returns the counters of a snapshot or transaction.
func countersOf(model *contenttypes.Model, of interface {
	LastRowID(*contenttypes.ContentType) uint64
	LastComponentID() uint64
}) idCounters {
	c := idCounters{row: map[*contenttypes.ContentType]uint64{}, item: of.LastComponentID()}
	for _, t := range model.Types {
		c.row[t] = of.LastRowID(t)
	}
	return c
}

// remember adds the ids of a valid line.
func (ids *importIDs) remember(c *lineCheck) error {
	t := c.line.typ
	var own map[idName]bool // components of the document in the store
	for _, v := range c.line.versions {
		for _, n := range v.ids {
			switch {
			case n.id == 0 && n.item == nil:
				ids.fresh[t]++
			case n.id == 0:
			case n.item == nil:
				ids.file.row[t] = max(ids.file.row[t], n.id)
				ids.checkRow(c, n.id)
			default:
				ids.file.item = max(ids.file.item, n.id)
				if n.id > ids.last.item {
					continue
				}
				if own == nil {
					own = c.storedItems()
				}
				if own[n.idName] {
					continue
				}
				if err := ids.wanted.Add(extsort.Record{c.im.hashID(n.idName), wantedID, c.doc}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkRow marks the id of a row as taken if another document of the store has it.
func (ids *importIDs) checkRow(c *lineCheck, id uint64) {
	t := c.line.typ
	if id > ids.last.row[t] || t.Kind == contenttypes.SingleType {
		return
	}
	if doc, _, _, found := c.snap.DocumentByRow(t, id); found {
		own, exists := c.snap.Document(t, c.line.documentID)
		if !exists || own != doc {
			ids.taken[c.im.hashID(idName{t.UID, id})] = true
		}
	}
}

// storedItems returns the components of the document in the store.
func (c *lineCheck) storedItems() map[idName]bool {
	items := map[idName]bool{}
	if doc, ok := c.snap.Document(c.line.typ, c.line.documentID); ok {
		c.snap.Versions(c.line.typ, doc, func(r store.Record) bool {
			eachItem(r, func(n idName) { items[n] = true })
			return true
		})
	}
	return items
}

// eachItem calls yield with the components in a record.
func eachItem(r store.Record, yield func(idName)) {
	for _, a := range r.Schema().Attributes {
		if a.IsRelation() || a.IsScalar() {
			continue
		}
		r.Each(a, func(item store.Record) bool {
			yield(idName{item.Component().UID, item.ID()})
			eachItem(item, yield)
			return true
		})
	}
}

// prepare finds which of the wanted ids components of other documents have. The store has no index of them, so this
// reads all rows.
func (ids *importIDs) prepare(im *importer) error {
	if ids.wanted.Len() == 0 {
		return nil
	}
	err := im.s.Store().View(func(snap *store.Snapshot) error {
		for _, t := range im.s.Model().Types {
			for _, st := range store.StatusesOf(t) {
				if err := store.EachRow(im.ctx, snap, t, st,
					func(r store.Record) error { return ids.addStored(im, t, r) }); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var wanted extsort.Record
	return ids.wanted.Each(func(r extsort.Record) error {
		switch {
		case r[idState] == wantedID:
			wanted = r
		case r[idHash] == wanted[idHash] && r[idDoc] != wanted[idDoc]:
			ids.taken[r[idHash]] = true
		}
		return im.reserve(0)
	})
}

func (ids *importIDs) addStored(im *importer, t *contenttypes.ContentType, r store.Record) (err error) {
	doc := im.hashDocument(t, r.DocumentID())
	eachItem(r, func(n idName) {
		err = errors.Join(err, ids.wanted.Add(extsort.Record{im.hashID(n), storedID, doc}))
	})
	return err
}

// reserve makes the transaction give out only ids that no line of the file has.
func (ids *importIDs) reserve(model *contenttypes.Model, tx *store.Tx) {
	if !ids.begun {
		ids.stored = countersOf(model, tx)
	}
	tx.PassComponentID(ids.file.item)
	for t := range ids.stored.row {
		if ids.file.row[t]+ids.fresh[t] > 0 {
			tx.PassRowID(t, ids.base(t)+ids.fresh[t])
		}
	}
}

// base returns the id before the first new id of a row.
func (ids *importIDs) base(t *contenttypes.ContentType) uint64 {
	return max(ids.stored.row[t], ids.file.row[t])
}

// keepsRow reports whether the id of a row in the file is kept.
func (ids *importIDs) keepsRow(im *importer, t *contenttypes.ContentType, n idName) bool {
	return ids.keeps(im, n, ids.last.row[t], ids.stored.row[t])
}

// keepsItem reports whether the id of a component in the file is kept.
func (ids *importIDs) keepsItem(im *importer, n idName) bool {
	return ids.keeps(im, n, ids.last.item, ids.stored.item)
}

// keeps reports whether an id is kept; last and stored are the counters before and after the check.
func (ids *importIDs) keeps(im *importer, n idName, last, stored uint64) bool {
	return n.id > 0 && (n.id <= last || n.id > stored) && (len(ids.taken) == 0 || !ids.taken[im.hashID(n)])
}
