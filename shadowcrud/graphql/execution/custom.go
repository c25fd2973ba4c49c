package execution

import (
	"context"
	"fmt"
	"sync"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// An operation has custom fields if a program registered a resolver, policy or middleware for one of its fields. Such
// functions may be slow, and may read and write the store themselves, so no snapshot stays open while one runs. The
// operation therefore runs in steps:
//
//   - It reads levels of rows and copies them out of the snapshot (custom_read.go).
//   - It calls the functions of the program for the objects of the answer (custom_call.go), and converts the results
//     (custom_value.go).
//   - It reads the documents that the results refer to, together, and calls the functions for these, until no
//     references are left.
//   - It prints the answer (custom_print.go).
//
// A field of Query without custom fields in it is printed while it is read, as in other operations.

// A customRun is the state of an operation with custom fields.
type customRun struct {
	*execution
	// mu is unlocked only while a function of a program runs. A middleware may call next from another goroutine, even
	// after it has returned; next locks mu again.
	mu        sync.Mutex
	info      graphql.ResolveInfo // the values that are the same for all fields
	positions map[*schema.Row]rowPosition
	rows      map[rowPosition]*schema.Row // the reverse of positions
	todo      []*level                    // levels with objects whose custom fields were not resolved yet
	thunks    []thunk                     // functions that resolvers returned in place of values
	groups    []*referenceGroup
	hooks     map[*level]*levelHooks
}

// A rowPosition identifies a row among those that were loaded for a field.
type rowPosition struct {
	to  *loaded
	row int32 // in to.Rows
}

// beginCustom prepares the execution for custom fields. The caller calls done at the end of the operation.
func (x *execution) beginCustom() (done func()) {
	ctx := schema.WithCaller(
		x.Ctx, &schema.Caller{Access: x.access, User: x.user, HTTP: x.http, Server: x.engine.server})
	ctx = schema.WithFilterReader(ctx, x.filterReader())
	cancel := func() {}
	if x.limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, x.limit)
	}
	x.Ctx = ctx
	x.custom = &customRun{execution: x, positions: map[*schema.Row]rowPosition{}, rows: map[rowPosition]*schema.Row{},
		hooks: map[*level]*levelHooks{}}
	x.custom.info = graphql.ResolveInfo{
		Schema: x.engine.schema.GraphQL, VariableValues: map[string]any{},
		Fragments: x.plan.Fragments, Operation: x.plan.Operation,
	}
	x.custom.mu.Lock()
	for name, v := range x.vars {
		x.custom.info.VariableValues[name] = jsontree.Plain(v)
	}
	return func() {
		x.custom.mu.Unlock()
		cancel()
	}
}

// filterReader returns the function that schema.FiltersOf calls.
func (x *execution) filterReader() schema.FilterReader {
	e, access := x.engine, x.access
	return func(input string, given any) (documents.Condition, error) {
		f := e.schema.Filters(input)
		if f == nil {
			return nil, fmt.Errorf("%s is no input of filters", input)
		}
		t := ast.NamedType(input, nil)
		tree, err := e.values.Tree(t, given, nil, nil)
		if err == nil {
			tree, err = e.language.Value("filters", t, tree)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", input, err)
		}
		filters, _ := tree.(*jsontree.Object)
		filter, err := e.binder.Filter(f, filters, access)
		if err != nil {
			return nil, err
		}
		return documents.Matching(f.Schema, filter), nil
	}
}

// A rootValue is the state of a field of Query.
type rootValue struct {
	call  call
	value value
	// stored says that the store answers the field, without a function of a program; found is the result.
	stored bool
	found  any
	err    error
	// printed says that the field was printed while it was read, to buf[begin:end]. ok is false if the field is null
	// but must not be.
	printed, ok bool
	begin, end  int
}

// runCustom runs an operation with custom fields.
func (x *execution) runCustom() error {
	defer x.beginCustom()()
	r := x.custom
	if r.isMutation() {
		return x.mutations()
	}
	roots := r.authorizeRoots()
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
	if r.settle(); x.Failed == nil {
		r.printRoots(roots)
	}
	return x.Failed
}

