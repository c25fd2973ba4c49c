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

// load reads all rows related to those of a level, and fails the execution if the answer would hold too many objects. For operations with
// custom fields, objects are only counted when they are printed.
func (x *execution) load(top *level) {
	err := x.loader.Load(top)
	if err == nil && x.custom == nil {
		err = x.loader.Weigh(x.objects)
	}
	if err != nil {
		x.failToRead(err)
	}
}

// found counts n objects as read, and reports whether the answer may hold so many.
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

// An execution is the levels.Source of its loader.
var _ levels.Source[*selection] = (*execution)(nil)

// Loads returns the number of fields of s that have related rows.
func (x *execution) Loads(s *selection) int { return len(s.loads) }

// Load returns which rows to read for field n of s.loads.
func (x *execution) Load(s *selection, n int) levels.Load {
	f := s.loads[n]
	b := &x.bindings[f.slot]
	load := levels.Load{Kind: levels.Targets, Attr: f.attr, Query: &b.query, Levels: len(f.subs), Union: f.variants != nil}
	switch {
	case b.err != nil:
		load.Kind = levels.Nothing
	case f.spec.Kind == schema.Related:
		load.Kind = levels.Uses
	}
	return load
}

// Below returns the selection on the related rows of a field.
func (x *execution) Below(s *selection, n, k int) *selection { return s.loads[n].subs[k] }

// Member returns the index of the union member that a row belongs to, negative if the row is left out of the answer.
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

// fail ends the execution: nothing more is read or printed. The first error wins.
func (x *execution) fail(err error) {
	if x.failed == nil {
		x.failed = err
	}
}
