package levels

// These limits bound the memory that a loader keeps for reuse: the number of levels, the number of objects that were
// read, and the rows on a level of a union.
const (
	maxLevels = 256
	maxRead   = 1 << 20 / (itemBytes + rowBytes)
	maxPicked = 4096
)

// Used returns the levels that were made since Reset, in the order in which they were made.
func (ld *Loader[S]) Used() []*Level[S] { return ld.used }

// Reset ends all levels. The loader keeps its settings. It reuses the memory of the levels unless it is very large.
func (ld *Loader[S]) Reset() {
	if len(ld.used) > maxLevels || ld.Read > maxRead {
		*ld = Loader[S]{Settings: ld.Settings}
		return
	}
	for _, l := range ld.used {
		for i := range l.To {
			to := &l.To[i]
			to.Clear()
			to.Counts, to.Levels, to.members = to.Counts[:0], to.Levels[:0], to.members[:0]
		}
		if clear(l.picked); cap(l.picked) > maxPicked {
			l.picked = nil
		}
		l.Rows, l.picked = nil, l.picked[:0]
	}
	clear(ld.queue)
	ld.idle, ld.used, ld.queue = append(ld.idle, ld.used...), ld.used[:0], ld.queue[:0]
	ld.Read, ld.uses = 0, nil
}
