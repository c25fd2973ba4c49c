package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// The log has an entry for each batch and for each transaction of a conversion, in the bucket log. An entry is stored
// by the transaction that it describes. Whoever applies all entries in order to an empty store has the same content
// (see Replica).
//
// The key of an entry is its sequence u64. An entry that is longer than maxPart is stored in parts: the others follow
// under the keys sequence u64 · number of the part u32, from 1 on.
//
// The counters logBefore and logBytes are in the bucket meta. The entries that count are those after the sequence
// logBefore. They have no gaps and lead up to the present sequence. Keys up to logBefore wait for a later transaction
// to remove them.

// LogLimits bound the log. When an entry is older than Keep, or the log is larger than MaxSize, later writes remove the
// oldest entries, a bounded number in each transaction.
type LogLimits struct {
	Keep    time.Duration // 0: defaultKeep
	MaxSize int64         // bytes of keys and values; 0: defaultMaxSize
	Off     bool          // keep no log; a log that is there is removed
}

const (
	defaultKeep    = 30 * 24 * time.Hour
	defaultMaxSize = 1 << 30
)

func (l LogLimits) withDefaults() LogLimits {
	if l.Keep == 0 {
		l.Keep = defaultKeep
	}
	if l.MaxSize == 0 {
		l.MaxSize = defaultMaxSize
	}
	return l
}

const (
	// maxPart is how long a part of an entry is at most. Two parts fill four pages of the file, so that little of them
	// is left empty, and a commit that appends the next entry does not write long ones again.
	maxPart = 8100
	// trimmedAtOnce is how many keys a transaction removes at most, beside as many as it has added.
	trimmedAtOnce = 1000
	// trimEvery is how often a write looks at the age of the oldest entry.
	trimEvery = time.Minute
	// trimShare is the part of LogLimits.MaxSize by which the log is made smaller when it is too large, so that not
	// every write does it.
	trimShare = 64
	// maxKeptOps bounds the memory that is kept from one batch for the next.
	maxKeptOps = 1 << 20
)

// An eventLog is what a file knows about its log. Only the writer goroutine uses it, or the one goroutine that has the
// file before there is a writer.
type eventLog struct {
	limits   LogLimits
	epoch    Epoch
	trimmed  time.Time // when the age of the oldest entry was looked at, zero if there may be more to remove
	ops      []byte    // memory for the changes of the present batch
	replaced []byte    // memory for the replaced row of one change, as its op has it
	touches  openTouches
}

// loggedState is what a transaction knows about the log.
type loggedState struct {
	by            Principal
	before, bytes uint64
	added         int                  // keys that the transaction has added
	entered       int                  // memory of the entries that the transaction has added, in bytes
	locales       int                  // how many locale codes the entries have, those of earlier transactions included
	changes       []logentry.DocChange // of the present batch
	copying       bool                 // entries of another log are applied and stored as they are
	last          []byte               // the last entry of the log as it is stored, if the transaction has added it
	lastSequence  uint64
	answer        []byte               // to be kept, with its key, for the next entry; nil if there is none
	proposal      logentry.Transaction // what the other nodes of a cluster have to apply

	blocked   int    // how many of the open touches are in blocks that the transaction has stored
	converted uint64 // the last entry that has converted content
}

type principalKey struct{}

// WithPrincipal returns a context whose writes are logged as made by p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// system is the Principal of writes that nobody has asked for: those of the server itself.
var system = Principal{Kind: "system"}

// PrincipalOf returns who writes with a context.
func PrincipalOf(ctx context.Context) Principal {
	if p, ok := ctx.Value(principalKey{}).(Principal); ok {
		return p
	}
	return system
}

// logging reports whether the changes of rows and links are recorded.
func (tx *Tx) logging() bool { return !tx.store.log.limits.Off && !tx.log.copying }

