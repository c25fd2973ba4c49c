package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// ErrTooLarge: the batches of one call of Together change too much for one transaction.
var ErrTooLarge = errors.New("the writes of one transaction change too much")

// maxTogether is how many bytes the batches of one call of Together may change: the rows and links that they put and delete, and what the entry holds
// of former rows, since all of that is in memory until the commit. A single batch may change more, as it may without Together. Only tests change it.
var maxTogether = 32 << 20

// linkSize is what a link counts towards maxTogether.
const linkSize = 64

// A joint is what a transaction knows about the batches that become one entry of the log.
type joint struct {
	batches   int
	size      int               // of what they have changed, in bytes
	revisions map[uint16]uint64 // those of the transaction before the first batch
}

// Together calls f, and makes one entry of the log of all batches that f applies. So whoever reads the log, or follows it, has all of them or
// none. The context of the request bounds the whole of f: when it ends before f returns, nothing is kept. If f returns an error after it has
// applied a batch, nothing of the request is kept either.
//
// An entry changes each version at most once: a version that several of the batches change has one change in the entry, from what it was before
// all of them to what it is after them.
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

// fold folds the changes that the batches have recorded. A replica takes the revisions of types from the changes in an entry, so those of the
// transaction become the same: a type whose versions were only added and removed again has not changed.
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

// foldOps returns changes of rows and links in which each version is changed at most once, at the place of its last change. several is false if
// that is so already.
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

// append appends the one change that several changes of a version have become; last is the last of them. A version that was not there before
// them and is not there after them has not changed.
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
