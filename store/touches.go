package store

import (
	"bytes"
	"slices"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// The bucket history says which entries of the log changed a document, so that nobody has to read the whole log for that. It is made from
// the entries alone, and has a block of touches for each stretch of the log. The key of a block is the sequence of the last entry of its
// stretch; the next stretch begins after that. The entries after the last block are not in the bucket yet: there are few, and readers go
// through all of them.
//
// Random keys would cost each write a page of the file, and each removal from the log another one. Blocks are appended and removed as the
// entries are, in their order.
//
// The counter converted in the bucket meta is the last entry that has converted content.

// openTouches are the touches of the entries after the last block. Only the goroutine that writes uses them.
type openTouches struct {
	list   []logentry.Touch
	kept   int  // how many of list are those of transactions that were committed
	loaded bool // whether list was read from the log
}

// touch adds what an entry of this transaction changed to the open stretch, and stores a block if the stretch ends with the entry.
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

// loadTouches reads the open touches from the log, unless that was done. It must be called before the transaction appends its first entry.
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