// logRow records the change of a row, given the row that it replaces or removes, which may be nil.
func (tx *Tx) logRow(o logentry.Op, old []byte) {
	if tx.logging() {
		l := &tx.store.log
		if o.Replaced = logentry.ReplacedOf(old, o, l.replaced[:0]); o.Replaced.Kind == logentry.ReplacedFields {
			l.replaced = o.Replaced.Data
		}
		if tx.joint != nil {
			tx.joint.size += len(o.Replaced.Data)
		}
		l.ops = logentry.AppendRowOp(l.ops, o)
	}
}

func (tx *Tx) logLink(kind logentry.OpKind, link logentry.LinkOp) {
	if tx.logging() {
		l := &tx.store.log
		l.ops = logentry.AppendLinkOp(l.ops, kind, link)
	}
}

// logLinkKey records the change of a link that is given as it is stored. A link is stored under the keys of both ends;
// the change is recorded once, with the key of the end that has the attribute.
func (tx *Tx) logLinkKey(kind logentry.OpKind, k, v []byte) {
	if format.Side(k[4]) != format.FromSide {
		return
	}
	tx.logLink(kind, linkOpAt(k, v))
}

// linkOpAt returns a link that is given as it is stored for the end that has the attribute.
func linkOpAt(k, v []byte) logentry.LinkOp {
	l := logentry.LinkOp{Schema: be.Uint16(k), Field: be.Uint16(k[2:]), Set: LinkSet(k[5])}
	l.From, l.FromPos = format.OwnEnd(k), be.Uint64(k[format.LinkListLen:])
	l.To, l.ToPos = format.ParseLink(v)
	return l
}

// append stores an entry that has the changes recorded since the last one.
func (tx *Tx) append(kind EntryKind, conversion logentry.Conversion) error {
	f := tx.store.file
	if f.log.limits.Off {
		tx.log.before, tx.log.answer = tx.sequence, nil
		return nil
	}
	e := Entry{
		Sequence: tx.sequence, Epoch: f.log.epoch, Time: time.Now(), By: tx.log.by, Kind: kind,
		Previous: tx.previousHash(),
		Docs:     tx.docs, Items: tx.items, Changes: tx.log.changes, Conversion: conversion, Answer: tx.log.answer,
		Ops: f.log.ops,
	}
	if tx.localesUsed > tx.log.locales {
		e.FirstLocale = uint64(tx.log.locales) + 1
		e.Locales = f.locales.current.Load().codes[e.FirstLocale : tx.localesUsed+1]
		tx.log.locales = tx.localesUsed
	}
	size := 160 + len(e.Ops) + len(conversion.Catalog) + len(conversion.Pending) + len(conversion.Step) +
		48*len(e.Changes) + len(e.Answer)
	raw := e.Append(make([]byte, 0, size))
	tx.log.changes, tx.log.answer = nil, nil
	err := tx.storeEntry(&e, raw)
	if f.log.ops, f.log.replaced = f.log.ops[:0], f.log.replaced[:0]; cap(f.log.ops)+cap(f.log.replaced) > maxKeptOps {
		f.log.ops, f.log.replaced = nil, nil
	}
	return err
}

// storeEntry puts an entry, which is also given encoded, into the log. raw must not be changed afterwards.
func (tx *Tx) storeEntry(e *Entry, raw []byte) error {
	if err := tx.touch(e); err != nil {
		return err
	}
	tx.log.last, tx.log.lastSequence = raw, e.Sequence
	tx.log.entered += cap(raw) // of a compressed entry more than its length
	if tx.proposes() {
		tx.log.proposal.Entries = append(tx.log.proposal.Entries, logentry.EncodedEntry{Sequence: e.Sequence, Raw: raw})
	}
	b := tx.bucket(format.Log)
	b.bolt.FillPercent = 1 // keys are only added at the end
	key := be.AppendUint64(make([]byte, 0, 12), e.Sequence)
	for part := uint32(0); part == 0 || len(raw) > 0; part++ {
		if part > 0 {
			key = be.AppendUint32(key[:8], part)
		}
		n := min(len(raw), maxPart)
		value := raw[:n:n]
		if raw = raw[n:]; len(raw) == 0 {
			value = value[:n:cap(value)]
		}
		if err := b.Put(key, freshValue{value}); err != nil {
			return err
		}
		tx.log.bytes += uint64(len(key) + n + format.ChecksumLen)
		tx.log.added++
	}
	return nil
}

