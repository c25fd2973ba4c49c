package levels

import "slices"

// Weigh returns ErrTooMany if more than Most objects would be printed: the number that was printed before, the rows of
// the level that was loaded last, and everything below them. A row is read once but printed for each row that leads to
// it, so that a few rows that lead to each other can make a huge answer. Weigh is called before they are printed.
func (ld *Loader[S]) Weigh(printed int) error {
	if len(ld.queue) < 2 {
		return nil // each row is printed as often as it was found
	}
	for _, l := range slices.Backward(ld.queue) { // a level comes after those that lead to it
		l.sizes = slices.Grow(l.sizes[:0], len(l.Rows))[:len(l.Rows)]
		for i := range l.Rows {
			size := 1
			for n := range l.To {
				size = min(size+l.To[n].size(i), ld.Most+1)
			}
			l.sizes[i] = size
		}
	}
	below := 0
	for _, size := range ld.queue[0].sizes {
		if below += size; printed+below > ld.Most {
			return ErrTooMany
		}
	}
	if !ld.Snapshot.Steps(below) { // printing them is work, too
		return ld.Snapshot.Err()
	}
	return nil
}

// size returns the number of objects that are printed below row i.
func (to *Loaded[S]) size(i int) (n int) {
	items := to.Of(i)
	if len(items) == 0 {
		return 0
	}
	if to.union {
		for _, row := range items {
			m := to.members[row]
			n += to.Levels[m.level].sizeOf(m.row)
		}
		return n
	}
	for _, l := range to.Levels {
		if len(l.To) == 0 {
			n += len(items)
			continue
		}
		for _, row := range items {
			n += l.sizes[row]
		}
	}
	return n
}

// sizeOf returns the number of objects that are printed for a row and below it.
func (l *Level[S]) sizeOf(row int32) int {
	if len(l.To) == 0 {
		return 1
	}
	return l.sizes[row]
}
