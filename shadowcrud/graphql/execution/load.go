package execution

import (
	"errors"

	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

type (
	level  = levels.Level[*selection]
	loaded = levels.Loaded[*selection]
)

// load reads all that the rows of a level lead to, and fails the execution where the answer would hold too many objects. An answer in
// which something is custom is not known before it is printed.
func (x *execution) load(top *level) {
	err := x.loader.Load(top)
	if err == nil && x.custom == nil {
		err = x.loader.Weigh(x.objects)
	}
	if err != nil {
		x.failToRead(err)
	}
}

// found counts objects that were read for the answer, and reports whether it may hold so many.
func (x *execution) found(n int) bool {
	if err := x.loader.Found(n); err != nil {
		x.failToRead(err)
	}
	return x.failed == nil
}

func (x *execution) failToRead(err error) {
	if errors.Is(err, levels.ErrTooMany) {
		err = x.tooManyObjects()
	}
	x.fail(err)
}

// The methods that make an execution the levels.Source of its loader.

// Loads returns how many fields of s lead to rows.
func (x *execution) Loads(s *selection) int { return len(s.loads) }

// Load returns what is read for a field.
func (x *execution) Load(s *selection, n int) levels.Load {
	f := s.loads[n]
	b := &x.bounds[f.slot]
	load := levels.Load{Kind: levels.Targets, Attr: f.attr, Query: &b.query, Levels: len(f.subs), Union: f.variants != nil}
	switch {
	case b.err != nil:
		load.Kind = levels.Nothing
	case f.spec.Kind == schema.Related:
		load.Kind = levels.Uses
	}
	return load
}

// Below returns what is printed of the rows that a field leads to.
func (x *execution) Below(s *selection, n, k int) *selection { return s.loads[n].subs[k] }

// Member returns which member of a union a row is; a negative one is not shown.
func (x *execution) Member(s *selection, n int, r store.Record) int {
	f := s.loads[n]
	k, ok := f.variants[r.Schema()]
	if !ok {
		return -1
	}
	if kind := f.spec.Kind; (kind == schema.MorphOne || kind == schema.MorphList) && !x.access.Allows(r.Type(), "find") {
		return -1
	}
	return k
}

// Hold reserves memory for what is read.
func (x *execution) Hold(bytes int64) error {
	x.reserve(bytes)
	return x.failed
}

// fail ends the execution: nothing more is read or printed. The first error is the one that is told.
func (x *execution) fail(err error) {
	if x.failed == nil {
		x.failed = err
	}
}
