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

// counter keeps runs and groups in step with changes of the index. Changes are gathered and worked off in order of key, so
// that the entries one transaction adds beside each other cost one update.
type counter struct {
	index, runs, groups *bolt.Bucket
	pending             []countChange
}

type countChange struct {
	key   []byte
	delta int
}

func (c *counter) add(key []byte, delta int) {
	c.pending = append(c.pending, countChange{key, delta})
}

// flush works off the pending changes. It must run before anything is counted, and before the commit.
func (c *counter) flush() error {
	if len(c.pending) == 0 {
		return nil
	}
	slices.SortFunc(c.pending, func(x, y countChange) int { return bytes.Compare(x.key, y.key) })
	for i := 0; i < len(c.pending); {
		n, err := c.settleRun(c.pending[i:])
		if err != nil {
			return err
		}
		i += n
	}
	c.pending = c.pending[:0]
	return nil
}

// settleRun applies the changes that fall into the first one's run and returns how many these were.
func (c *counter) settleRun(changes []countChange) (int, error) {
	space := changes[0].key[:spaceLen]
	cur := c.runs.Cursor()
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
	group, value := floor(c.groups.Cursor(), low)
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
		if err := c.runs.Delete(low); err != nil {
			return 0, err
		}
		g.runs--
	case entries > maxRun:
		added, err := c.splitRun(low, entries)
		if err != nil {
			return 0, err
		}
		g.runs += added
	default:
		if err := c.runs.Put(low, be.AppendUint32(nil, uint32(entries))); err != nil {
			return 0, err
		}
	}
	return n, c.saveGroup(g)
}

// splitRun writes a run that has become too full as several half full ones and returns how many were added.
func (c *counter) splitRun(low []byte, entries int) (added int, err error) {
	const half = maxRun / 2
	cur := c.index.Cursor()
	k, _ := cur.Seek(low)
	bound, left := low, entries
	for left > 0 {
		n := half
		if left <= maxRun {
			n = left
		}
		if err := c.runs.Put(bound, be.AppendUint32(nil, uint32(n))); err != nil {
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

func (c *counter) saveGroup(g groupCount) error {
	switch {
	case g.runs == 0:
		return c.groups.Delete(g.key)
	case g.runs > maxGroup:
		return c.splitGroup(g)
	}
	return c.groups.Put(g.key, groupValue(g.entries, g.runs))
}

func (c *counter) splitGroup(g groupCount) error {
	cur := c.runs.Cursor()
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
		if err := c.groups.Put(bound, groupValue(entries, n)); err != nil {
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

// settle makes what a write transaction has applied count. A failure shows in the answer of Find.
func (s *Snapshot) settle() {
	if s.counter == nil || s.failed != nil {
		return
	}
	s.failed = s.counter.flush()
}

// rank returns how many entries of key's space lie before key.
func (s *Snapshot) rank(key []byte) int {
	s.settle()
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
	s.settle()
	total := 0
	c := s.cursor(groups)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space); k, v = c.Next() {
		total += int(be.Uint64(v))
	}
	return total
}

// kth moves a cursor of the index to the k-th entry (from 0) of a space and returns its key and value, nil beyond the end.
func (s *Snapshot) kth(c *bolt.Cursor, space []byte, k int) (key, value []byte) {
	s.settle()
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