// trimLog removes entries that LogLimits do not allow, and keys that no longer count, oldest first.
func (tx *Tx) trimLog() error {
	l := &tx.store.log
	now := time.Now()
	tooLarge := tx.log.bytes > uint64(l.limits.MaxSize)
	follows := tx.log.copying && tx.store.propose == nil // the age of entries is for the origin to judge
	if !tooLarge && (follows || now.Sub(l.trimmed) < trimEvery) {
		return nil
	}
	l.trimmed = now
	least := uint64(l.limits.MaxSize)
	if tooLarge {
		least -= least / trimShare
	}
	keys, more, err := tx.trimmable(least, now.Add(-l.limits.Keep), trimmedAtOnce+tx.log.added)
	if err != nil {
		return err
	}
	if more {
		l.trimmed = time.Time{}
	}
	for _, k := range keys {
		if err := tx.bucket(format.Log).Delete(k); err != nil {
			return err
		}
	}
	return tx.trimTouches()
}

// trimmable returns the keys to remove, most of them at most, and counts the log without them. more reports whether
// others follow.
func (tx *Tx) trimmable(least uint64, oldest time.Time, most int) (keys [][]byte, more bool, err error) {
	c := tx.bucket(format.Log).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		sequence := be.Uint64(k)
		if sequence > tx.log.before && tx.log.bytes <= least {
			made, err := logentry.EntryTime(v)
			if err != nil || !made.Before(oldest) {
				return keys, false, err
			}
		}
		if len(keys) == most || sequence == tx.sequence {
			return keys, len(keys) == most, nil
		}
		tx.log.before = max(tx.log.before, sequence)
		tx.log.bytes -= min(tx.log.bytes, uint64(len(k)+len(v)))
		keys = append(keys, bytes.Clone(k))
	}
	return keys, false, nil
}

// The bucket history says which entries of the log changed a document, so that nobody has to read the whole log for
// that. It is made from the entries alone, and has a block of touches for each stretch of the log. The key of a block
// is the sequence of the last entry of its stretch; the next stretch begins after that. The entries after the last
// block are not in the bucket yet: there are few, and readers go through all of them.
//
// Random keys would cost each write a page of the file, and each removal from the log another one. Blocks are appended
// and removed as the entries are, in their order.
//
// The counter converted in the bucket meta is the last entry that has converted content.

// openTouches are the touches of the entries after the last block. Only the goroutine that writes uses them.
type openTouches struct {
	list   []logentry.Touch
	kept   int  // how many of list are those of transactions that were committed
	loaded bool // whether list was read from the log
}

// touch adds what an entry of this transaction changed to the open stretch, and stores a block if the stretch ends with
// the entry.
func (tx *Tx) touch(e *Entry) error {
	if err := tx.loadTouches(); err != nil {
		return err
	}
	open := &tx.store.log.touches
	if e.Conversion.Converted {
		tx.log.converted = e.Sequence
	}
	open.list = e.AppendTouches(open.list)
	stretch := open.list[tx.log.blocked:]
	if len(stretch) < logentry.BlockTouches && e.Sequence%logentry.BlockEntries > 0 {
		return nil
	}
	block := logentry.NewTouchBlock(e.Sequence, slices.Clone(stretch))
	tx.log.blocked = len(open.list)
	key := be.AppendUint64(nil, e.Sequence)
	tx.log.bytes += uint64(len(key) + len(block.Data) + format.ChecksumLen)
	return tx.bucket(format.History).Put(key, freshValue{block.Data})
}

