package execution

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

// An execution runs a plan once. Its memory is used again.
type execution struct {
	engine *Engine
	ctx    context.Context
	plan   *plan
	bounds []bound
	memory []bound // used again and again for the bounds of plans that are not static
	access *permission.Access
	user   auth.User
	often  func(name string) error // see Request.Limit
	limit  time.Duration
	vars   language.Variables
	http   *http.Request
	id     string     // of the request
	custom *customRun // where the plan is custom

	loader  levels.Loader[*selection] // each object that it reads is one of the answer, or several
	writing bool                      // within the transaction of a mutation, so that loader.Most is what is left of a share
	objects int                       // that were printed
	root    loaded                    // the rows of a root field

	reserved budget.Answer // the memory of all that follows, and of rows and levels
	beside   int64         // what it needs beside buf
	kept     int64         // what of that was kept from an earlier run

	buf          []byte // the answer's data
	full         []byte // the answer, where there are errors
	path         []step
	errors       []*language.Error
	failed       error // why nothing more can be read or printed
	code         int   // HTTP status
	printsCaller bool  // the calling user is printed, so that the role is shown
	since        int   // how many objects were printed since the clock was looked at
}

// A step is a part of the path to a field: its name, or a position in a list.
type step struct {
	name  string // "": index counts
	index int
}

// maxPooled keeps the memory of a few very large answers from being kept.
const maxPooled = 1 << 20

// maxKept is how much memory of levels is kept.
const maxKept = 1 << 20

var executions = sync.Pool{New: func() any { return &execution{buf: make([]byte, 0, 8<<10)} }}

func newExecution(ctx context.Context, e *Engine, p *plan, r *Request) *execution {
	x := executions.Get().(*execution)
	x.engine, x.ctx, x.plan, x.access, x.limit = e, ctx, p, r.Access, r.Time
	x.user, x.often, x.http, x.id = r.User, r.Limit, r.HTTP, r.ID
	x.code = http.StatusOK
	x.loader.Settings = levels.Settings[*selection]{Source: x, Access: r.Access, FileUses: e.uses, Most: e.limits.Rows}
	x.reserved = e.memory.Answer(e.limits.Bytes)
	x.buf = x.reserved.Adopt(x.buf)
	if x.reserved.Hold(x.kept) != nil {
		x.forget()
	}
	return x
}

func (x *execution) release() {
	x.reserved.Release()
	if cap(x.buf)+cap(x.full) > maxPooled || x.beside > maxKept {
		return
	}
	kept := max(x.kept, x.beside)
	x.loader.Reset()
	x.loader.Settings = levels.Settings[*selection]{}
	x.root.Clear()
	clear(x.memory)
	*x = execution{kept: kept, memory: x.memory[:0], root: x.root, loader: x.loader, buf: x.buf[:0], full: x.full[:0], path: x.path[:0]}
	executions.Put(x)
}

// forget lets go of the memory of levels.
func (x *execution) forget() {
	x.kept, x.loader, x.root = 0, levels.Loader[*selection]{Settings: x.loader.Settings}, loaded{}
}

// run makes the answer. The error says why there is none; what is wrong with single fields is part of the answer.
func (x *execution) run() error {
	if x.plan.custom {
		return x.customised()
	}
	if x.plan.op.Operation == ast.Mutation {
		return x.mutations()
	}
	for {
		err := x.engine.store.View(func(s *store.Snapshot) error {
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

// data prints the object of root fields, or null when one that cannot be null has no value: then those after it are not run.
func (x *execution) data(print func(*field) bool) {
	x.buf = append(x.buf[:0], `{"data":`...)
	begin := len(x.buf)
	x.buf = append(x.buf, '{')
	for i, f := range x.plan.root.fields {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = append(x.buf, f.key...)
		if !print(f) {
			x.buf = append(x.buf[:begin], "null}\n"...)
			return
		}
		if x.failed != nil {
			return
		}
	}
	x.buf = append(x.buf, "}}\n"...)
	if len(x.errors) > 0 { // all of it stands once more in full
		x.reserve(int64(len(x.buf) + errorBytes*len(x.errors)))
	}
}

// answer is what was printed, behind the errors where there are any.
func (x *execution) answer() []byte {
	if len(x.errors) == 0 {
		return x.buf
	}
	x.full = language.AppendErrors(append(x.full[:0], '{'), x.errors)
	x.full = append(x.full, ',')
	x.full = append(x.full, x.buf[1:]...)
	return x.full
}

// Errors of fields.

// fault adds the error of the field named at the end of the path.
func (x *execution) fault(name string, err error) {
	if errors.Is(err, store.ErrRedefined) {
		x.fail(err) // for whoever carries the request, who runs the operation again
		return
	}
	x.reserve(errorBytes)
	e, known := told(err)
	if !known {
		x.engine.log.ErrorContext(x.ctx, "a GraphQL field failed", "id", x.id, "field", name, "error", err)
	}
	x.errors = append(x.errors, &language.Error{Message: e.Message, Path: x.pathTo(name), Code: codeOf(e.Name), Told: toldTree(e)})
}

// isNull adds the error of a field that must not be null and is.
func (x *execution) isNull(f *field, of string) {
	x.reserve(errorBytes)
	x.errors = append(x.errors, &language.Error{
		Message:   "Cannot return null for non-nullable field " + of + "." + f.node.Name + ".",
		Locations: []language.Location{x.plan.doc.Location(f.node.Position)}, Path: x.pathTo(f.name), Code: language.Internal,
	})
}

// pathTo is the path that printing has come to, with name at its end unless that is "".
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

func (x *execution) push(name string) { x.path = append(x.path, step{name: name}) }
func (x *execution) pushIndex(i int)  { x.path = append(x.path, step{index: i}) }
func (x *execution) pop()             { x.path = x.path[:len(x.path)-1] }

// codeOf is the code under which clients know an error of that name.
func codeOf(name string) string {
	switch name {
	case "ValidationError":
		return language.BadUserInput
	case "ForbiddenError", "PolicyError", "UnauthorizedError":
		return "FORBIDDEN"
	case "InternalServerError":
		return language.Internal
	}
	code := []byte("STRAPI")
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			code = append(code, '_', c)
		case 'a' <= c && c <= 'z':
			code = append(code, c-'a'+'A')
		}
	}
	return string(code)
}

func toldTree(e *apierror.Error) any {
	o := jsontree.NewObject()
	o.Set("name", e.Name)
	o.Set("message", e.Message)
	if e.Details == nil {
		o.Set("details", jsontree.NewObject())
	} else {
		o.Set("details", e.Details)
	}
	return o
}
