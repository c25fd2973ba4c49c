package execution

import (
	"errors"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

type (
	level  = levels.Level[*plan.Selection]
	loaded = levels.Loaded[*plan.Selection]
)

// load reads all rows related to those of a level, and fails the execution if the answer would hold too many objects.
// For operations with custom fields, objects are only counted when they are printed.
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
	return x.Failed == nil
}

func (x *execution) failToRead(err error) {
	if errors.Is(err, levels.ErrTooMany) {
		err = x.tooManyObjects()
	}
	x.Fail(err)
}

// tooManyObjects is the error of an answer that holds too many objects.
func (x *execution) tooManyObjects() error {
	op := ast.Query
	if x.writing {
		op = ast.Mutation
	}
	return x.engine.limits.TooManyObjects(op)
}

// An execution is the levels.Source of its loader.
var _ levels.Source[*plan.Selection] = (*execution)(nil)

// Loads returns the number of fields of s that have related rows.
func (x *execution) Loads(s *plan.Selection) int { return len(s.Loads) }

// Load returns which rows to read for field n of s.loads.
func (x *execution) Load(s *plan.Selection, n int) levels.Load {
	f := s.Loads[n]
	b := &x.bindings[f.Slot]
	load := levels.Load{Kind: levels.Targets, Attr: f.Attr, Query: &b.Query, Levels: len(f.Subs),
		Union: f.Variants != nil}
	switch {
	case b.Err != nil:
		load.Kind = levels.Nothing
	case f.Spec.Kind == schema.Related:
		load.Kind = levels.Uses
	}
	return load
}

// Below returns the selection on the related rows of a field.
func (x *execution) Below(s *plan.Selection, n, k int) *plan.Selection { return s.Loads[n].Subs[k] }

// Member returns the index of the union member that a row belongs to, negative if the row is left out of the answer.
func (x *execution) Member(s *plan.Selection, n int, r store.Record, _ store.Status) int {
	f := s.Loads[n]
	k, ok := f.Variants[r.Schema()]
	if !ok {
		return -1
	}
	if kind := f.Spec.Kind; (kind == schema.MorphOne || kind == schema.MorphList) &&
		!x.access.Allows(r.Type(), "find") {
		return -1
	}
	return k
}
