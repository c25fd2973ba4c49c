package execution

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

// An execution runs a plan once. Its memory is pooled.
type execution struct {
	engine     *Engine
	ctx        context.Context
	plan       *plan
	conditions int // in the filters of the operation
	bindings   []binding
	memory     []binding // pooled; holds the bindings of plans that are not static
	access     *permission.Access
	user       auth.User
	by         store.Principal
	countCall  func(name string) error // see Request.CountCall
	limit      time.Duration
	once       *store.Once // see Request.Once
	vars       language.Variables
	http       *http.Request
	id         string // identifies the request in the log
	request    *Request
	tag        []byte     // the ETag of the answer; empty: none
	custom     *customRun // set if the plan is custom

	loader  levels.Loader[*selection]
	change  *Change // that the event of a subscription is about; nil for other operations
	writing bool    // within the transaction of a mutation, so that loader.Most is its share of the limit
	objects int     // number of objects printed
	root    loaded  // the rows of a root field

	reserved budget.Answer // the memory of buf, full, path, errors, rows and levels
	extra    int64         // bytes reserved for all of them except buf
	pooled   int64         // bytes of extra that the pool holds from an earlier run

	buf          []byte // the answer's data
	full         []byte // used if there are errors: the errors, then buf
	path         []pathSegment
	errors       []*language.Error
	failed       error // set when nothing more can be read or printed
	code         int   // HTTP status
	printsCaller bool  // the object being printed is the calling user, whose role is visible
	sinceCheck   int   // how many objects were printed since the context was checked
}

// A pathSegment is a part of the path to a field: its name, or an index in a list.
type pathSegment struct {
	name  string // if empty, the segment is index
	index int
}

// maxPooled is how many bytes of answers and how many bytes of levels an execution may take into the pool. A larger one is left to the
// garbage collector.
const maxPooled = 1 << 20

var executions = sync.Pool{New: func() any { return &execution{buf: make([]byte, 0, 8<<10)} }}

func newExecution(ctx context.Context, e *Engine, p *plan, r *Request) *execution {
	x := executions.Get().(*execution)
	x.engine, x.ctx, x.plan, x.access, x.limit = e, ctx, p, r.Access, r.Time
	x.user, x.by, x.countCall, x.http, x.id = r.User, r.By, r.CountCall, r.HTTP, r.ID
	x.once = r.Once
	x.request, x.code = r, http.StatusOK
	x.loader.Settings = levels.Settings[*selection]{Source: x, Access: r.Access, FileUses: e.uses, Most: e.limits.Rows}
	x.reserved = e.memory.Answer(e.limits.Bytes)
	x.buf = x.reserved.Adopt(x.buf)
	if x.reserved.Hold(x.pooled) != nil {
		x.forget()
	}
	return x
}

func (x *execution) release() {
	x.reserved.Release()
	if cap(x.buf)+cap(x.full) > maxPooled || x.extra > maxPooled {
		return
	}
	pooled := max(x.pooled, x.extra)
	x.loader.Reset()
	x.loader.Settings = levels.Settings[*selection]{}
	x.root.Clear()
	clear(x.memory)
	*x = execution{pooled: pooled, memory: x.memory[:0], root: x.root, loader: x.loader, buf: x.buf[:0], full: x.full[:0], path: x.path[:0], tag: x.tag[:0]}
	executions.Put(x)
}

// forget drops the references to the memory of levels, so that the garbage collector can free it.
func (x *execution) forget() {
	x.pooled, x.loader, x.root = 0, levels.Loader[*selection]{Settings: x.loader.Settings}, loaded{}
}

// run makes the answer. A returned error means that there is no answer. Errors of fields are part of the answer.
func (x *execution) run() error {
	if x.plan.custom {
		return x.runCustom()
	}
	if x.plan.op.Operation == ast.Mutation {
		return x.mutations()
	}
	for {
		err := x.engine.store.View(func(s *store.Snapshot) error {
			if err := x.identify(s); err != nil {
				return err
			}
			s.Within(x.ctx, x.limit)
			x.loader.Snapshot = s
			x.data(func(f *field) bool { return x.rootField(f) })
			return x.failed
		})
		if err == nil || !errors.Is(err, budget.ErrExhausted) {
			return err
		}
		if err := x.await(); err != nil {
			return err
		}
	}
}

// data prints the object of root fields. When a field is null but must not be, it prints null for the whole object, and the fields after
// it are not run.
func (x *execution) data(print func(*field) bool) {
	x.buf = append(x.buf[:0], beginOfData...)
	x.buf = append(x.buf, '{')
	for i, f := range x.plan.root.fields {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = append(x.buf, f.key...)
		if !print(f) {
			x.endData(false)
			return
		}
		if x.failed != nil {
			return
		}
	}
	x.endData(true)
	if len(x.errors) > 0 { // answer copies all of it to full
		x.reserve(int64(len(x.buf) + errorBytes*len(x.errors)))
	}
}

// beginOfData is what an answer without errors begins with.
const beginOfData = `{"data":`

// endData ends the object of root fields. If ok is false it prints null in its place.
func (x *execution) endData(ok bool) {
	if ok {
		x.buf = append(x.buf, "}}\n"...)
	} else {
		x.buf = append(x.buf[:len(beginOfData)], "null}\n"...)
	}
}

// answer returns the complete answer: the errors, if there are any, and the data.
func (x *execution) answer() []byte {
	if len(x.errors) == 0 {
		return x.buf
	}
	x.full = language.AppendErrors(append(x.full[:0], '{'), x.errors)
	x.full = append(x.full, ',')
	x.full = append(x.full, x.buf[1:]...)
	return x.full
}

// pathTo copies the current path, and appends name unless that is "".
func (x *execution) pathTo(name string) []any {
	path := make([]any, 0, len(x.path)+1)
	for _, s := range x.path {
		if s.name != "" {
			path = append(path, s.name)
		} else {
			path = append(path, s.index)
		}
	}
	if name != "" {
		path = append(path, name)
	}
	return path
}

func (x *execution) push(name string) { x.path = append(x.path, pathSegment{name: name}) }
func (x *execution) pushIndex(i int)  { x.path = append(x.path, pathSegment{index: i}) }
func (x *execution) pop()             { x.path = x.path[:len(x.path)-1] }
