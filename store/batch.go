package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A Batch is a list of changes that are made under one sequence number. Content is changed by batches only; indexes,
// counts, revisions and the log are updated from them.
type Batch struct {
	putRows    []*Row
	deleteRows []rowName
	putLinks   []Link
	cutLinks   []Link
	changes    []batchChange
}

// A batchChange says what the batch did to a document.
type batchChange struct {
	typ        *contenttypes.ContentType
	documentID string
	action     Action
}

type rowName struct {
	typ    *contenttypes.ContentType
	doc    uint64
	status Status
	locale string
}

// PutRow adds a version, or replaces the one with the same type, document, status and locale.
func (b *Batch) PutRow(r *Row) { b.putRows = append(b.putRows, r) }

// DeleteRow removes a version, if there is one. It does not remove links: use DeleteLink for those.
func (b *Batch) DeleteRow(t *contenttypes.ContentType, doc uint64, status Status, locale string) {
	b.deleteRows = append(b.deleteRows, rowName{t, doc, status, locale})
}

// PutLink adds a link. To move a link, delete it at its old positions and put it at the new ones.
func (b *Batch) PutLink(l Link) { b.putLinks = append(b.putLinks, l) }

// DeleteLink removes a link. Its positions must be the stored ones.
func (b *Batch) DeleteLink(l Link) { b.cutLinks = append(b.cutLinks, l) }

// Log says what the batch does to a document, for readers of the log.
func (b *Batch) Log(t *contenttypes.ContentType, documentID string, action Action) {
	b.changes = append(b.changes, batchChange{t, documentID, action})
}

// Empty reports whether the batch changes nothing.
func (b *Batch) Empty() bool {
	return len(b.putRows)+len(b.deleteRows)+len(b.putLinks)+len(b.cutLinks) == 0
}

// Apply makes the changes of a batch: first all deletions, then all additions. Later reads in the transaction see them.
func (tx *Tx) Apply(b *Batch) error {
	if b.Empty() {
		return nil
	}
	for _, r := range b.putRows {
		if !tx.bound.has(r.Type) {
			return ErrRedefined
		}
	}
	if err := tx.begin(); err != nil {
		return err
	}
	if err := tx.apply(b); err != nil {
		tx.half = err
		return err
	}
	return nil
}

// apply changes rows and links as a batch says. After an error, the transaction holds a part of the changes, and must
// not be committed.
func (tx *Tx) apply(b *Batch) error {
	tx.applied++
	tx.adds = tx.adds || len(b.putRows) > 0 || len(b.putLinks) > len(b.cutLinks)
	if tx.joint == nil || tx.joint.batches == 0 {
		tx.sequence++
	}
	for _, l := range b.cutLinks {
		tx.reviseLink(tx.number(l.From), tx.number(l.To))
		if err := tx.deleteLink(l); err != nil {
			return fmt.Errorf("delete link %s.%s: %w", l.Attr.Owner.UID, l.Attr.Name, err)
		}
	}
	for _, r := range b.deleteRows {
		if err := tx.deleteRow(r); err != nil {
			return fmt.Errorf("delete row of %s: %w", r.typ.UID, err)
		}
	}
	for _, r := range b.putRows {
		if err := tx.putRow(r); err != nil {
			return fmt.Errorf("put row of %s: %w", r.Type.UID, err)
		}
	}
	for _, l := range b.putLinks {
		tx.reviseLink(tx.number(l.From), tx.number(l.To))
		if err := tx.putLink(l); err != nil {
			return fmt.Errorf("put link %s.%s: %w", l.Attr.Owner.UID, l.Attr.Name, err)
		}
	}
	for _, c := range b.changes {
		tx.log.changes = append(tx.log.changes, logentry.DocChange{Schema: tx.bound.of(&c.typ.Schema).number,
			DocumentID: []byte(c.documentID), Action: c.action})
	}
	if tx.joint != nil {
		return tx.joint.join(b)
	}
	return tx.append(BatchEntry, logentry.Conversion{})
}

