package execution

import (
	"context"
	"sync"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// Operations with custom fields, for which a resolver, policy or middleware of a program runs, go another way than all others. No
// snapshot is held while one of these runs, since it may take its time, and may read and write the store itself. So whole levels
// are read and copied first (customread.go). Then what the program brought runs for the objects that are shown (customcall.go,
// customvalue.go). Documents that it names are read together, and what it brought runs for these, until nothing is left. The
// answer is printed at the end (customprint.go). Fields of Query below which nothing is custom are printed while they are read,
// as in other operations.

// A customRun is what such an operation needs beside its execution.
type customRun struct {
	*execution
	// mu is held except while something of a program runs: a middleware may call next from another goroutine, and even after it has
	// returned.
	mu     sync.Mutex
	info   graphql.ResolveInfo // what is the same for all fields
	places map[*schema.Row]place
	todo   []*level // with objects of which fields are not known yet
	later  []later  // values that are to be found out by calling a function
	groups []*referenceGroup
	hooks  map[*level]*levelHooks
	known  map[place]*schema.Row // what resolvers know rows by
}

// A place says where a row lies that was read for a field.
type place struct {
	to  *loaded
	row int32 // in to.Rows
}

// beginCustom makes the execution ready for what a program brought, until done is called.
func (x *execution) beginCustom() (done func()) {
	ctx := schema.WithCaller(x.ctx, &schema.Caller{Access: x.access, User: x.user, HTTP: x.http, Server: x.engine.server})
	ctx = schema.WithFilterReader(ctx, x.filterReader())
	cancel := func() {}
	if x.limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, x.limit)
	}
	x.ctx = ctx
	x.custom = &customRun{execution: x, places: map[*schema.Row]place{}, known: map[place]*schema.Row{}, hooks: map[*level]*levelHooks{}, info: graphql.ResolveInfo{
		Schema: x.engine.schema.GraphQL, VariableValues: map[string]any{}, Fragments: x.plan.fragments, Operation: x.plan.operation,
	}}
	x.custom.mu.Lock()
	for name, v := range x.vars {
		x.custom.info.VariableValues[name] = jsontree.Plain(v)
	}
	return func() {
		x.custom.mu.Unlock()
		cancel()
	}
}

// A rootValue is what is known of the value of a field of Query.
type rootValue struct {
	call  call
	value value
	// stored says that the field is answered from the store alone, and may be; found is what was found there.
	stored bool
	found  any
	err    error
	// printed says that it was printed while it was read, from begin to end; ok that this is a value.
	printed, ok bool
	begin, end  int
}

// customised makes the answer to an operation.
func (x *execution) customised() error {
	defer x.beginCustom()()
	r := x.custom
	if r.isMutation() {
		return x.mutations()
	}
	roots := r.judgeRoots()
	if err := r.readRoots(roots); err != nil {
		return err
	}
	for i := range roots {
		root := &roots[i]
		switch {
		case root.printed || root.value.kind != valueUnknown:
		case root.stored:
			r.finish(&root.call, &root.value, root.found, root.err)
		default:
			r.resolve(&root.call, &root.value)
		}
	}
	if r.settle(); x.failed == nil {
		r.printRoots(roots)
	}
	return x.failed
}

// judgeRoots finds out which fields of Query the caller may ask for, and which of these need nothing but the store.
func (r *customRun) judgeRoots() []rootValue {
	roots := make([]rootValue, len(r.plan.root.fields))
	for i, f := range r.plan.root.fields {
		root := &roots[i]
		root.call = r.rootCall(f)
		root.printed = !f.deep
		root.stored = !f.hooked
		if !f.hooked {
			continue
		}
		if err := r.admit(&root.call); err != nil {
			r.fails(&root.call, &root.value, err)
			continue
		}
		root.stored = f.as != asCustom && f.spec.Middlewares == nil
	}
	return roots
}

// printRoots prints the answer, with what was printed of it already.
func (r *customRun) printRoots(roots []rootValue) {
	read, n := r.buf, 0
	if r.reserve(int64(cap(read))); r.failed != nil {
		return
	}
	r.buf = make([]byte, 0, cap(read))
	r.data(func(f *field) bool {
		root := &roots[n]
		n++
		if !root.printed {
			return r.print(f, &root.value)
		}
		if r.fits(root.end - root.begin); r.failed != nil {
			return false
		}
		r.buf = append(r.buf, read[root.begin:root.end]...)
		return root.ok
	})
}

// readRoots reads what is answered from the store alone, in one snapshot.
func (r *customRun) readRoots(roots []rootValue) error {
	some := false
	for i := range roots {
		some = some || roots[i].stored
	}
	if !some {
		return nil
	}
	return r.view(func() error {
		r.buf = r.buf[:0]
		for i := range roots {
			root := &roots[i]
			switch f := root.call.field; {
			case root.printed:
				root.begin = len(r.buf)
				root.ok = r.rootField(f)
				root.end = len(r.buf)
			case root.stored:
				root.found, root.err = r.query(f, r.bound(f))
			}
			if r.failed != nil {
				return r.failed
			}
		}
		return nil
	})
}

