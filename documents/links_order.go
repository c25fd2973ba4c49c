package documents

import (
	"container/list"
	"encoding/json"
	"slices"
	"sort"
	"strconv"

	"lectern/documents/apierror"
	"lectern/store"
)

// placeKind says where in the list a connected target goes.
type placeKind uint8

const (
	atEnd placeKind = iota
	atStart
	before
	after
)

// A place says where a connected target goes into the list. next is the target beside it, for before and after.
type place struct {
	kind placeKind
	next store.Ref
}

// A connection is one item of connect: a target and its place.
type connection struct {
	ref    store.Ref
	place  place
	id     uint64 // ids of the target's row and the neighbour's, for messages
	nextID uint64
	label  string // locale of the target, for messages
}

// edited returns a list of links after disconnect and connect. Places refer to the list before the call, so that a
// neighbour may be disconnected in the same call. If lenient is set, targets whose neighbour is not in the list go to
// its end.
func edited(refs []store.Ref, connect []connection, disconnect []store.Ref,
	lenient bool) ([]store.Ref, *apierror.Error) {
	connect, err := sequence(refs, connect, lenient)
	if err != nil {
		return nil, err
	}
	gone := make(map[store.Ref]bool, len(disconnect))
	for _, r := range disconnect {
		gone[r] = true
	}
	parts := cutAt(refs, connect)
	for _, c := range connect {
		delete(gone, c.ref)
		parts.place(c)
	}
	next := make([]store.Ref, 0, len(refs)+len(connect))
	for e := parts.order.Front(); e != nil; e = e.Next() {
		for _, r := range e.Value.([]store.Ref) {
			if !gone[r] {
				next = append(next, r)
			}
		}
	}
	return next, nil
}

// A partedList is a list of links, split at the targets and neighbours that a call names, so that the time for each
// item of the call does not depend on the length of the list.
type partedList struct {
	order *list.List                  // elements are []store.Ref
	named map[store.Ref]*list.Element // the element with just this ref, for each ref that the call names; nil if it is not in the list
}

// cutAt splits a list at the targets and neighbours of a call.
func cutAt(refs []store.Ref, connect []connection) *partedList {
	p := &partedList{list.New(), make(map[store.Ref]*list.Element, len(connect))}
	for _, c := range connect {
		p.named[c.ref] = nil
		if c.relative() {
			p.named[c.place.next] = nil
		}
	}
	begin := 0
	for i, r := range refs {
		if _, named := p.named[r]; named {
			p.order.PushBack(refs[begin:i])
			p.named[r] = p.order.PushBack(refs[i : i+1])
			begin = i + 1
		}
	}
	p.order.PushBack(refs[begin:])
	return p
}

// place inserts a target at its place, and removes it from where it was.
func (p *partedList) place(c connection) {
	if e := p.named[c.ref]; e != nil {
		p.order.Remove(e)
		p.named[c.ref] = nil
	}
	part := []store.Ref{c.ref}
	var neighbour *list.Element
	if c.relative() {
		neighbour = p.named[c.place.next]
	}
	var e *list.Element
	switch {
	case c.place.kind == atStart:
		e = p.order.PushFront(part)
	case neighbour == nil:
		e = p.order.PushBack(part)
	case c.place.kind == before:
		e = p.order.InsertBefore(part, neighbour)
	default:
		e = p.order.InsertAfter(part, neighbour)
	}
	p.named[c.ref] = e
}