// useLocale returns the number of a locale, and has the transaction store the code if it is new.
func (tx *Tx) useLocale(code string) (uint16, error) {
	n, err := tx.store.locales.number(code)
	tx.localesUsed = max(tx.localesUsed, int(n))
	return n, err
}

func (tx *Tx) putRow(r *Row) error {
	b := tx.bound.of(&r.Type.Schema)
	locale, err := tx.useLocale(r.Locale)
	if err != nil {
		return err
	}
	id, err := parseID(r.Values[b.system.id.Index].JSON)
	if err != nil {
		return err
	}
	data, err := appendRecord(nil, tx.bound, &r.Type.Schema, id, r.Values)
	if err != nil {
		return err
	}
	tx.items = max(tx.items, lastItem(r.Values))
	if tx.joint != nil {
		tx.joint.size += len(data)
	}
	return tx.putRecord(Record{table: b.current, slot: format.NewSlot(locale, r.Status), doc: r.Doc, snap: tx.Snapshot,
		data: data})
}

// putRecord puts an encoded row, in memory that is used nowhere else.
func (tx *Tx) putRecord(r Record) error {
	b := r.table.bound
	old, kind := tx.row(b, r.slot, r.doc), logentry.AddRow
	if old.Exists() && old.ID() == r.ID() {
		kind = logentry.PutRow
	}
	tx.logRow(logentry.Op{Kind: kind, Schema: b.number, Slot: r.slot, Doc: r.doc, Data: r.data}, old.data)
	if err := tx.reindex(b, old, r); err != nil {
		return err
	}
	if !old.Exists() {
		if err := tx.addVersion(b, format.Unquote(r.JSON(b.system.documentID)), r.doc, r.slot); err != nil {
			return err
		}
	}
	tx.rowIDs[b.number] = max(tx.lastRowID(b.number), r.ID())
	tx.docs = max(tx.docs, r.doc)
	tx.revise(b.number)
	return tx.bucket(format.Rows).Put(format.AppendRowKey(make([]byte, 0, format.RowKeyLen), b.number, r.slot, r.doc),
		freshValue{r.data})
}

// lastItem returns the greatest component id in a row.
func lastItem(values []Value) uint64 {
	last := uint64(0)
	for _, v := range values {
		for _, item := range v.Items {
			last = max(last, item.ID, lastItem(item.Values))
		}
	}
	return last
}

func (tx *Tx) deleteRow(r rowName) error {
	sl, ok := tx.slot(r.typ, r.status, r.locale)
	if !ok {
		return nil
	}
	if old := tx.row(tx.bound.of(&r.typ.Schema), sl, r.doc); old.Exists() {
		return tx.removeRow(old)
	}
	return nil
}

// removeRow removes a version, its index entries, and its slot in the list of versions.
func (tx *Tx) removeRow(r Record) error {
	b := r.table.bound
	id := bytes.Clone(format.Unquote(r.JSON(b.system.documentID)))
	tx.logRow(logentry.Op{Kind: logentry.DeleteRow, Schema: b.number, Slot: r.slot, Doc: r.doc, Data: id}, r.data)
	if err := tx.reindex(b, r, Record{}); err != nil {
		return err
	}
	if err := tx.removeVersion(b, id, r.slot); err != nil {
		return err
	}
	tx.revise(b.number)
	return tx.bucket(format.Rows).Delete(format.AppendRowKey(nil, b.number, r.slot, r.doc))
}

// reindex replaces the index entries of the row old by those of next. Either may be the zero Record, for none.
func (tx *Tx) reindex(b *boundSchema, old, next Record) error {
	for _, a := range b.indexed {
		var was, is []byte
		if old.Exists() {
			was = indexKey(b, a, old)
		}
		if next.Exists() {
			is = indexKey(b, a, next)
		}
		if bytes.Equal(was, is) {
			continue
		}
		if was != nil {
			tx.indexer.remove(was)
		}
		if is != nil {
			tx.indexer.add(is, next.doc)
		}
	}
	for i := range b.inner {
		tx.reindexInner(b, &b.inner[i], old, next)
	}
	return tx.reindexTexts(b, old, next)
}

