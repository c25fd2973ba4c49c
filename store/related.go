package store

import (
	"cmp"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A Related holds the result of RelatedAll or UsesAll: the rows that one attribute of several rows leads to. It can be
// passed to another call, which reuses its memory.
type Related struct {
	// Rows are the targets, each of them once, even if several rows lead to it.
	Rows []Record
	// Items are positions in Rows. Those of row i begin at Starts[i] and end at Starts[i+1].
	Items  []int32
	Starts []int32
	// Most bounds the total number of items, or of links to them; 0 is no bound. If there are more, the search stops
	// and sets Over; the result must not be used then. Most has no effect if a query or Sight filters the items, or a
	// query orders them.
	Most int
	Over bool
	// Sight says which targets the reader sees; nil: all of them.
	Sight *Sight

	most      int // Most if it has an effect, else 0
	edges     []edge
	targets   []format.End // the different targets of edges
	seen      []int32      // hash table of positions in targets or locations, plus one; 0 is an empty cell
	shown     []int32      // by target: its position in Rows; negative if it has no version to show
	locations []uint64     // by item: the location of its row, if the relation cache had all items
	order     []int32
	short     []int32 // rows whose links were not all read
	// partial says that a filter or page removed items.
	partial bool
	keys    [][][]byte
}

// An edge leads from a row to a target.
type edge struct {
	from   int32
	row    int32 // position of the target in targets at first, later in Rows; negative if it has no version to show
	target format.End
}

// Of returns the items of row i: positions in Rows.
func (l *Related) Of(i int) []int32 { return l.Items[l.Starts[i]:l.Starts[i+1]] }

func (l *Related) reset() {
	clear(l.Rows)
	l.Rows, l.Items, l.Starts = l.Rows[:0], l.Items[:0], append(l.Starts[:0], 0)
	l.edges, l.locations, l.short, l.partial, l.Over = l.edges[:0], l.locations[:0], l.short[:0], false, false
}

// over reports whether n items exceed the bound most, and sets Over accordingly.
func (l *Related) over(n int) bool {
	l.Over = l.most > 0 && n > l.most
	return l.Over
}

// RelatedAll finds the targets of each row under a relation, media, component, zone or localizations attribute, as
// Related does for one row. q filters, orders and pages the targets of each row; its type, status and locales are
// ignored. If q is nil, all targets are found. Each target is read and filtered once, even if several rows lead to it.
func (s *Snapshot) RelatedAll(of []Record, a *contenttypes.Attribute, status Status, q *Query, into *Related) error {
	into.reset()
	plain := q == nil || q.Filter == nil && len(q.Sort) == 0
	limits := limitsOf(into.Sight, a, status)
	plain = plain && limits == nil
	if into.most = into.Most; !plain {
		into.most = 0
	}
	most := -1
	if q != nil && plain && q.Limit >= 0 {
		most = q.Offset + q.Limit
	}
	switch {
	case !a.IsRelation() || a.System:
		s.gatherRows(of, a, status, most, into)
	case limits.narrow(a):
		s.gatherLinks(of, a, linksFor(a, status, limits.below(a, status)), most, into)
		s.readTargets(status, limits, into)
		s.list(of, a, status, most, into)
	case !s.gatherCached(of, a, status, most, into):
		if s.gatherLinks(of, a, status, most, into); into.Over {
			break
		}
		s.readTargets(status, nil, into)
		s.list(of, a, status, most, into)
		s.cacheAll(of, a, status, most, into)
	}
	if into.Over {
		return s.failed
	}
	if !plain || q != nil && q.Offset > 0 {
		s.choose(limits.below(a, status), q, limits, into)
	}
	if into.partial {
		into.leaveOut()
	}
	return s.failed
}

// UsesAll finds the documents that refer to each row by one of several media attributes: first those that use the first
// attribute, then those that use the next, each in the order of the row's own list. If f is not nil, it finds only
// documents that meet f. Each document is read once.
func (s *Snapshot) UsesAll(of []Record, attrs []*contenttypes.Attribute, status Status, f Filter, into *Related) error {
	into.reset()
	sees := newLimits(into.Sight, status)
	if into.most = into.Most; f != nil || sees != nil {
		into.most = 0
	}
	w := linkWalk{cursor: s.takeCursor(format.Links), snap: s}
	defer s.giveCursor(format.Links, w.cursor)
	var buf [format.LinkListLen]byte
	for i, r := range of {
		for _, a := range attrs {
			if !r.Exists() {
				continue
			}
			owners := status
			if owner, ok := a.OwnerType(); ok && sees != nil {
				owners = sees.statusOf(owner)
			}
			if w.gather(s.appendLinkList(buf[:0], a, format.ToSide, shownSet(a, owners), r.ref()), -1, int32(i),
				into); into.Over {
				return s.failed
			}
		}
	}
	s.readTargets(status, sees, into)
	s.list(of, nil, status, -1, into)
	if f != nil || sees != nil {
		s.choose(status, &Query{Filter: f, Limit: -1}, sees, into)
	}
	if into.partial {
		into.leaveOut()
	}
	return s.failed
}

// RelatedCounts appends to counts how many targets RelatedAll would find for each row. It keeps no targets in memory,
// unless a Sight is given and they are of several types.
func (s *Snapshot) RelatedCounts(of []Record, a *contenttypes.Attribute, status Status, q *Query, sight *Sight,
	counts []int) ([]int, error) {
	if q == nil {
		q = &Query{Limit: -1}
	}
	targets := someTarget{attr: a, status: status}
	if l := limitsOf(sight, a, status); l != nil && a.Target == nil {
		related := &Related{Sight: sight}
		err := s.RelatedAll(of, a, status, q, related)
		for i := range of {
			counts = append(counts, len(related.Of(i)))
		}
		return counts, err
	} else if l != nil {
		targets.seen = l.of(a.Target)
	}
	targets.cond = compile(q.Filter, targets.targetStatus(), false)
	for _, r := range of {
		n := 0
		targets.each(s, r, func(met bool) bool {
			if met {
				n++
			}
			return true
		})
		if n = max(0, n-max(0, q.Offset)); q.Limit >= 0 {
			n = min(n, q.Limit)
		}
		counts = append(counts, n)
	}
	return counts, s.failed
}

// leaveOut removes from Rows the rows that no item refers to, because a filter or page removed their items. A caller
// that follows relations of Rows then does not follow those of removed rows.
func (l *Related) leaveOut() {
	l.order = append(l.order[:0], make([]int32, len(l.Rows))...)
	shown := int32(0)
	for _, row := range l.Items {
		shown += 1 - l.order[row]
		l.order[row] = 1
	}
	if int(shown) == len(l.Rows) {
		return
	}
	kept := int32(0)
	for row, is := range l.order {
		if is == 1 {
			l.Rows[kept], l.order[row] = l.Rows[row], kept
			kept++
		}
	}
	clear(l.Rows[kept:])
	l.Rows = l.Rows[:kept]
	for i, row := range l.Items {
		l.Items[i] = l.order[row]
	}
}

// gatherLinks reads the links of all rows, at most so many of each when most is not negative.
func (s *Snapshot) gatherLinks(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) {
	w := linkWalk{cursor: s.takeCursor(format.Links), snap: s}
	defer s.giveCursor(format.Links, w.cursor)
	list := s.appendShownList(nil, a, status, format.End{})
	for i, r := range of {
		if into.Over {
			return
		}
		if r.Exists() {
			format.SetLinkOwner(list, r.ref())
			w.gather(list, most, int32(i), into)
		}
	}
}

// gather adds an edge from a row for each link of a list, for the first most links when most is not negative.
func (w *linkWalk) gather(list []byte, most int, row int32, into *Related) {
	k, v := w.seek(list)
	for n := 0; k != nil && w.snap.step(); n++ {
		if n == most || into.over(len(into.edges)+1) {
			into.short = append(into.short, row)
			return
		}
		w.snap.stats.links++
		target, _ := format.ParseLink(v)
		into.edges = append(into.edges, edge{from: row, target: target})
		k, v = w.next()
	}
}

// readTargets reads the targets of all edges, in a status unless limits are given. If several edges have the same
// target, it is read once.
func (s *Snapshot) readTargets(status Status, l *limits, into *Related) {
	into.tellApart()
	into.shown = slices.Grow(into.shown[:0], len(into.targets))[:len(into.targets)]
	for _, i := range into.inFileOrder() {
		if l != nil {
			status = l.statusOfEnd(s, into.targets[i])
		}
		into.shown[i] = into.add(s.shown(into.targets[i], status))
	}
	for i := range into.edges {
		e := &into.edges[i]
		e.row = into.shown[e.row]
	}
}

// add adds a row and returns its position, or -1 if r is the zero Record.
func (l *Related) add(r Record) int32 {
	if !r.Exists() {
		return -1
	}
	l.Rows = append(l.Rows, r)
	return int32(len(l.Rows) - 1)
}

// clearSeen empties the table seen, with room for n, and returns its size, a power of two.
func (l *Related) clearSeen(n int) int {
	size := 8
	for size < 2*n {
		size *= 2
	}
	l.seen = slices.Grow(l.seen[:0], size)[:size]
	clear(l.seen)
	return size
}

// tellApart fills targets with the different targets of the edges, and sets the row of each edge to the position of its
// target there.
func (l *Related) tellApart() {
	l.clearSeen(len(l.edges))
	l.targets = l.targets[:0]
	for i := range l.edges {
		l.edges[i].row = l.targetOf(l.edges[i].target)
	}
}

// targetOf returns the position of a target in targets, and appends it if it is not there. The table seen must have
// room for it.
func (l *Related) targetOf(target format.End) int32 {
	last := len(l.seen) - 1
	at := int(target.Doc*0x9e3779b97f4a7c15>>32) & last
	for l.seen[at] > 0 && l.targets[l.seen[at]-1] != target {
		at = (at + 1) & last
	}
	if l.seen[at] == 0 {
		l.targets = append(l.targets, target)
		l.seen[at] = int32(len(l.targets))
	}
	return l.seen[at] - 1
}

// rowOf returns the position of a target's row in Rows, and adds the row if it is not there.
func (l *Related) rowOf(r Record) int32 {
	if 2*len(l.targets) >= len(l.seen) {
		l.clearSeen(2 * len(l.targets))
		known := l.targets
		l.targets = l.targets[:0]
		for _, target := range known {
			l.targetOf(target)
		}
	}
	i := l.targetOf(r.ref())
	if int(i) == len(l.shown) {
		l.shown = append(l.shown, -1)
	}
	if l.shown[i] < 0 {
		l.shown[i] = l.add(r)
	}
	return l.shown[i]
}

// inFileOrder returns the positions of all targets, sorted by where their rows lie in the file.
func (l *Related) inFileOrder() []int32 {
	l.order = l.order[:0]
	for i := range l.targets {
		l.order = append(l.order, int32(i))
	}
	slices.SortFunc(l.order, func(i, j int32) int {
		return compareRefs(l.targets[i], l.targets[j])
	})
	return l.order
}

// gatherRows lists the targets that are not stored as links: components inside the rows, and localizations.
func (s *Snapshot) gatherRows(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) {
	begin := 0
	add := func(target Record) bool {
		into.Items = append(into.Items, int32(len(into.Rows)))
		into.Rows = append(into.Rows, target)
		return len(into.Rows)-begin != most &&
			!into.over(len(into.Items)) // false at the last target, so that no further one is read
	}
	for _, r := range of {
		if into.Over {
			return
		}
		begin = len(into.Rows)
		switch {
		case !r.Exists() || most == 0:
		case a.IsRelation():
			s.Related(r, a, status, add)
		default:
			r.Each(a, add)
		}
		into.Starts = append(into.Starts, int32(len(into.Items)))
	}
}

// list sets the items of each row from its edges.
func (s *Snapshot) list(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) {
	edges := into.edges
	for i := range of {
		begin := len(into.Items)
		for ; len(edges) > 0 && edges[0].from == int32(i); edges = edges[1:] {
			if edges[0].row >= 0 {
				into.Items = append(into.Items, edges[0].row)
			}
		}
		if len(into.short) > 0 && into.short[0] == int32(i) {
			into.short = into.short[1:]
			if len(into.Items)-begin < most {
				s.again(of[i], a, status, most, begin, into)
			}
		}
		into.Starts = append(into.Starts, int32(len(into.Items)))
	}
}

// again reads all links of a row. It is called if the row's first links gave too few items, because some of their
// targets have no version to show.
func (s *Snapshot) again(r Record, a *contenttypes.Attribute, status Status, most, begin int, into *Related) {
	into.partial = into.partial || len(into.Items) > begin // the items dropped below leave unused rows
	into.Items = into.Items[:begin]
	s.Related(r, a, status, func(target Record) bool {
		into.Items = append(into.Items, into.rowOf(target))
		return len(into.Items)-begin < most
	})
}

// allItems is the query of all items.
var allItems = &Query{Limit: -1}

// choose leaves out the items that are not seen, and filters, orders and pages the others of each row. A nil query
// chooses all.
func (s *Snapshot) choose(status Status, q *Query, l *limits, into *Related) {
	shown := len(into.Items)
	if q == nil {
		q = allItems
	}
	if q.Filter != nil || l != nil {
		match := compile(q.Filter, status, false)
		keep := make([]bool, len(into.Rows))
		for i, r := range into.Rows {
			keep[i] = l.sees(s, r) && match.holds(s, r)
		}
		into.Keep(func(row int32) bool { return keep[row] })
	}
	if len(q.Sort) > 0 {
		into.keys = into.keys[:0]
		keys := s.sorter(q, status)
		for _, r := range into.Rows {
			into.keys = append(into.keys, keys.of(r))
		}
	}
	chosen, begin := into.Items[:0], int32(0)
	for i := 1; i < len(into.Starts); i++ {
		own := into.Items[begin:into.Starts[i]]
		if len(q.Sort) > 0 {
			slices.SortStableFunc(own, func(x, y int32) int {
				return cmp.Or(compareKeys(into.keys[x], into.keys[y], q.Sort),
					cmp.Compare(into.Rows[x].ID(), into.Rows[y].ID()))
			})
		}
		chosen = append(chosen, cut(own, q.Offset, q.Limit)...)
		begin, into.Starts[i] = into.Starts[i], int32(len(chosen))
	}
	into.Items = chosen
	into.partial = into.partial || len(chosen) < shown
}

// Set replaces the result by that of a single row whose targets are rows.
func (l *Related) Set(rows []Record) {
	l.reset()
	l.Rows = append(l.Rows, rows...)
	for i := range rows {
		l.Items = append(l.Items, int32(i))
	}
	l.Starts = append(l.Starts, int32(len(rows)))
}

// SetNone replaces the result by that of n rows without targets.
func (l *Related) SetNone(n int) {
	l.reset()
	for range n {
		l.Starts = append(l.Starts, 0)
	}
}

// maxKept is the maximum number of rows whose memory Clear keeps.
const maxKept = 4096

// Clear removes all records. It also frees the memory if it is large; otherwise the next call reuses it.
func (l *Related) Clear() {
	if cap(l.Rows) > maxKept || cap(l.Items) > 4*maxKept || cap(l.edges) > 4*maxKept {
		*l = Related{}
		return
	}
	l.reset()
	l.keys = nil
}

// Keep removes the items for whose row keep returns false. Rows itself does not change.
func (l *Related) Keep(keep func(row int32) bool) {
	kept := l.Items[:0]
	begin := int32(0)
	for i := 1; i < len(l.Starts); i++ {
		for _, row := range l.Items[begin:l.Starts[i]] {
			if keep(row) {
				kept = append(kept, row)
			}
		}
		begin, l.Starts[i] = l.Starts[i], int32(len(kept))
	}
	l.Items = kept
}