// bound is the binding of a field, an empty one where it has none.
func (r *customRun) bound(f *field) *bound {
	if f.slot < 0 {
		return &bound{}
	}
	return &r.bounds[f.slot]
}

// customMutation runs a field of Mutation.
func (x *execution) customMutation(f *field) bool {
	r := x.custom
	c := r.rootCall(f)
	var v value
	r.answer(&c, &v)
	if r.settle(); x.failed != nil {
		return false
	}
	return r.print(f, &v)
}

// settle finds out what is not known yet: fields of objects that are shown, values that were put off, documents that were named.
func (r *customRun) settle() {
	for r.failed == nil {
		switch {
		case len(r.todo) > 0:
			l := r.todo[0]
			r.todo = r.todo[1:]
			r.objects(l)
		case len(r.later) > 0:
			put := r.later
			r.later = nil
			for i := range put {
				v, err := r.guarded(put[i].find)
				r.finish(&put[i].call, put[i].to, v, err)
			}
		case len(r.groups) > 0:
			groups := r.groups
			r.groups = nil
			r.follow(groups)
		default:
			return
		}
	}
}

// A later is a value for which a resolver returned a function, to be called when all others of its level have run.
type later struct {
	call call
	to   *value
	find func() (any, error)
}

// A levelHooks is what is known of the objects of a level beside their rows.
type levelHooks struct {
	isCaller bool    // its row is the calling user
	values   []value // of hooked fields, one for each row by field.hook
	// paths are those under which rows are shown first, nil for those that are not; fresh are rows that were not looked at yet.
	paths []*graphql.ResponsePath
	fresh []int32
}

// showsCaller reports whether a level holds the user who asks. r may be nil.
func (r *customRun) showsCaller(l *level) bool {
	if r == nil {
		return false
	}
	h := r.hooks[l]
	return h != nil && h.isCaller
}

// hooksOf returns what is known of the objects of a level.
func (r *customRun) hooksOf(l *level) *levelHooks {
	h := r.hooks[l]
	if h == nil {
		h = &levelHooks{}
		r.hooks[l] = h
	}
	return h
}

// endLevels lets go of what is known of levels that have ended.
func (r *customRun) endLevels() {
	clear(r.hooks)
	clear(r.known)
}

// show says that row i of a level is shown.
func (r *customRun) show(l *level, i int32, path *graphql.ResponsePath) {
	if !l.Selection.deep {
		return
	}
	h := r.hooksOf(l)
	if h.paths == nil {
		h.paths = make([]*graphql.ResponsePath, len(l.Rows))
		h.values = make([]value, len(l.Rows)*len(l.Selection.hooks))
	}
	if h.paths[i] != nil {
		return
	}
	h.paths[i] = path
	if h.fresh = append(h.fresh, i); len(h.fresh) == 1 {
		r.todo = append(r.todo, l)
	}
}

// objects finds out the hooked fields of the objects of a level that are newly shown, and shows what the others lead to.
func (r *customRun) objects(l *level) {
	h := r.hooks[l]
	fresh := h.fresh
	h.fresh = nil
	for _, i := range fresh {
		var parent *schema.Row
		for _, f := range l.Selection.fields {
			switch {
			case r.failed != nil:
				return
			case f.hooked:
				if parent == nil {
					parent = documents.RowOf(l.Rows[i])
				}
				c := call{field: f, parent: parent, level: l, row: int(i), path: h.paths[i].WithKey(f.name)}
				r.answer(&c, &h.values[f.hook*len(l.Rows)+int(i)])
			case f.deep && f.load >= 0:
				r.showTargets(l, int(i), f, h.paths[i].WithKey(f.name))
			}
		}
	}
}

// showTargets shows what row i of a level leads to under a field.
func (r *customRun) showTargets(l *level, i int, f *field, path *graphql.ResponsePath) {
	if r.bounds[f.slot].err != nil {
		return
	}
	to := &l.To[f.load]
	for n, row := range r.targets(l, i, f) {
		at := path
		switch f.as {
		case asList, asUnionList:
			at = path.WithKey(n)
		case asConnection:
			for _, part := range f.of.fields {
				if part.as == asNodes {
					r.show(to.Levels[part.sub], row, path.WithKey(part.name).WithKey(n))
				}
			}
			continue
		}
		below, i := to.Item(row)
		r.show(below, i, at)
		if f.as == asOne || f.as == asUnion {
			return
		}
	}
}

// targets are what row i of a level leads to under a field.
func (r *customRun) targets(l *level, i int, f *field) []int32 {
	if f.spec.Kind == schema.MeRole && !r.showsCaller(l) {
		return nil
	}
	return l.To[f.load].Of(i)
}

// view reads from the store. What is read is to be detached before it ends.
func (r *customRun) view(read func() error) error {
	return r.engine.store.View(func(s *store.Snapshot) error {
		s.Within(r.ctx, 0)
		r.loader.Snapshot = s
		return read()
	})
}

// isMutation reports whether the operation is one.
func (r *customRun) isMutation() bool { return r.plan.op.Operation == ast.Mutation }
