// Package levels reads the targets of documents: relations, files, components, zones, localizations, and the documents
// that use a file. It reads breadth first within one snapshot: all targets of an attribute of all rows of a level at
// once, and each document once. The REST API and GraphQL print their answers from the levels.
//
// An API puts the rows that it has found on a Level, calls Load, and prints. In the example, item prints a row of a
// level and everything below it:
//
//	top := loader.Level(selection)
//	top.Rows = rows
//	err := loader.Load(top)
//
//	func item(l *Level[S], i int) {
//		for n := range l.To {
//			to := &l.To[n]
//			for _, row := range to.Of(i) {
//				item(to.Item(row))
//			}
//		}
//	}
//
// Each level has a selection, which decides what is read below its rows. It may have any type: a Source tells the
// Loader the loads of a selection.
//
// Once a level is loaded, Weigh counts how often each target will be printed, and refuses an answer that would be too
// large before it is printed. An answer without populated relations needs no level.
package levels

import (
	"errors"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A Level holds rows with one selection, and the rows that these lead to. If several rows of the level above lead to
// the same document, the level holds it once.
type Level[S any] struct {
	Selection S
	Rows      []store.Record
	To        []Loaded[S] // indexed by the number of the load; see Source.Load

	status store.Status // in which the rows are shown, and what they lead to unless the caller may not see it

	picked []store.Record // memory for Rows on a level of a union
	sizes  []int          // indexed by row: the number of objects that are printed for it; see Weigh
}

// A Loaded holds what one load found for all rows of a level.
type Loaded[S any] struct {
	store.Related             // empty if the targets are only counted
	Counts        []int       // indexed by row; set only if the targets are only counted
	Levels        []*Level[S] // the levels of the rows that were found, Load.Levels of them; a level without rows is nil

	union   bool
	members []member // set for a union; indexed by position in Related.Rows
}

// A member is the position of a row of a union: the level, and the row on that level. A row that is on no level has
// level -1.
type member struct{ level, row int32 }

// Item returns the level of the row at a position in Rows, and the position of the row on that level. If a load has
// several levels and is no union, it returns the first of them.
func (to *Loaded[S]) Item(row int32) (l *Level[S], i int32) {
	if !to.union {
		return to.Levels[0], row
	}
	m := to.members[row]
	return to.Levels[m.level], m.row
}

// On returns the position on the k-th level of the row at a position in Rows. It is not ok if the row is on another
// level.
func (to *Loaded[S]) On(k int, row int32) (i int32, ok bool) {
	if !to.union {
		return row, true
	}
	m := to.members[row]
	return m.row, int(m.level) == k
}

// Detach copies the rows, so that they can be used after the snapshot has ended. It returns the size of the copies.
func (to *Loaded[S]) Detach() (size int64) {
	for i := range to.Rows {
		to.Rows[i] = to.Rows[i].Detached()
		size += int64(to.Rows[i].Size())
	}
	for i, m := range to.members {
		if m.level >= 0 {
			to.Levels[m.level].Rows[m.row] = to.Rows[i]
		}
	}
	return size
}

// A Source tells a Loader what to read for a selection.
type Source[S any] interface {
	// Loads returns the number of loads of s.
	Loads(s S) int
	// Load returns the n-th load of s.
	Load(s S, n int) Load
	// Below returns the selection of the k-th level of the n-th load of s.
	Below(s S, n, k int) S
	// Member returns the level of a row that the n-th load of s, a union, has found. A negative result omits the row.
	// status says which versions of documents are shown behind the row.
	Member(s S, n int, r store.Record, status store.Status) int
	// Hold reserves memory, or returns an error if there is none.
	Hold(bytes int64) error
}

// A Load says what to read for the rows of a level.
type Load struct {
	Kind  Kind
	Attr  *contenttypes.Attribute // that Targets and Counts follow
	Query *store.Query            // filters, sorts and limits the targets of each row; nil: all of them
	// Levels is the number of levels of the targets. Each target is on all of them or, if Union is set, on one.
	Levels int
	Union  bool
}

// A Kind says what a Load reads.
type Kind uint8

const (
	Nothing Kind = iota
	Targets      // targets of a relation or media attribute, items of a component or zone, or localizations
	Counts       // the number of targets
	Uses         // the documents that use a file, of types that the caller may find; only the Filter of Query has an effect
)

// ErrTooMany is returned if more objects would be read or printed than Settings.Most.
var ErrTooMany = errors.New("there are too many objects to be read for the answer")

// The approximate memory of a row on a level, and of an item: the reference of another row to it.
const (
	rowBytes  = 128
	itemBytes = 32
)

// Settings are the settings of a Loader for one answer.
type Settings[S any] struct {
	Source   Source[S]
	Snapshot *store.Snapshot
	Status   store.Status              // the status of documents on the top level, and of those that they lead to
	Access   *permission.Access        // what the caller may see
	FileUses []*contenttypes.Attribute // the media attributes that Uses follows; see FileUses
	Most     int                       // the maximum number of objects in an answer
}

// A Loader reads levels and reuses their memory. It must not be used by several goroutines at the same time.
type Loader[S any] struct {
	Settings[S]
	Read int // how many objects were read since Reset

	uses              []*contenttypes.Attribute // cached result of visibleUses; nil if not computed yet
	idle, used, queue []*Level[S]
}

// Level returns an empty level. It is valid until Reset.
func (ld *Loader[S]) Level(s S) *Level[S] {
	var l *Level[S]
	if n := len(ld.idle); n > 0 {
		l, ld.idle = ld.idle[n-1], ld.idle[:n-1]
	} else {
		l = &Level[S]{}
	}
	l.Selection, l.status = s, ld.Status
	if n := ld.Source.Loads(s); n <= cap(l.To) {
		l.To = l.To[:n]
	} else {
		l.To = append(l.To[:cap(l.To)], make([]Loaded[S], n-cap(l.To))...)
	}
	ld.used = append(ld.used, l)
	return l
}

// Load reads everything below the rows of a level.
func (ld *Loader[S]) Load(top *Level[S]) error {
	ld.queue = append(ld.queue[:0], top)
	for i := 0; i < len(ld.queue); i++ {
		if err := ld.loadLevel(ld.queue[i]); err != nil {
			return err
		}
	}
	return nil
}

// Found counts objects that were read for the answer, and reserves memory for them.
func (ld *Loader[S]) Found(n int) error { return ld.count(n, n) }

// count counts items that were found, and reserves memory for them and their rows.
func (ld *Loader[S]) count(items, rows int) error {
	if ld.Read += items; ld.Read > ld.Most {
		return ErrTooMany
	}
	return ld.Source.Hold(int64(items)*itemBytes + int64(rows)*rowBytes)
}

// loadLevel carries out the loads of one level, and puts the levels below it into the queue.
func (ld *Loader[S]) loadLevel(l *Level[S]) error {
	for n := range l.To {
		to, load := &l.To[n], ld.Source.Load(l.Selection, n)
		to.Levels, to.members, to.union = to.Levels[:0], to.members[:0], load.Union
		if err := ld.read(l, &load, to); err != nil {
			return err
		}
		if to.Over {
			return ErrTooMany
		}
		if err := ld.count(len(to.Items), len(to.Rows)); err != nil {
			return err
		}
		if len(to.Rows) == 0 {
			to.Levels = append(to.Levels, make([]*Level[S], load.Levels)...)
			continue
		}
		for k := range load.Levels {
			below := ld.Level(ld.Source.Below(l.Selection, n, k))
			below.Rows, below.status = to.Rows, l.status
			to.Levels = append(to.Levels, below)
		}
		if load.Union {
			ld.divide(l, n)
		}
		for _, below := range to.Levels {
			if len(below.To) > 0 && len(below.Rows) > 0 {
				below.status = behind(below.Rows[0], l.status)
				ld.queue = append(ld.queue, below)
			}
		}
	}
	return nil
}

// behind returns the status in which documents are shown behind a row. A version of a type with draft & publish leads
// to versions of its own status. Other rows lead to what the rows do that lead to them.
func behind(r store.Record, above store.Status) store.Status {
	if t := r.Type(); t != nil && t.DraftAndPublish {
		return r.Status()
	}
	return above
}

// read carries out a load for the rows of a level.
func (ld *Loader[S]) read(l *Level[S], load *Load, to *Loaded[S]) (err error) {
	rows := l.Rows
	to.Most, to.Sight = max(ld.Most-ld.Read, 1), ld.Access.Sight(l.status)
	switch load.Kind {
	case Targets:
		return ld.Snapshot.RelatedAll(rows, load.Attr, l.status, load.Query, &to.Related)
	case Uses:
		var f store.Filter
		if load.Query != nil {
			f = load.Query.Filter
		}
		return ld.Snapshot.UsesAll(rows, ld.visibleUses(), l.status, f, &to.Related)
	}
	to.SetNone(len(rows))
	if load.Kind == Counts {
		to.Counts, err = ld.Snapshot.RelatedCounts(rows, load.Attr, l.status, load.Query, to.Sight,
			to.Counts[:0])
	}
	return err
}

// divide distributes the rows that the n-th load of a level has found over the levels of the load, which is a union. It
// removes the items of rows that belong to none of them.
func (ld *Loader[S]) divide(of *Level[S], n int) {
	to := &of.To[n]
	for _, l := range to.Levels {
		l.Rows = l.picked[:0]
	}
	all := true
	for _, r := range to.Rows {
		m := member{level: int32(ld.Source.Member(of.Selection, n, r, behind(r, of.status)))}
		if m.level >= 0 {
			l := to.Levels[m.level]
			m.row = int32(len(l.Rows))
			l.Rows = append(l.Rows, r)
		}
		all = all && m.level >= 0
		to.members = append(to.members, m)
	}
	for _, l := range to.Levels {
		l.picked = l.Rows
	}
	if !all {
		to.Keep(func(row int32) bool { return to.members[row].level >= 0 })
	}
}

// FileUses returns the media attributes of the content-types of a model, except private ones.
func FileUses(m *contenttypes.Model) []*contenttypes.Attribute {
	var uses []*contenttypes.Attribute
	for _, t := range m.Types {
		for _, a := range t.Attributes {
			if a.Type == contenttypes.Media && !a.Private && !t.Internal {
				uses = append(uses, a)
			}
		}
	}
	return uses
}

// visibleUses returns the FileUses of types that the caller may find.
func (ld *Loader[S]) visibleUses() []*contenttypes.Attribute {
	if ld.uses == nil {
		ld.uses = []*contenttypes.Attribute{}
		for _, a := range ld.FileUses {
			if owner, _ := a.OwnerType(); ld.Access.Allows(owner, "find") {
				ld.uses = append(ld.uses, a)
			}
		}
	}
	return ld.uses
}
