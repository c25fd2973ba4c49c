package levels

// A loader keeps the memory of at most maxLevels levels, and of a use that read at most maxRead objects. A level keeps memory of its
// own for at most maxOwn rows.
const (
	maxLevels = 256
	maxRead   = 1 << 20 / (itemBytes + rowBytes)
	maxOwn    = 4096
)

// Used returns the levels that the loader has handed out and made since Reset, in that order.
func (ld *Loader[S]) Used() []*Level[S] { return ld.used }

// Reset ends all levels. The loader keeps its settings, and the memory of the levels unless that is very much.
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
		if clear(l.own); cap(l.own) > maxOwn {
			l.own = nil
		}
		l.Rows, l.own = nil, l.own[:0]
	}
	clear(ld.queue)
	ld.idle, ld.used, ld.queue = append(ld.idle, ld.used...), ld.used[:0], ld.queue[:0]
	ld.Read, ld.uses = 0, nil
}
