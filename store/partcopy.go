package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// copiedOps is how many bytes of changes an entry of CopyPart has, beside the last change.
const copiedOps = 256 << 10

// CopyPart calls yield with entries that make an empty file a partial replica of the snapshot: see FillReplica. All of them have the sequence
// of the snapshot. Other goroutines can write to the store meanwhile.
func (s *Snapshot) CopyPart(p Part, yield func(*Entry) error) error {
	s.store.forgetChecks() // the copy gets checksums of its own, so each page is checked again before it is copied
	at, err := s.Position()
	if err != nil {
		return err
	}
	meta := s.bucket(format.Meta)
	if meta.Get(format.KeyPending) != nil {
		return fmt.Errorf("copy a part of the store: %w", ErrRedefined)
	}
	c := partCopy{filter: s.partFilter(p), yield: yield, entry: Entry{
		Sequence: at.Sequence, Epoch: at.Epoch, Time: time.Now(), By: system, Partial: true,
		Docs: getNumber(meta, format.KeyDocs), Items: getNumber(meta, format.KeyItems),
	}}
	if last := s.storedEntry(at.Sequence); last != nil {
		c.entry.WholeHash = logentry.HashOf(at.Sequence, last)
	}
	_, known, err := loadCatalog(meta)
	if err != nil {
		return err
	}
	first := c.entry
	first.Kind = ConversionEntry
	first.Conversion.Catalog = bytes.Clone(format.WithoutChecksum(meta.Get(format.KeyCatalog)))
	if first.Locales = known.codes[1:]; len(first.Locales) > 0 {
		first.FirstLocale = 1
	}
	if err := c.send(first); err != nil {
		return err
	}
	for number, has := range c.filter.schemas {
		if has {
			s.eachKey(format.Rows, be.AppendUint16(nil, uint16(number)), func(k, v []byte) bool { return c.row(k, v) == nil })
		}
	}
	for number, has := range c.filter.schemas {
		if has {
			s.eachKey(format.Links, be.AppendUint16(nil, uint16(number)), func(k, v []byte) bool { return c.link(k, v) == nil })
		}
	}
	if s.failed != nil {
		return s.failed
	}
	return errors.Join(c.failed, c.flush())
}

// A partCopy makes entries of rows and links.
type partCopy struct {
	filter *partFilter
	entry  Entry // the next one
	yield  func(*Entry) error
	failed error
}

func (c *partCopy) send(e Entry) error {
	e.Encoded = e.Append(nil)
	c.failed = c.yield(&e)
	return c.failed
}

// flush sends the changes that are gathered.
func (c *partCopy) flush() error {
	if c.failed == nil && len(c.entry.Ops) > 0 {
		c.failed = c.send(c.entry)
		c.entry.Ops = c.entry.Ops[:0]
	}
	return c.failed
}

// full sends the changes that are gathered if they are many.
func (c *partCopy) full() error {
	if len(c.entry.Ops) < copiedOps {
		return c.failed
	}
	return c.flush()
}

func (c *partCopy) row(k, v []byte) error {
	o := logentry.Op{Kind: logentry.AddRow, Schema: be.Uint16(k), Slot: format.Slot(be.Uint16(k[2:])), Doc: be.Uint64(k[4:])}
	if !c.filter.hasRow(o.Schema, o.Slot) {
		return c.failed
	}
	o.Data = format.WithoutChecksum(v)
	c.entry.Ops = logentry.AppendRowOp(c.entry.Ops, o)
	return c.full()
}

func (c *partCopy) link(k, v []byte) error {
	if format.Side(k[4]) != format.FromSide {
		return c.failed
	}
	if l := linkOpAt(k, v); c.filter.hasLink(l) {
		c.entry.Ops = logentry.AppendLinkOp(c.entry.Ops, logentry.PutLink, l)
	}
	return c.full()
}

// NewPartialReplica creates the file of a partial replica at path, in place of one that is there. Fill has to give it its content before it is
// opened otherwise.
func NewPartialReplica(path string, p Part) (*Replica, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r, err := OpenReplica(path, Options{})
	if err != nil {
		return nil, err
	}
	r.file.part.Store(&p)
	r.filling = true
	return r, nil
}

// Fill applies entries of CopyPart, in their order, to a file that NewPartialReplica has created.
func (r *Replica) Fill(list ...*Entry) error { return r.applier.apply(list) }

// fill moves to the sequence of an entry of CopyPart. All of them have the same.
func (tx *Tx) fill(e *Entry) { tx.sequence, tx.log.before = e.Sequence, e.Sequence }

// storePart stores which part the file has, and the hash of the origin's entry that its content is behind.
func (r *applier) storePart(tx *Tx, last EntryHash, epoch Epoch) error {
	meta := tx.bucket(format.Meta)
	if r.filling {
		text, err := json.Marshal(r.file.part.Load())
		if err != nil {
			return err
		}
		if err := meta.Put(format.KeyPart, copied(text)); err != nil {
			return err
		}
		if err := meta.Put(format.KeyIdentity, freshValue{partIdentity(epoch, text)}); err != nil {
			return err
		}
	}
	return meta.Put(format.KeyPartHash, freshValue{[]byte(last.String())})
}

// partIdentity returns the identity of a partial replica. Two copies of the same part have the same, as copies of a whole store do.
func partIdentity(epoch Epoch, part []byte) []byte {
	sum := sha256.Sum256(append(epoch[:], part...))
	return []byte(hex.EncodeToString(sum[:16]))
}