// authorizeRoots checks which fields of Query the caller may read, and which of them the store alone answers.
func (r *customRun) authorizeRoots() []rootValue {
	roots := make([]rootValue, len(r.plan.Root.Fields))
	for i, f := range r.plan.Root.Fields {
		root := &roots[i]
		root.call = r.rootCall(f)
		root.printed = !f.HasCustom
		root.stored = !f.Custom
		if !f.Custom {
			continue
		}
		if err := r.authorize(&root.call); err != nil {
			r.setError(&root.call, &root.value, err)
			continue
		}
		root.stored = f.As != plan.AsCustom && f.Spec.Middlewares == nil
	}
	return roots
}

// printRoots prints the answer. Fields that were printed while they were read are copied into it.
func (r *customRun) printRoots(roots []rootValue) {
	read, n := r.Buf, 0
	if r.Reserve(int64(cap(read))); r.Failed != nil {
		return
	}
	r.Buf = make([]byte, 0, cap(read))
	r.data(func(f *plan.Field) bool {
		root := &roots[n]
		n++
		if !root.printed {
			return r.print(f, &root.value)
		}
		if r.Fits(root.end - root.begin); r.Failed != nil {
			return false
		}
		r.Buf = append(r.Buf, read[root.begin:root.end]...)
		return root.ok
	})
}

// readRoots reads the root fields that the store alone answers, in one snapshot.
func (r *customRun) readRoots(roots []rootValue) error {
	some := false
	for i := range roots {
		some = some || roots[i].stored
	}
	if !some {
		return nil
	}
	return r.view(func() error {
		r.Buf = r.Buf[:0]
		for i := range roots {
			root := &roots[i]
			switch f := root.call.field; {
			case root.printed:
				root.begin = len(r.Buf)
				root.ok = r.rootField(f)
				root.end = len(r.Buf)
			case root.stored:
				root.found, root.err = r.query(f, r.binding(f))
			}
			if r.Failed != nil {
				return r.Failed
			}
		}
		return nil
	})
}

// binding returns the binding of a field, an empty one if the field has none.
func (r *customRun) binding(f *plan.Field) *binding.Binding {
	if f.Slot < 0 {
		return &binding.Binding{}
	}
	return &r.bindings[f.Slot]
}

// customMutation runs and prints a field of Mutation that has custom fields in it, or is one.
func (x *execution) customMutation(f *plan.Field) bool {
	r := x.custom
	c := r.rootCall(f)
	var v value
	r.answer(&c, &v)
	if r.settle(); x.Failed != nil {
		return false
	}
	return r.print(f, &v)
}

// settle resolves everything that is pending: custom fields of objects, functions that resolvers returned, and
// references to documents. It repeats this until nothing is left, since each of them may add more of the others.
func (r *customRun) settle() {
	for r.Failed == nil {
		switch {
		case len(r.todo) > 0:
			l := r.todo[0]
			r.todo = r.todo[1:]
			r.resolveObjects(l)
		case len(r.thunks) > 0:
			thunks := r.thunks
			r.thunks = nil
			for i := range thunks {
				t := &thunks[i]
				v, err := r.guarded(t.find)
				r.finish(&t.call, t.to, v, err)
			}
		case len(r.groups) > 0:
			groups := r.groups
			r.groups = nil
			r.readReferences(groups)
		default:
			return
		}
	}
}

// A thunk is a function that a resolver returned in place of a value. It is called when all other resolvers of its
// level have run.
type thunk struct {
	call call
	to   *value
	find func() (any, error)
}

// A levelHooks holds the custom fields of the objects of a level.
type levelHooks struct {
	isCaller bool    // the level holds the calling user
	values   []value // of custom fields: those of all rows for the first field.hook, then for the next
	// paths are the response paths at which rows first appear in the answer, nil for rows that do not appear;
	// unresolved are the rows that appear and whose fields were not resolved yet.
	paths      []*graphql.ResponsePath
	unresolved []int32
}

