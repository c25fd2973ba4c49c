package levels

import "slices"

// Weigh fails with ErrTooMany where more than Most objects would be printed: printed that were printed before, the rows of the level
// that was loaded last, and all that they lead to. A row is read once and printed for each row that leads to it, so few rows in
// circles can make an answer without end. Weigh finds that out before anything of them is printed.
func (ld *Loader[S]) Weigh(printed int) error {
	if len(ld.queue) < 2 {
		return nil // each row is printed as often as it was found
	}
	for _, l := range slices.Backward(ld.queue) { // a level stands behind those that lead to it
		l.sizes = slices.Grow(l.sizes[:0], len(l.Rows))[:len(l.Rows)]
		for i := range l.Rows {
			size := 1
			for n := range l.To {
				size = min(size+l.To[n].size(i), ld.Most+1)
			}
			l.sizes[i] = size
		}
	}
	for _, size := range ld.queue[0].sizes {
		if printed += size; printed > ld.Most {
			return ErrTooMany
		}
	}
	return nil
}

// size is how many objects are printed of what row i leads to.
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

// sizeOf is how many objects are printed of a row and what it leads to.
func (l *Level[S]) sizeOf(row int32) int {
	if len(l.To) == 0 {
		return 1
	}
	return l.sizes[row]
}
