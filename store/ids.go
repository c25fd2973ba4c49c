package store

import (
	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// MaxID is the greatest id that a row or component may be given from outside. Numbers in the file have 48 bits, and this leaves half of
// them for new ids.
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
