package store

import (
	"bytes"
	"math/bits"
	"sync/atomic"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// A places remembers where rows and lists of links lie in the file, for reads of one committed state: what was searched for
// once is found without a search from then on. It holds no content. A commit moves what it changes, and the pages it
// leaves are used again; so what is remembered holds for snapshots of the very transaction that it was found in, and those of
// the next begin with nothing. The mapping of the file is no Go memory: places are offsets in it, taken from the slices that
// bbolt returned, and looked at under bbolt's own promise that what a transaction sees stays where it is until it ends.
//
// Any number of snapshots may use and add to it at one time.
type places struct {
	tx    int    // its state is that of this transaction
	file  []byte // as it is mapped to memory
	rows  placeTable
	lists placeTable

	targets *targetTable // of lists
}

// placesAfter is how many searches snapshots of one state do before their places are remembered: where writes are so frequent that
// there are fewer between two of them, remembering would cost more than it saves.
var placesAfter uint64 = 2000

// newPlaces makes an empty places for snapshots like s; nil when the file is not mapped as it should be.
func newPlaces(s *Snapshot) *places {
	key, _ := s.cursor(rows).First()
	s.lastRow = nil
	size := s.tx.Size()
	if len(key) == 0 || size > maxPlace {
		return nil
	}
	at := address(key) - mapping(s.tx)
	if int64(at) >= size { // so few rows that bbolt keeps them aside
		return nil
	}
	p := &places{tx: s.tx.ID()}
	p.file = unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(key)), -int(at))), int(size))
	n := 1 << bits.Len64(uint64(min(max(size/1024, 1<<10), 1<<16)-1))
	p.rows, p.lists, p.targets = make(placeTable, n), make(placeTable, n), newTargetTable(n)
	return p
}

// searched counts the searches of a snapshot that had no places, and begins to remember them when there were enough of its state.
func (f *file) searched(s *Snapshot) {
	const countBits = 24
	tx := uint64(s.tx.ID()) << countBits
	former := f.searches.Load()
	n := s.stats.seeks
	if former&^(1<<countBits-1) == tx {
		n += former & (1<<countBits - 1)
	}
	// What another snapshot counts meanwhile may be lost: the next will tell.
	f.searches.Store(tx | min(n, 1<<countBits-1))
	if n < placesAfter {
		return
	}
	if p := f.places.Load(); p == nil || p.tx <= s.tx.ID() && !p.holds(s.tx) {
		f.places.CompareAndSwap(p, newPlaces(s))
	}
}

// mapping is where the file is mapped to. It stays as long as the transaction is open.
func mapping(tx *bolt.Tx) uintptr { return tx.DB().Info().Data }

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// holds reports whether p is of the state that tx sees.
func (p *places) holds(tx *bolt.Tx) bool {
	return p != nil && p.tx == tx.ID() && address(p.file) == mapping(tx)
}

// row returns the value under the key of a row, nil when its place is not known. p may be nil in this and the next ones.
func (p *places) row(key []byte) []byte {
	if p == nil {
		return nil
	}
	at, n := place(p.rows.find(p.file, key))
	if at == 0 {
		return nil
	}
	at += len(key)
	return p.file[at : at+n : at+n]
}

// keepRow remembers where a row lies.
func (p *places) keepRow(key, value []byte) {
	if p == nil {
		return
	}
	if at, ok := p.at(key, len(key)+len(value)); ok && address(value) == address(key)+uintptr(len(key)) {
		p.rows.keep(p.file, key, at, len(value))
	}
}

// links returns the links of a list, one after the other as they lie in the file; nil when fewer are known than there are and
// than most, which if negative is any number.
func (p *places) links(list []byte, most int) []byte {
	if p == nil {
		return nil
	}
	at, n := place(p.lists.find(p.file, list))
	if at == 0 || n&1 == 0 && (most < 0 || n>>1 <= most) {
		return nil
	}
	return p.file[at : at+n>>1*linkLen]
}

// at is where in the file a key lies, with so many bytes behind it.
func (p *places) at(key []byte, n int) (int, bool) {
	at := address(key) - address(p.file)
	return int(at), at < uintptr(len(p.file)) && n <= len(p.file)-int(at)
}

// A listRun is how much of a list of links lies in one piece.
type listRun struct {
	first  []byte // its key
	n      int
	broken bool
}

// add takes the next link of the list.
func (r *listRun) add(key, value []byte) {
	if r.n == 0 {
		r.first = key
	}
	next := address(r.first) + uintptr(r.n*linkLen)
	r.broken = r.broken || address(key) != next || address(value) != next+linkKeyLen
	r.n++
}

// keepLinks remembers where a list lies; whole says that the run is all of it.
func (p *places) keepLinks(list []byte, r *listRun, whole bool) {
	if p == nil || r.n == 0 || r.broken {
		return
	}
	n := r.n << 1
	if whole {
		n |= 1
	}
	if at, ok := p.at(r.first, r.n*linkLen); ok {
		p.lists.keep(p.file, list, at, n)
	}
}

// A placeTable finds places by keys. Each of its cells has a place, a number that belongs to it, and a few bits of the key's
// hash, by which nearly all other keys are told apart without looking at the file. It forgets what there is no room for.
type placeTable []atomic.Uint64

// Parts of a cell.
const (
	hashBits   = 8
	numberBits = 20
	maxPlace   = 1 << (64 - hashBits - numberBits)

	cellsTogether = 4 // in which a key may be
)

// find returns the cell of the place that was kept for the key that begins there; 0 when there is none.
func (t placeTable) find(file, key []byte) uint64 {
	first, hash := t.cells(key)
	for i := first; i < first+cellsTogether; i++ {
		if c := t[i].Load(); c&(1<<hashBits-1) == hash && isPlace(c, file, key) {
			return c
		}
	}
	return 0
}

// place is what a cell has: a place and its number.
func place(c uint64) (at, n int) {
	return int(c >> (hashBits + numberBits)), int(c >> hashBits & (1<<numberBits - 1))
}

// isPlace reports whether a cell is that of a key.
func isPlace(c uint64, file, key []byte) bool {
	at, _ := place(c)
	return at > 0 && bytes.HasPrefix(file[at:], key)
}

// keep makes find find a place.
func (t placeTable) keep(file, key []byte, at, n int) {
	if n >= 1<<numberBits {
		return
	}
	first, hash := t.cells(key)
	put := first + at%cellsTogether
	for i := first; i < first+cellsTogether; i++ {
		c := t[i].Load()
		if c == 0 || c>>(hashBits+numberBits) == uint64(at) {
			put = i
			break
		}
	}
	t[put].Store(uint64(at)<<(hashBits+numberBits) | uint64(n)<<hashBits | hash)
}

// cells are where a key may be, and the bits of its hash that stand there.
func (t placeTable) cells(key []byte) (first int, hash uint64) {
	return cellsOf(len(t), be.Uint64(key), be.Uint64(key[len(key)-8:]))
}

// cellsOf are where in a table of n cells that of the key x, y may be, and the bits of its hash that stand there.
func cellsOf(n int, x, y uint64) (first int, hash uint64) {
	h := mix(x, y)
	return int(h>>hashBits) & (n - 1) &^ (cellsTogether - 1), h & (1<<hashBits - 1)
}

// mix is a hash of two numbers.
func mix(x, y uint64) uint64 {
	h := (x ^ bits.RotateLeft64(y, 24)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
