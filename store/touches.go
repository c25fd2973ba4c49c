package store

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"lectern/store/internal/format"
	"slices"
	"sort"
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

// A touch says that an entry changed something.
type touch struct {
	schema   uint16
	subject  uint64
	sequence uint64
}

// The upper two bits of a subject say what it names. The others are a number or hash.
const (
	rowsSubject  = 0       // the rows of a document
	linksSubject = 1 << 62 // the links of a document or component, of either side
	idSubject    = 1 << 63 // removed rows with a documentId, by the hash of it
	subjectMask  = 1<<62 - 1
)

func idSubjectOf(documentID []byte) uint64 {
	h := fnv.New64a()
	h.Write(documentID)
	return idSubject | h.Sum64()&subjectMask
}

// A stretch ends at each entry whose sequence blockEntries divides, or at the entry with which it has blockTouches. Only tests change them.
var (
	blockEntries uint64 = 1024
	blockTouches        = 4096
)

const touchLen = 2 + 8 + 2

func compareTouches(x, y touch) int {
	return cmp.Or(cmp.Compare(x.schema, y.schema), cmp.Compare(x.subject, y.subject), cmp.Compare(x.sequence, y.sequence))
}

// appendTouches appends what an entry changed.
func (e *Entry) appendTouches(list []touch) []touch {
	_ = e.eachOp(func(o op) error { // the ops of each Entry can be read
		switch o.kind {
		case opPutRow, opAddRow:
			list = append(list, touch{o.schema, rowsSubject | o.doc, e.Sequence})
		case opDeleteRow:
			list = append(list, touch{o.schema, rowsSubject | o.doc, e.Sequence}, touch{o.schema, idSubjectOf(o.data), e.Sequence})
		case opPutLink, opDeleteLink:
			list = append(list, touch{o.link.from.Schema, linksSubject | o.link.from.Doc, e.Sequence},
				touch{o.link.to.Schema, linksSubject | o.link.to.Doc, e.Sequence})
		}
		return nil
	})
	return list
}

// A touchBlock holds the touches of a stretch in order, each once: schema u16 · subject u64 · distance of its entry from the last u16.
type touchBlock struct {
	last uint64 // the sequence of the last entry
	data []byte
}

// newTouchBlock encodes the touches of a stretch, and puts them in order.
func newTouchBlock(last uint64, list []touch) touchBlock {
	slices.SortFunc(list, compareTouches)
	list = slices.Compact(list)
	b := make([]byte, 0, touchLen*len(list)+format.ChecksumLen)
	for _, t := range list {
		b = be.AppendUint64(be.AppendUint16(b, t.schema), t.subject)
		b = be.AppendUint16(b, uint16(last-t.sequence))
	}
	return touchBlock{last, b}
}

// storedBlock returns the block that is stored as v under k.
func storedBlock(k, v []byte) touchBlock {
	return touchBlock{be.Uint64(k), format.WithoutChecksum(v)}
}

func (b touchBlock) len() int { return len(b.data) / touchLen }

func (b touchBlock) at(i int) touch {
	d := b.data[i*touchLen:]
	return touch{be.Uint16(d), be.Uint64(d[2:]), b.last - uint64(be.Uint16(d[10:]))}
}

// appendEntries appends the sequences of the entries that changed a subject, in order.
func (b touchBlock) appendEntries(list []uint64, schema uint16, subject uint64) []uint64 {
	key := be.AppendUint64(be.AppendUint16(make([]byte, 0, touchLen), schema), subject)
	i := sort.Search(b.len(), func(i int) bool { return bytes.Compare(b.data[i*touchLen:][:len(key)], key) >= 0 })
	for ; i < b.len() && bytes.Equal(b.data[i*touchLen:][:len(key)], key); i++ {
		list = append(list, b.at(i).sequence)
	}
	return list
}

// openTouches are the touches of the entries after the last block. Only the goroutine that writes uses them.
type openTouches struct {
	list   []touch
	kept   int  // how many of list are those of transactions that were committed
	loaded bool // whether list was read from the log
}

// touch adds what an entry of this transaction changed to the open stretch, and stores a block if the stretch ends with the entry.
func (tx *Tx) touch(e *Entry) error {
	if err := tx.loadTouches(); err != nil {
		return err
	}
	open := &tx.store.log.touches
	if e.conversion.converted {
		tx.log.converted = e.Sequence
	}
	open.list = e.appendTouches(open.list)
	stretch := open.list[tx.log.blocked:]
	if len(stretch) < blockTouches && e.Sequence%blockEntries > 0 {
		return nil
	}
	block := newTouchBlock(e.Sequence, slices.Clone(stretch))
	tx.log.blocked = len(open.list)
	key := be.AppendUint64(nil, e.Sequence)
	tx.log.bytes += uint64(len(key) + len(block.data) + format.ChecksumLen)
	return tx.bucket(format.History).Put(key, freshValue{block.data})
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
func (s *Snapshot) unblocked(after uint64) (list []touch, err error) {
	after = max(after, s.logBegins())
	if k, _ := s.bucket(format.History).Cursor().Last(); k != nil {
		after = max(after, be.Uint64(k))
	}
	s.eachEntry(after, func(e *Entry, failed error) bool {
		if err = failed; err == nil {
			list = e.appendTouches(list)
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