// indexKey returns the key of a row in the index of an attribute. In the index of the id the value is left out, since
// the key ends with the id anyway.
func indexKey(b *boundSchema, a *contenttypes.Attribute, r Record) []byte {
	key := format.AppendSpace(make([]byte, 0, format.SpaceLen+format.MaxIndexed+16), b.number, b.fields[a.Index],
		r.slot)
	if a.Type != contenttypes.ID {
		key = format.AppendOrdered(key, a.Type, r.JSON(a))
	}
	return be.AppendUint64(key, r.ID())
}

// addVersion adds a slot to the list of versions of a document. The list is in order, so that it does not tell in which
// order they were added.
func (tx *Tx) addVersion(b *boundSchema, documentID []byte, doc uint64, sl format.Slot) error {
	v := bytes.Clone(tx.document(b, string(documentID)))
	if v == nil {
		v = be.AppendUint64(nil, doc)
	} else if format.Number(v) != doc {
		return fmt.Errorf("documentId %s belongs to another document", documentID)
	}
	at := 8
	for at+2 <= len(v) && format.Slot(be.Uint16(v[at:])) < sl {
		at += 2
	}
	v = slices.Insert(v, at, byte(sl>>8), byte(sl))
	tx.put(format.Docs, format.DocKey(b.number, string(documentID)), freshValue{v})
	return nil
}

func (tx *Tx) removeVersion(b *boundSchema, documentID []byte, sl format.Slot) error {
	old := tx.document(b, string(documentID))
	if len(old) < 8 {
		return fmt.Errorf("document %s is not listed", documentID)
	}
	v := bytes.Clone(old[:8])
	for rest := old[8:]; len(rest) >= 2; rest = rest[2:] {
		if format.Slot(be.Uint16(rest)) != sl {
			v = append(v, rest[:2]...)
		}
	}
	key := format.DocKey(b.number, string(documentID))
	if len(v) == 8 {
		tx.delete(format.Docs, key)
	} else {
		tx.put(format.Docs, key, freshValue{v})
	}
	return nil
}

func (tx *Tx) linkEnds(l Link) (from, to format.End, err error) {
	if _, err = tx.useLocale(l.From.Locale); err == nil {
		_, err = tx.useLocale(l.To.Locale)
	}
	return tx.number(l.From), tx.number(l.To), err
}

func (tx *Tx) linkKeys(l Link) (from, to format.End, fromKey, toKey []byte, err error) {
	from, to, err = tx.linkEnds(l)
	fromKey = be.AppendUint64(tx.appendLinkList(make([]byte, 0, format.LinkKeyLen), l.Attr, format.FromSide, l.Set,
		from), l.FromPos)
	toKey = be.AppendUint64(tx.appendLinkList(make([]byte, 0, format.LinkKeyLen), l.Attr, format.ToSide, l.Set, to),
		l.ToPos)
	return from, to, fromKey, toKey, err
}

// linkOp returns a link in numbers, given its ends.
func (tx *Tx) linkOp(l Link, from, to format.End) logentry.LinkOp {
	o := logentry.LinkOp{Set: l.Set, From: from, To: to, FromPos: l.FromPos, ToPos: l.ToPos}
	o.Schema, o.Field = tx.bound.relation(l.Attr)
	return o
}

func (tx *Tx) putLink(l Link) error {
	from, to, fromKey, toKey, err := tx.linkKeys(l)
	if err != nil {
		return err
	}
	if tx.linkAt(from, fromKey) != nil || tx.linkAt(to, toKey) != nil {
		return fmt.Errorf("positions %d and %d: one is taken", l.FromPos, l.ToPos)
	}
	tx.logLink(logentry.PutLink, tx.linkOp(l, from, to))
	tx.put(format.Links, fromKey, freshValue{format.NewLink(to, l.ToPos)})
	tx.put(format.Links, toKey, freshValue{format.NewLink(from, l.FromPos)})
	return nil
}

