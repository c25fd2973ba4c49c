package store

import (
	"bytes"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// The index is counted: how many entries lie below a key, and which is the k-th, is found without walking over them. Above
// the entries of each space (see appendSpace) stand runs of neighbouring entries with their number, and above the runs groups
// of runs. A run's key is the lower bound of what it holds; the first run and group of a space have the bare space as key.
const (
	maxRun   = 128 // entries; a fuller run is split in halves
	maxGroup = 128 // runs
)

// spaceEnd is what the key after all entries of a space ends with.
var spaceEnd = bytes.Repeat([]byte{0xFF}, 12)

// An indexer keeps the index and its counts in step with the rows of one write transaction. Changes are gathered and worked off
// in order of key when something reads the index, or before the commit: what a transaction adds beside each other then costs
// one update of its run, and a large transaction does not insert at random into pages that bbolt splits only when it commits.
type indexer struct {
	index, runs, groups *bolt.Bucket
	pending             []indexChange
}

// An indexChange adds an entry (delta 1) or removes one (delta -1).
type indexChange struct {
	key   []byte
	doc   uint64
	delta int
}

func (x *indexer) add(key []byte, doc uint64) {
	x.pending = append(x.pending, indexChange{key, doc, +1})
}
func (x *indexer) remove(key []byte) { x.pending = append(x.pending, indexChange{key: key, delta: -1}) }

func (x *indexer) flush() error {
	if len(x.pending) == 0 {
		return nil
	}
	slices.SortStableFunc(x.pending, func(a, b indexChange) int { return bytes.Compare(a.key, b.key) })
	if err := x.putEntries(); err != nil {
		return err
	}
	for i := 0; i < len(x.pending); {
		n, err := x.settleRun(x.pending[i:])
		if err != nil {
			return err
		}
		i += n
	}
	x.pending = x.pending[:0]
	return nil
}

// putEntries changes the index itself. Of several changes of one key the last counts.
func (x *indexer) putEntries() error {
	for i, ch := range x.pending {
		if i+1 < len(x.pending) && bytes.Equal(x.pending[i+1].key, ch.key) {
			continue
		}
		var err error
		if ch.delta > 0 {
			err = x.index.Put(ch.key, be.AppendUint64(nil, ch.doc))
		} else {
			err = x.index.Delete(ch.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settleRun applies the changes that fall into the first one's run and returns how many these were.
func (x *indexer) settleRun(changes []indexChange) (int, error) {
	space := changes[0].key[:spaceLen]
	cur := x.runs.Cursor()
	low, count := floor(cur, changes[0].key)
	if !bytes.HasPrefix(low, space) {
		low, count = space, nil
	}
	low = bytes.Clone(low)
	entries := 0
	if count != nil {
		entries = int(be.Uint32(count))
	}
	var next []byte // the lower bound of the run after this one
	if k, _ := cur.Seek(append(bytes.Clone(low), 0)); bytes.HasPrefix(k, space) {
		next = bytes.Clone(k)
	}
	delta, n := 0, 0
	for ; n < len(changes); n++ {
		k := changes[n].key
		if !bytes.HasPrefix(k, space) || next != nil && bytes.Compare(k, next) >= 0 {
			break
		}
		delta += changes[n].delta
	}
	group, value := floor(x.groups.Cursor(), low)
	g := groupCount{key: space}
	if bytes.HasPrefix(group, space) {
		g = groupCount{bytes.Clone(group), int(be.Uint64(value)), int(be.Uint32(value[8:]))}
	}
	g.entries += delta
	entries += delta
	if count == nil {
		g.runs++
	}
	// The run that a group begins with stays, though empty, as long as the group does: so no key of a group is ever held by
	// a run of the one before.
	anchor := bytes.Equal(low, g.key)
	switch {
	case entries == 0 && (!anchor || g.runs == 1 && len(low) > spaceLen):
		if err := x.runs.Delete(low); err != nil {
			return 0, err
		}
		g.runs--
	case entries > maxRun:
		added, err := x.splitRun(low, entries)
		if err != nil {
			return 0, err
		}
		g.runs += added
	default:
		if err := x.runs.Put(low, be.AppendUint32(nil, uint32(entries))); err != nil {
			return 0, err
		}
	}
	return n, x.saveGroup(g)
}

// splitRun writes a run that has become too full as several half full ones and returns how many were added.
func (x *indexer) splitRun(low []byte, entries int) (added int, err error) {
	const half = maxRun / 2
	cur := x.index.Cursor()
	k, _ := cur.Seek(low)
	bound, left := low, entries
	for left > 0 {
		n := half
		if left <= maxRun {
			n = left
		}
		if err := x.runs.Put(bound, be.AppendUint32(nil, uint32(n))); err != nil {
			return 0, err
		}
		if left -= n; left == 0 {
			break
		}
		for range n {
			k, _ = cur.Next()
		}
		bound = bytes.Clone(k)
		added++
	}
	return added, nil
}

// groupCount is what the file says of a group of runs.
type groupCount struct {
	key           []byte
	entries, runs int
}

func (x *indexer) saveGroup(g groupCount) error {
	switch {
	case g.runs == 0:
		return x.groups.Delete(g.key)
	case g.runs > maxGroup:
		return x.splitGroup(g)
	}
	return x.groups.Put(g.key, groupValue(g.entries, g.runs))
}

func (x *indexer) splitGroup(g groupCount) error {
	cur := x.runs.Cursor()
	k, v := cur.Seek(g.key)
	bound := g.key
	for left := g.runs; left > 0; {
		n, entries := maxGroup/2, 0
		if left <= maxGroup {
			n = left
		}
		for range n {
			entries += int(be.Uint32(v))
			k, v = cur.Next()
		}
		if err := x.groups.Put(bound, groupValue(entries, n)); err != nil {
			return err
		}
		left -= n
		bound = bytes.Clone(k)
	}
	return nil
}

func groupValue(entries, runs int) []byte {
	return be.AppendUint32(be.AppendUint64(make([]byte, 0, 12), uint64(entries)), uint32(runs))
}

// floor moves a cursor to the greatest key that is not greater than key.
func floor(c *bolt.Cursor, key []byte) (k, v []byte) {
	if k, v = c.Seek(key); k == nil {
		return c.Last()
	}
	if bytes.Equal(k, key) {
		return k, v
	}
	return c.Prev()
}

// settle makes what a write transaction has applied show in the index. A failure fails the transaction.
func (s *Snapshot) settle() {
	if s.indexer == nil || s.failed != nil {
		return
	}
	s.failed = s.indexer.flush()
}

// rank returns how many entries of key's space lie before key.
func (s *Snapshot) rank(key []byte) int {
	space := key[:spaceLen]
	if bytes.Equal(key[spaceLen:], spaceEnd) {
		return s.size(space)
	}
	total, last := 0, 0
	group := space
	c := s.cursor(groups)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
		group = k
		last = int(be.Uint64(v))
		total += last
	}
	total, last = total-last, 0 // all but the group that holds key
	run := group
	c = s.cursor(runs)
	for k, v := c.Seek(group); bytes.HasPrefix(k, space) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
		run = k
		last = int(be.Uint32(v))
		total += last
	}
	total -= last
	c = s.cursor(index)
	for k, _ := c.Seek(run); bytes.HasPrefix(k, space) && bytes.Compare(k, key) < 0; k, _ = c.Next() {
		total++
	}
	return total
}

// size returns how many entries a space has.
func (s *Snapshot) size(space []byte) int {
	total := 0
	c := s.cursor(groups)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space); k, v = c.Next() {
		total += int(be.Uint64(v))
	}
	return total
}

// kth moves a cursor of the index to the k-th entry (from 0) of a space and returns its key and value, nil beyond the end.
func (s *Snapshot) kth(c *bolt.Cursor, space []byte, k int) (key, value []byte) {
	group, k := skip(s.cursor(groups), space, space, k, func(v []byte) int { return int(be.Uint64(v)) })
	if group == nil {
		return nil, nil
	}
	run, k := skip(s.cursor(runs), space, group, k, func(v []byte) int { return int(be.Uint32(v)) })
	if run == nil {
		return nil, nil
	}
	for key, value = c.Seek(run); k > 0; k-- {
		key, value = c.Next()
	}
	return key, value
}

// skip walks from low over runs or groups that hold k entries or fewer and returns the one that holds the k-th, and which
// of its entries that is.
func skip(c *bolt.Cursor, space, low []byte, k int, count func([]byte) int) (key []byte, rest int) {
	for key, v := c.Seek(low); bytes.HasPrefix(key, space); key, v = c.Next() {
		n := count(v)
		if k < n {
			return key, k
		}
		k -= n
	}
	return nil, 0
}
