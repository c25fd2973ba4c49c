package answers

import (
	"time"

	"lectern/store"
)

// A Moment is the content of a World behind a write, with the place in the server's log.
type Moment struct {
	World     *World
	Seq       store.Position
	At        time.Time // when the last entry up to Seq was made, in milliseconds
	Converted bool      // a later change of definitions has converted content, so the server cannot show the moment any more
}

// A LoggedHost is a Host that tells where its log ends, and takes over changed definitions.
type LoggedHost interface {
	Host
	LogEnd() (store.Position, time.Time, error)
	Redefine(*Model) error
}

// A Past is what a Run remembers of the content after each write.
type Past struct {
	Moments []*Moment
	Items   map[int][]*PastItem // what was done to each document, by its number, oldest first
	Unclear map[int]bool        // documents that one operation wrote several times, so that Items lacks something
}

// Remembering makes a run remember the content after each write. It asks for documents as they were and for their
// histories, restores former versions, and changes definitions. The server must be a LoggedHost.
func (r *Run) Remembering() *Run {
	r.past = &Past{Items: map[int][]*PastItem{}, Unclear: map[int]bool{}}
	return r
}

// remember keeps the content as it is now, behind so many writes since the last moment.
func (r *Run) remember(writes int) error {
	if r.past == nil {
		return nil
	}
	seq, at, err := r.server.(LoggedHost).LogEnd()
	if err != nil {
		return err
	}
	former := &Moment{World: &World{}}
	if n := len(r.past.Moments); n > 0 {
		former = r.past.Moments[n-1]
	}
	if former.Seq == seq {
		return nil
	}
	m := &Moment{World: r.world.clone(), Seq: seq, At: at}
	r.past.Moments = append(r.past.Moments, m)
	r.past.record(former, m, writes > 1)
	return nil
}

// momentOf returns the moment of an operation, and the latest moment with the content that the operation asks for. A
// shrunk run may not have it.
func (r *Run) momentOf(op *Operation) (named, shown *Moment, ok bool) {
	if r.past == nil || op.Moment >= len(r.past.Moments) {
		return nil, nil, false
	}
	named = r.past.Moments[op.Moment]
	shown = named
	if op.ByTime {
		for _, m := range r.past.Moments {
			if !m.At.After(named.At) {
				shown = m
			}
		}
	}
	return named, shown, true
}

// clone returns a copy of the content. It shares the values that the server generates, which may become known later.
func (w *World) clone() *World {
	c := &World{Model: w.Model, Quirk: w.Quirk, Files: w.Files, Hashes: w.Hashes,
		Added: w.Added[:len(w.Added):len(w.Added)]}
	copies := map[*Document]*Document{}
	for _, d := range w.Docs {
		copies[d] = &Document{Number: d.Number, Type: d.Type, ID: d.ID}
		c.Docs = append(c.Docs, copies[d])
	}
	moved := func(e End) End { return End{copies[e.Doc], e.Locale} }
	for _, d := range w.Docs {
		for _, r := range d.Rows {
			row := r.copy(true)
			row.Doc = copies[d]
			moveEnds(row.Items, moved)
			row.Doc.Rows = append(row.Doc.Rows, row)
		}
	}
	for _, l := range w.Links {
		link := *l
		link.From, link.To = moved(l.From), moved(l.To)
		c.Links = append(c.Links, &link)
	}
	return c
}

// moveEnds replaces the ends of all relations in components.
func moveEnds(all map[string][]*Item, moved func(End) End) {
	for _, items := range all {
		for _, it := range items {
			for _, ends := range it.Ends {
				for i := range ends {
					ends[i] = moved(ends[i])
				}
			}
			moveEnds(it.Items, moved)
		}
	}
}