func (tx *Tx) deleteLink(l Link) error {
	from, to, fromKey, toKey, err := tx.linkKeys(l)
	if err != nil {
		return err
	}
	if !format.LinkIs(tx.linkAt(from, fromKey), to, l.ToPos) || !format.LinkIs(tx.linkAt(to, toKey), from, l.FromPos) {
		return fmt.Errorf("there is no such link at positions %d and %d", l.FromPos, l.ToPos)
	}
	tx.logLink(logentry.DeleteLink, tx.linkOp(l, from, to))
	tx.delete(format.Links, fromKey)
	tx.delete(format.Links, toKey)
	return nil
}

// ErrTooLarge: the batches of one call of Together change too much for one transaction.
var ErrTooLarge = errors.New("the writes of one transaction change too much")

// maxTogether is how many bytes the batches of one call of Together may change: the rows and links that they put and
// delete, and what the entry holds of replaced rows, since all of that is in memory until the commit. A single batch
// may change more, as it may without Together. Only tests change it.
var maxTogether = 32 << 20

// linkSize is what a link counts towards maxTogether.
const linkSize = 64

// A joint is what a transaction knows about the batches that become one entry of the log.
type joint struct {
	batches   int
	size      int               // of what they have changed, in bytes
	revisions map[uint16]uint64 // those of the transaction before the first batch
}

// Together calls f, and makes one entry of the log of all batches that f applies. So whoever reads the log, or follows
// it, has all of them or none. The context of the request bounds the whole of f: when it ends before f returns, nothing
// is kept. If f returns an error after it has applied a batch, nothing of the request is kept either.
//
// An entry changes each version at most once: a version that several of the batches change has one change in the entry,
// from what it was before all of them to what it is after them.
func (tx *Tx) Together(f func() error) error {
	if tx.joint != nil {
		return f()
	}
	tx.joint = &joint{revisions: maps.Clone(tx.revisions)}
	defer func() { tx.joint = nil }()
	err := f()
	if tx.joint.batches == 0 {
		return err
	}
	if err == nil && tx.joint.batches > 1 && tx.logging() {
		err = tx.fold()
	}
	if err == nil {
		err = tx.append(BatchEntry, logentry.Conversion{})
	}
	if err != nil {
		tx.half = err
	}
	return err
}

// join counts a batch that was applied, and returns an error if it is one too many.
func (j *joint) join(b *Batch) error {
	j.batches++
	j.size += linkSize * (len(b.putLinks) + len(b.cutLinks))
	if j.size > maxTogether && j.batches > 1 {
		return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxTogether>>20)
	}
	return nil
}

// fold folds the changes that the batches have recorded. A replica takes the revisions of types from the changes in an
// entry, so those of the transaction become the same: a type whose versions were only added and removed again has not
// changed.
func (tx *Tx) fold() error {
	l := &tx.store.log
	folded, several, err := foldOps(l.ops)
	if err != nil || !several {
		return err
	}
	l.ops, tx.revisions = folded, tx.joint.revisions
	return (&Entry{Ops: folded}).EachOp(func(o logentry.Op) error {
		if o.Kind.OfRow() {
			tx.revise(o.Schema)
		} else {
			tx.reviseLink(o.Link.From, o.Link.To)
		}
		return nil
	})
}

// A versionRef identifies a version in the changes of an entry.
type versionRef struct {
	rowRef
	slot format.Slot
}

// A foldedRow is what several changes of one version have become so far.
type foldedRow struct {
	left   int    // how many changes follow
	known  bool   // whether before is set
	before []byte // the row before the first change, nil for none
}