// sequence orders the items of a call so that an item comes after the one that is its neighbour.
func sequence(list []store.Ref, connect []connection, lenient bool) ([]connection, *apierror.Error) {
	connect, err := distinct(connect)
	if err != nil || !slices.ContainsFunc(connect, connection.relative) {
		return connect, err
	}
	there := make(map[store.Ref]bool, len(list))
	for _, r := range list {
		there[r] = true
	}
	index := make(map[store.Ref]int, len(connect))
	for i, c := range connect {
		index[c.ref] = i
	}
	ordered := make([]connection, 0, len(connect))
	state := make([]uint8, len(connect)) // 1: in chain, 2: done
	for i := range connect {
		// chain lists items that must come before each other. It is a loop, not a recursion, since it may be as long as
		// the call.
		var chain []int
		for j, more := i, true; more && state[j] != 2; {
			if state[j] == 1 {
				return nil, apierror.Validation("A circular reference was found in the connect array. " +
					"One relation is trying to connect before/after another one that is trying to connect before/after it")
			}
			state[j] = 1
			chain = append(chain, j)
			c := connect[j]
			if more = c.relative() && (c.place.next == c.ref || !there[c.place.next]); !more {
				break
			}
			k, called := index[c.place.next]
			if !called && !lenient {
				return nil, c.unplaced()
			}
			if more = called; more {
				j = k
			}
		}
		for _, j := range slices.Backward(chain) {
			state[j] = 2
			ordered = append(ordered, connect[j])
		}
	}
	return ordered, nil
}

// distinct removes repeated items. The same target at two places is an error.
func distinct(connect []connection) ([]connection, *apierror.Error) {
	seen := make(map[store.Ref]place, len(connect))
	list := make([]connection, 0, len(connect))
	for _, c := range connect {
		p, again := seen[c.ref]
		if !again {
			seen[c.ref] = c.place
			list = append(list, c)
		} else if p != c.place {
			return nil, apierror.Validation("The relation with id " + strconv.FormatUint(c.id, 10) +
				" is already connected. You cannot connect the same relation twice.")
		}
	}
	return list, nil
}

func (c connection) relative() bool { return c.place.kind == before || c.place.kind == after }

func (c connection) unplaced() *apierror.Error {
	side := map[placeKind]string{before: "before", after: "after"}[c.place.kind]
	next := strconv.FormatUint(c.nextID, 10)
	locale, _ := json.Marshal(c.label)
	return apierror.Validation("There was a problem connecting relation with id " + strconv.FormatUint(c.id, 10) +
		` at position {"` + side + `":` + next + `,"locale":` + string(locale) + `}. The relation with id ` + next +
		" needs to be connected first.")
}

// positions returns new positions for a list in its new order. old has the present position of each entry, 0 for a new
// one. As many entries as possible keep theirs, and the others get positions between their neighbours; if there is no
// room between those, all get new ones.
func positions(old []uint64) []uint64 {
	pos := make([]uint64, len(old))
	for _, i := range longestRise(old) {
		pos[i] = old[i]
	}
	for i := 0; i < len(pos); {
		if pos[i] != 0 {
			i++
			continue
		}
		end := i
		for end < len(pos) && pos[end] == 0 {
			end++
		}
		left, n := uint64(0), uint64(end-i)
		if i > 0 {
			left = pos[i-1]
		}
		step := uint64(store.PosStep)
		if end < len(pos) {
			step = min(step, (pos[end]-left)/(n+1))
		}
		if step == 0 || left+n*store.PosStep < left {
			for k := range pos {
				pos[k] = uint64(k+1) * store.PosStep
			}
			return pos
		}
		for ; i < end; i++ {
			left += step
			pos[i] = left
		}
	}
	return pos
}

// longestRise returns the indexes of a longest increasing subsequence of list, without the zeros.
func longestRise(list []uint64) []int {
	var tails []int // tails[k] is the index of the smallest number that ends an increasing subsequence of k+1 numbers
	prev := make([]int, len(list))
	for i, v := range list {
		if v == 0 {
			continue
		}
		k := sort.Search(len(tails), func(k int) bool { return list[tails[k]] >= v })
		prev[i] = -1
		if k > 0 {
			prev[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	run := make([]int, len(tails))
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k, i = k-1, prev[i] {
		run[k] = i
	}
	return run
}
