package documents

import (
	"errors"
	"fmt"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// importIDs holds what an import knows about the ids of rows and components in the file. An id is kept unless another document of the
// store has it; then the row or component gets a new one.
type importIDs struct {
	lines  map[uint64]int                       // id in the file → its line
	row    map[*contenttypes.ContentType]uint64 // the greatest id of a row in the file
	item   uint64                               // the greatest id of a component in the file
	wanted map[uint64]uint64                    // id of a component that the store may have → the document that wants it
	taken  map[uint64]bool                      // ids that other documents of the store have
}

// An idName identifies an id of a row or component: the uid of its schema, and the id.
type idName struct {
	uid string
	id  uint64
}

func (im *importer) hashID(n idName) uint64 {
	return im.hash(n.uid, "id", strconv.FormatUint(n.id, 10))
}

// importedID returns the id in a line or component, or 0 if there is none.
func importedID(v any) (uint64, error) {
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

// An itemIDs returns the id of a component that has this id in the file, 0 for none.
type itemIDs func(inFile idName) uint64

// checkIDs returns an error if the id of a line, or that of a component in it, occurs elsewhere in the file. Otherwise it remembers them.
func (im *importer) checkIDs(snap *store.Snapshot, number int, l *importLine, items []idName) error {
	if l.id > 0 {
		items = append(items, idName{l.typ.UID, l.id})
	}
	if len(items) > 0 && len(l.statuses) > 1 {
		return errors.New("id: give the line a status, since a draft and a published version have different ids")
	}
	names := make([]uint64, 0, len(items))
	own := map[uint64]bool{}
	for _, n := range items {
		h := im.hashID(n)
		if first, twice := im.ids.lines[h]; twice {
			return fmt.Errorf("id: line %d has the id %d of %s as well", first, n.id, n.uid)
		}
		if own[h] {
			return fmt.Errorf("id: the id %d of %s is there twice", n.id, n.uid)
		}
		own[h] = true
		names = append(names, h)
	}
	last := snap.LastComponentID()
	for i, n := range items {
		im.ids.lines[names[i]] = number
		if i == len(items)-1 && l.id > 0 {
			im.checkRowID(snap, l, names[i])
			continue
		}
		im.ids.item = max(im.ids.item, n.id)
		if n.id <= last {
			im.ids.wanted[names[i]] = im.docName(l)
		}
	}
	return nil
}

func (im *importer) checkRowID(snap *store.Snapshot, l *importLine, name uint64) {
	im.ids.row[l.typ] = max(im.ids.row[l.typ], l.id)
	if l.id > snap.LastRowID(l.typ) || l.typ.Kind == contenttypes.SingleType {
		return
	}
	if doc, _, _, found := snap.DocumentByRow(l.typ, l.id); found {
		own, exists := snap.Document(l.typ, l.documentID)
		im.ids.taken[name] = !exists || own != doc
	}
}

// checkItemIDs looks for the wanted ids in all components of the store, which has no index of them.
func (im *importer) checkItemIDs(snap *store.Snapshot) error {
	if len(im.ids.wanted) == 0 {
		return nil
	}
	for _, t := range im.s.model.Types {
		for _, st := range statusesOf(t) {
			err := eachRow(im.ctx, snap, t, st, func(r store.Record) error {
				own := im.hash(t.UID, text(r.JSON(t.Attribute("documentId"))))
				im.takeItemIDs(r, t, own)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	clear(im.ids.wanted)
	return nil
}

// takeItemIDs marks the ids of the components in a record as taken, if other documents want them.
func (im *importer) takeItemIDs(r store.Record, t *contenttypes.ContentType, doc uint64) {
	for _, a := range r.Schema().Attributes {
		if a.Type != contenttypes.ComponentType && a.Type != contenttypes.DynamicZone {
			continue
		}
		r.Each(a, func(item store.Record) bool {
			name := im.hashID(idName{item.Component().UID, item.ID()})
			if by, wanted := im.ids.wanted[name]; wanted && by != doc && t.Kind != contenttypes.SingleType {
				im.ids.taken[name] = true
			}
			im.takeItemIDs(item, t, doc)
			return true
		})
	}
}

// passIDs makes the store give out only ids that no line of the file has.
func (im *importer) passIDs(tx *store.Tx) {
	tx.PassComponentID(im.ids.item)
	for t, id := range im.ids.row {
		tx.PassRowID(t, id)
	}
}

// keep reports whether an id of the file is kept.
func (im *importer) keep(n idName) bool { return n.id > 0 && !im.ids.taken[im.hashID(n)] }
