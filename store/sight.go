package store

import (
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A seen says which targets of a type are seen: those whose version in a status meets all conditions.
type seen struct {
	conjunction
	cond   cond // of the conjunction
	status Status
}

// sees reports whether a target is seen. A nil seen sees all.
func (x *seen) sees(s *Snapshot, target Record) bool { return x == nil || x.cond.holds(s, target) }

// and returns c and what targets must meet to be seen.
func (c conjunction) and(x *seen) conjunction {
	if x == nil || len(x.conds) == 0 {
		return c
	}
	return conjunction{slices.Concat(c.filters, x.filters), slices.Concat(c.conds, x.conds)}
}

// A limits is a compiled Sight on what is behind rows that are shown in a status. A nil one shows all targets, in the
// status of the rows.
type limits struct {
	sight *Sight
	rows  Status
	types map[*contenttypes.ContentType]*seen

	last   *contenttypes.ContentType // the type that of was asked for last; most rows have the type of the one before
	ofLast *seen
}

// newLimits compiles a Sight, which may be nil.
func newLimits(sight *Sight, rows Status) *limits {
	if sight == nil {
		return nil
	}
	return &limits{sight: sight, rows: rows, types: map[*contenttypes.ContentType]*seen{}}
}

// limitsOf compiles a Sight for the targets of an attribute. It returns nil if the Sight does not limit them.
func limitsOf(sight *Sight, a *contenttypes.Attribute, rows Status) *limits {
	if sight == nil || !a.IsRelation() {
		return nil
	}
	l := newLimits(sight, rows)
	if a.Target != nil && l.of(a.Target) == nil {
		return nil
	}
	return l
}

// of returns what is seen of a type; nil if all of it is, in the status of the rows.
func (l *limits) of(t *contenttypes.ContentType) *seen {
	if l == nil || t == nil {
		return nil
	}
	if t == l.last {
		return l.ofLast
	}
	x, known := l.types[t]
	if !known {
		x = l.compile(t)
		l.types[t] = x
	}
	l.last, l.ofLast = t, x
	return x
}

// compile returns what of returns, for a type that it was not asked for before.
func (l *limits) compile(t *contenttypes.ContentType) *seen {
	status := l.rows
	if t.DraftAndPublish {
		status = l.sight.StatusOf(t, l.rows)
	}
	if only := l.sight.Visible(t, status); only != nil || status != l.rows {
		c := compileConjuncts(only, status)
		return &seen{c, c.cond(), status}
	}
	return nil
}

// statusOf returns the status in which targets of a type are shown.
func (l *limits) statusOf(t *contenttypes.ContentType) Status {
	if x := l.of(t); x != nil {
		return x.status
	}
	return l.rows
}

// narrow reports whether some targets of an attribute may be shown in another status than the rows.
func (l *limits) narrow(a *contenttypes.Attribute) bool {
	return l != nil && l.rows == Draft && (a.Target == nil || l.statusOf(a.Target) != Draft)
}

// below returns the status in which the targets of an attribute are shown; that of the rows if they are of several
// types.
func (l *limits) below(a *contenttypes.Attribute, rows Status) Status {
	if l == nil || a.Target == nil {
		return rows
	}
	return l.statusOf(a.Target)
}

// statusOfEnd returns the status in which a linked document is shown.
func (l *limits) statusOfEnd(s *Snapshot, r format.End) Status {
	if b := s.bound.numbered(r.Schema); b != nil && b.typ != nil {
		return l.statusOf(b.typ)
	}
	return l.rows
}

// sees reports whether a target is seen.
func (l *limits) sees(s *Snapshot, target Record) bool {
	if l == nil {
		return true
	}
	x, t := l.ofLast, target.Type()
	if t != l.last {
		x = l.of(t)
	}
	return x == nil || x.cond.holds(s, target)
}