// loadTouches reads the open touches from the log, unless that was done. It must be called before the transaction
// appends its first entry.
func (tx *Tx) loadTouches() error {
	open := &tx.store.log.touches
	if open.loaded {
		return nil
	}
	list, err := tx.unblocked(0)
	if err == nil {
		*open = openTouches{list: list, kept: len(list), loaded: true}
	}
	return err
}

// keepTouches is called when a transaction was committed that has stored blocks of the first so many open touches.
func (l *eventLog) keepTouches(blocked int) {
	l.touches.list = slices.Delete(l.touches.list, 0, blocked)
	l.touches.kept = len(l.touches.list)
}

// unblocked returns the touches of the entries after the last block and after a sequence.
func (s *Snapshot) unblocked(after uint64) (list []logentry.Touch, err error) {
	after = max(after, s.logBegins())
	if k, _ := s.bucket(format.History).Cursor().Last(); k != nil {
		after = max(after, be.Uint64(k))
	}
	s.eachEntry(after, func(e *Entry, failed error) bool {
		if err = failed; err == nil {
			list = e.AppendTouches(list)
		}
		return err == nil
	})
	return list, err
}

// trimTouches removes the blocks of stretches all of whose entries were removed.
func (tx *Tx) trimTouches() error {
	var keys [][]byte
	c := tx.bucket(format.History).Cursor()
	for k, v := c.First(); k != nil && be.Uint64(k) <= tx.log.before; k, v = c.Next() {
		tx.log.bytes -= min(tx.log.bytes, uint64(len(k)+len(v)))
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := tx.bucket(format.History).Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// A RowEdit is what an entry of the log did to one version of a document.
type RowEdit struct {
	Doc           uint64
	Locale        string // "" if the type is not localized
	Before, After Record // the zero Record for none
}

// RowEdits returns what an entry did to the versions of a type that have this status, one RowEdit for each version.
// What the versions link to is not in the Records: a read that follows their links finds those of the snapshot. Rows of
// layouts that content was converted from since are left out. Records may be used until the snapshot ends.
func (s *Snapshot) RowEdits(e *Entry, t *contenttypes.ContentType, status Status) (list []RowEdit, err error) {
	if !t.DraftAndPublish {
		status = Published
	}
	type version struct {
		slot format.Slot
		doc  uint64
	}
	known := map[version]int{}
	b := s.bound.of(&t.Schema)
	err = e.EachOp(func(o logentry.Op) error {
		if !o.Kind.OfRow() || o.Schema != b.number || o.Slot.Status() != status {
			return nil
		}
		i, found := known[version{o.Slot, o.Doc}]
		if !found {
			before, err := o.Before()
			if err != nil {
				return err
			}
			i = len(list)
			known[version{o.Slot, o.Doc}] = i
			list = append(list, RowEdit{Doc: o.Doc, Locale: s.localeCode(o.Slot.Locale()),
				Before: s.loggedVersion(b, o.Slot, o.Doc, before)})
		}
		if list[i].After = (Record{}); !o.Kind.RemovesRow() {
			list[i].After = s.loggedVersion(b, o.Slot, o.Doc, o.Data)
		}
		return nil
	})
	return list, err
}

// LinkEdits calls yield with the ends of the links under owning attributes that an entry put or deleted.
func (s *Snapshot) LinkEdits(e *Entry, attrs []*contenttypes.Attribute,
	yield func(a *contenttypes.Attribute, from, to Ref)) error {
	return e.EachOp(func(o logentry.Op) error {
		if o.Kind.OfRow() {
			return nil
		}
		for _, a := range attrs {
			if schema, field := s.bound.relation(a); o.Link.Schema == schema && o.Link.Field == field {
				yield(a, s.name(o.Link.From), s.name(o.Link.To))
			}
		}
		return nil
	})
}
