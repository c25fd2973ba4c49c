package execution

import (
	"slices"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A level holds the objects of one selection, and what they lead to. A document that several objects of the level above lead
// to is on it once.
type level struct {
	sel   *selection
	rows  []store.Record
	own   []store.Record // memory for rows, where they are some of those that a union leads to
	to    []loaded       // by field.load
	hooks *levelHooks    // where something that a program brought runs on it; nil elsewhere
	sizes []int          // of rows, by weigh
}

// A loaded is what one field of all objects of a level leads to.
type loaded struct {
	related store.Related
	kids    []*level // one for each of the field's subs; for a union, at says which rows are on which
	at      []member
	handles map[int32]*schema.Row // by position in related.Rows: what resolvers know rows by
}

// A member is the place of a row of a union: on which of the levels, and where.
type member struct{ kid, row int32 }

// level returns an empty level, used before or new.
func (x *execution) level(s *selection) *level {
	var l *level
	if n := len(x.idle); n > 0 {
		l, x.idle = x.idle[n-1], x.idle[:n-1]
	} else {
		l = &level{}
	}
	l.sel = s
	if n := len(s.loads); n <= cap(l.to) {
		l.to = l.to[:n]
	} else {
		l.to = append(l.to[:cap(l.to)], make([]loaded, n-cap(l.to))...)
	}
	x.used = append(x.used, l)
	return l
}

// load reads all that the rows of a level lead to, breadth first.
func (x *execution) load(top *level) {
	x.queue = append(x.queue[:0], top)
	for i := 0; i < len(x.queue) && x.failed == nil; i++ {
		x.step(x.queue[i])
	}
	if x.failed == nil && x.custom == nil {
		x.weigh()
	}
}

// found counts objects that were read for the answer, and reports whether it may hold so many.
func (x *execution) found(n int) bool {
	if x.rows += n; x.rows > x.most {
		x.fail(x.tooManyObjects())
	}
	x.hold(int64(n) * objectBytes)
	return x.failed == nil
}

// weigh fails the execution when the levels that were read make more objects than an answer may hold. A row is read once and
// printed for each of those that lead to it, so that few rows in circles make an answer without end. What is counted here is what
// would be printed; nothing has been yet.
func (x *execution) weigh() {
	if len(x.queue) < 2 {
		return // each row is printed as often as it was found
	}
	for _, l := range slices.Backward(x.queue) { // those that rows lead to come behind them
		l.sizes = slices.Grow(l.sizes[:0], len(l.rows))[:len(l.rows)]
		for i := range l.rows {
			size := 1
			for _, f := range l.sel.loads {
				if x.bounds[f.slot].err != nil {
					continue
				}
				size = min(size+l.to[f.load].size(f, i), x.most+1)
			}
			l.sizes[i] = size
		}
	}
	total := x.objects
	for _, size := range x.queue[0].sizes {
		if total += size; total > x.most {
			x.fail(x.tooManyObjects())
			return
		}
	}
}

// size is how many objects are printed of what row i leads to under a field.
func (to *loaded) size(f *field, i int) (n int) {
	items := to.related.Of(i)
	if (f.as == asOne || f.as == asUnion) && len(items) > 1 {
		items = items[:1]
	}
	if f.variants != nil {
		for _, row := range items {
			m := to.at[row]
			n += to.kids[m.kid].sizeOf(m.row)
		}
		return n
	}
	for _, kid := range to.kids {
		if len(kid.sel.loads) == 0 {
			n += len(items)
			continue
		}
		for _, row := range items {
			n += kid.sizes[row]
		}
	}
	return n
}

// sizeOf is how many objects are printed of a row and what it leads to.
func (l *level) sizeOf(row int32) int {
	if len(l.sel.loads) == 0 {
		return 1
	}
	return l.sizes[row]
}

// step reads what the rows of one level lead to.
func (x *execution) step(l *level) {
	for _, f := range l.sel.loads {
		to, b := &l.to[f.load], &x.bounds[f.slot]
		to.kids, to.at = to.kids[:0], to.at[:0]
		rows := l.rows
		if b.err != nil {
			rows = nil
		}
		to.related.Most = max(x.most-x.rows, 1)
		if f.spec.Kind == schema.Related {
			x.usesOf(rows, &to.related)
		} else if err := x.snap.RelatedAll(rows, f.attr, x.status, &b.query, &to.related); err != nil {
			x.fail(err)
			return
		}
		if to.related.Over {
			x.fail(x.tooManyObjects())
			return
		}
		if !x.found(len(to.related.Items)) {
			return
		}
		for _, s := range f.subs {
			kid := x.level(s)
			kid.rows = to.related.Rows
			to.kids = append(to.kids, kid)
		}
		if f.variants != nil {
			to.divide(f)
		}
		if f.spec.Kind == schema.MorphOne || f.spec.Kind == schema.MorphList {
			to.related.Keep(func(row int32) bool { return x.access.Allows(to.related.Rows[row].Type(), "find") })
		}
		for _, kid := range to.kids {
			if len(kid.sel.loads) > 0 {
				x.queue = append(x.queue, kid)
			}
		}
	}
}

// divide puts each row of a union on the level of its type or component.
func (to *loaded) divide(f *field) {
	for _, kid := range to.kids {
		kid.rows = kid.own[:0]
	}
	for _, r := range to.related.Rows {
		kid, ok := f.variants[schemaOf(r)]
		if !ok {
			to.at = append(to.at, member{kid: -1})
			continue
		}
		l := to.kids[kid]
		to.at = append(to.at, member{int32(kid), int32(len(l.rows))})
		l.rows = append(l.rows, r)
	}
	known := true
	for _, kid := range to.kids {
		kid.own = kid.rows
	}
	for _, m := range to.at {
		known = known && m.kid >= 0
	}
	if !known { // of a type or component that the union does not have
		to.related.Keep(func(row int32) bool { return to.at[row].kid >= 0 })
	}
}

func schemaOf(r store.Record) *contenttypes.Schema {
	if c := r.Component(); c != nil {
		return &c.Schema
	}
	return &r.Type().Schema
}

// fail ends the execution: nothing more is read or printed. The first error is the one that is told.
func (x *execution) fail(err error) {
	if x.failed == nil {
		x.failed = err
	}
}