// showsCaller reports whether a level holds the calling user. r may be nil.
func (r *customRun) showsCaller(l *level) bool {
	if r == nil {
		return false
	}
	h := r.hooks[l]
	return h != nil && h.isCaller
}

// hooksOf returns the levelHooks of a level, and makes it when it is first needed.
func (r *customRun) hooksOf(l *level) *levelHooks {
	h := r.hooks[l]
	if h == nil {
		h = &levelHooks{}
		r.hooks[l] = h
	}
	return h
}

// forgetLevels drops all references to levels, before the loader uses their memory again.
func (r *customRun) forgetLevels() {
	clear(r.hooks)
	clear(r.rows)
}

// show notes that row i of a level appears in the answer at a path, so that settle resolves its custom fields.
func (r *customRun) show(l *level, i int32, path *graphql.ResponsePath) {
	if !l.Selection.HasCustom {
		return
	}
	h := r.hooksOf(l)
	if h.paths == nil {
		h.paths = make([]*graphql.ResponsePath, len(l.Rows))
		h.values = make([]value, len(l.Rows)*len(l.Selection.Custom))
	}
	if h.paths[i] != nil {
		return
	}
	h.paths[i] = path
	if h.unresolved = append(h.unresolved, i); len(h.unresolved) == 1 {
		r.todo = append(r.todo, l)
	}
}

// resolveObjects resolves the custom fields of the unresolved objects of a level. For other fields, it notes that their
// related rows appear in the answer.
func (r *customRun) resolveObjects(l *level) {
	h := r.hooks[l]
	rows := h.unresolved
	h.unresolved = nil
	for _, i := range rows {
		var parent *schema.Row
		for _, f := range l.Selection.Fields {
			switch {
			case r.Failed != nil:
				return
			case f.Custom:
				if parent == nil {
					parent = documents.RowOf(l.Rows[i])
				}
				c := call{field: f, parent: parent, level: l, row: int(i), path: h.paths[i].WithKey(f.Name)}
				r.answer(&c, &h.values[f.CustomIndex*len(l.Rows)+int(i)])
			case f.HasCustom && f.Load >= 0:
				r.showRelated(l, int(i), f, h.paths[i].WithKey(f.Name))
			}
		}
	}
}

// showRelated notes that the rows related to row i of a level by a field appear in the answer.
func (r *customRun) showRelated(l *level, i int, f *plan.Field, path *graphql.ResponsePath) {
	if r.bindings[f.Slot].Err != nil {
		return
	}
	to := &l.To[f.Load]
	for n, row := range r.relatedRows(l, i, f) {
		at := path
		switch f.As {
		case plan.AsList, plan.AsUnionList:
			at = path.WithKey(n)
		case plan.AsConnection:
			for _, part := range f.Parts.Fields {
				if part.As == plan.AsNodes {
					r.show(to.Levels[part.Sub], row, path.WithKey(part.Name).WithKey(n))
				}
			}
			continue
		}
		below, i := to.Item(row)
		r.show(below, i, at)
		if f.As == plan.AsOne || f.As == plan.AsUnion {
			return
		}
	}
}

// relatedRows returns the rows related to row i of a level by a field. The role of another user than the caller is
// visible to whoever may find roles.
func (r *customRun) relatedRows(l *level, i int, f *plan.Field) []int32 {
	if f.Spec.Kind == schema.MeRole && !r.showsCaller(l) && !r.access.Follows(f.Attr) {
		return nil
	}
	return l.To[f.Load].Of(i)
}

// view calls read with a snapshot of the store in the loader. Rows must be detached before read returns.
func (r *customRun) view(read func() error) error {
	return r.engine.store.View(func(s *store.Snapshot) error {
		s.Within(r.Ctx, 0)
		r.loader.Snapshot = s
		return read()
	})
}

// isMutation reports whether the operation is a mutation.
func (r *customRun) isMutation() bool { return r.plan.Op.Operation == ast.Mutation }
