package store

import (
	"math"

	"lectern/contenttypes"
)

// everyType is the number under which the revision of a conversion is kept. A conversion changes how rows of any type are read, so it
// counts as a change of them all. No schema has this number.
const everyType = math.MaxUint16

// revise notes that the transaction changes the rows of a schema, or what they lead to.
func (tx *Tx) revise(schema uint16) { tx.revisions[schema] = tx.sequence }

// reviseLink notes that a link changes what an answer about its owner shows. The owner of a component's link has another row than the
// component; then the link counts for its target.
func (tx *Tx) reviseLink(from, to ref) {
	if b := tx.bound.numbered(from.schema); b != nil && b.typ != nil {
		tx.revise(from.schema)
		return
	}
	tx.revise(to.schema)
}

// AppendRevisions appends what identifies the content of some types: the epoch of the store, the last conversion, and the last change of
// each type or of a link between them. Two snapshots of any stores that append the same, for the same types in the same order, show the same
// rows of these types, with the same links between them. With nil for the types it identifies the whole content.
//
// It reads no rows.
func (s *Snapshot) AppendRevisions(dst []byte, types []*contenttypes.ContentType) []byte {
	meta := s.bucket(metas)
	dst = append(dst, textOf(meta.Get(keyEpoch))...)
	if types == nil {
		return be.AppendUint64(dst, s.Sequence())
	}
	dst = be.AppendUint64(dst, s.revision(everyType))
	for _, t := range types {
		dst = be.AppendUint64(dst, s.revision(s.bound.of(&t.Schema).number))
	}
	return dst
}

func (s *Snapshot) revision(schema uint16) uint64 {
	var buf [16]byte
	return getNumber(s.bucket(metas), be.AppendUint16(append(buf[:0], prefixRev...), schema))
}