// foldOps returns changes of rows and links in which each version is changed at most once, at the place of its last
// change. several is false if that is so already.
func foldOps(ops []byte) (folded []byte, several bool, err error) {
	rows := map[versionRef]*foldedRow{}
	e := Entry{Ops: ops}
	err = e.EachOp(func(o logentry.Op) error {
		if o.Kind.OfRow() {
			if r := rows[versionOf(o)]; r != nil {
				r.left++
				several = true
			} else {
				rows[versionOf(o)] = &foldedRow{left: 1}
			}
		}
		return nil
	})
	if err != nil || !several {
		return ops, false, err
	}
	folded = make([]byte, 0, len(ops))
	err = e.EachOp(func(o logentry.Op) (err error) {
		if !o.Kind.OfRow() {
			folded = logentry.AppendLinkOp(folded, o.Kind, o.Link)
			return nil
		}
		r := rows[versionOf(o)]
		if r.left--; !r.known && r.left > 0 {
			r.known = true
			r.before, err = o.Before()
		} else if !r.known {
			folded = logentry.AppendRowOp(folded, o)
		} else if r.left == 0 {
			folded = r.append(folded, o)
		}
		return err
	})
	return folded, true, err
}

func versionOf(o logentry.Op) versionRef { return versionRef{rowRef{o.Schema, o.Doc}, o.Slot} }

// append appends the one change that several changes of a version have become; last is the last of them. A version that
// was not there before them and is not there after them has not changed.
func (r *foldedRow) append(b []byte, last logentry.Op) []byte {
	if last.Kind.RemovesRow() && r.before == nil {
		return b
	}
	if !last.Kind.RemovesRow() {
		last.Kind = logentry.AddRow
		if r.before != nil && bytes.Equal(format.ID(r.before), format.ID(last.Data)) {
			last.Kind = logentry.PutRow
		}
	}
	last.Replaced = logentry.ReplacedOfRow(r.before, last, nil)
	return logentry.AppendRowOp(b, last)
}

// MaxID is the greatest id that a row or component may be given from outside. Numbers in the file have 48 bits, and
// this leaves half of them for new ids.
const MaxID = 1<<47 - 1

// LastRowID returns the greatest id that a row of a type ever had.
func (s *Snapshot) LastRowID(t *contenttypes.ContentType) uint64 {
	return s.lastRowID(s.bound.of(&t.Schema).number)
}

func (s *Snapshot) lastRowID(schema uint16) uint64 {
	return getNumber(s.bucket(format.Meta), format.SchemaKey(format.PrefixRowID, schema))
}

// LastComponentID returns the greatest id that a component of any kind ever had.
func (s *Snapshot) LastComponentID() uint64 { return getNumber(s.bucket(format.Meta), format.KeyItems) }

// NewDoc returns the number of a new document.
func (tx *Tx) NewDoc() uint64 { tx.docs++; return tx.docs }

// NewComponentID returns the id of a new component. Ids begin at 1 and are never given twice.
func (tx *Tx) NewComponentID() uint64 { tx.items++; return tx.items }

// NewRowID returns the id of a new row of a type. Ids begin at 1 and are never given twice.
func (tx *Tx) NewRowID(t *contenttypes.ContentType) uint64 {
	n := tx.bound.of(&t.Schema).number
	tx.rowIDs[n] = tx.lastRowID(n) + 1
	return tx.rowIDs[n]
}

// LastRowID returns the greatest id that a row of a type ever had, in this transaction or before.
func (tx *Tx) LastRowID(t *contenttypes.ContentType) uint64 {
	return tx.lastRowID(tx.bound.of(&t.Schema).number)
}

func (tx *Tx) lastRowID(schema uint16) uint64 {
	if id, ok := tx.rowIDs[schema]; ok {
		return id
	}
	return tx.Snapshot.lastRowID(schema)
}

// LastComponentID returns the greatest id that a component of any kind ever had, in this transaction or before.
func (tx *Tx) LastComponentID() uint64 { return tx.items }

// PassRowID makes NewRowID return only ids greater than id for a type.
func (tx *Tx) PassRowID(t *contenttypes.ContentType, id uint64) {
	n := tx.bound.of(&t.Schema).number
	tx.rowIDs[n] = max(tx.lastRowID(n), id)
}

// PassComponentID makes NewComponentID return only ids greater than id.
func (tx *Tx) PassComponentID(id uint64) { tx.items = max(tx.items, id) }
