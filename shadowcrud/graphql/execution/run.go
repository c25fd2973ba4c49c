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
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

// An execution runs a plan once. Its memory is pooled.
type execution struct {
	engine     *Engine
	plan       *binding.Plan
	conditions int // in the filters of the operation
	bindings   []binding.Binding
	memory     []binding.Binding // pooled; holds the bindings of plans that are not static
	access     *permission.Access
	limited    bool // rules limit what the caller reads
	user       auth.User
	by         store.Principal
	countCall  func(name string) error // see Request.CountCall
	limit      time.Duration
	once       *store.Once // see Request.Once
	vars       language.Variables
	http       *http.Request
	request    *Request
	tag        []byte     // the ETag of the answer; empty: none
	ruled      bool       // the ETag is made from the answer; until then tag is what else it is made from
	custom     *customRun // set if the plan is custom

	loader  levels.Loader[*plan.Selection]
	change  *Change // that the event of a subscription is about; nil for other operations
	writing bool    // within the transaction of a mutation, so that loader.Most is its share of the limit
	objects int     // number of objects printed
	root    loaded  // the rows of a root field

	answer.Writer
	code         int  // HTTP status
	printsCaller bool // the object being printed is the calling user, whose role is visible
}

var executions = sync.Pool{New: func() any { return &execution{Writer: answer.New()} }}

func newExecution(ctx context.Context, e *Engine, p *binding.Plan, r *Request) *execution {
	x := executions.Get().(*execution)
	x.engine, x.plan, x.access, x.limit = e, p, r.Access, r.Time
	x.limited = r.Access.HasRules()
	x.user, x.by, x.countCall, x.http = r.User, r.By, r.CountCall, r.HTTP
	x.once = r.Once
	x.request, x.code = r, http.StatusOK
	x.loader.Settings = levels.Settings[*plan.Selection]{Source: x, Access: r.Access, FileUses: e.uses,
		Most: e.limits.Rows}
	if !x.Begin(ctx, e.memory.Answer(e.limits.Bytes), &e.answers, r.ID) {
		x.forget()
	}
	return x
}

// bind computes the bindings of the plan for the variables and the caller.
func (x *execution) bind(vars language.Variables) (wrong *language.Error) {
	x.vars = vars
	x.bindings, x.conditions, wrong = x.engine.binder.Bind(x.plan, vars, x.access, &x.memory)
	return wrong
}

func (x *execution) release() {
	if !x.End() {
		return
	}
	x.loader.Reset()
	x.loader.Settings = levels.Settings[*plan.Selection]{}
	x.root.Clear()
	clear(x.memory)
	*x = execution{memory: x.memory[:0], root: x.root, loader: x.loader, Writer: x.Writer, tag: x.tag[:0]}
	executions.Put(x)
}

// forget drops the references to the memory of levels, so that the garbage collector can free it.
func (x *execution) forget() {
	x.loader, x.root = levels.Loader[*plan.Selection]{Settings: x.loader.Settings}, loaded{}
}

// run makes the answer. A returned error means that there is no answer. Errors of fields are part of the answer.
func (x *execution) run() error {
	if x.plan.Custom {
		return x.runCustom()
	}
	if x.plan.Op.Operation == ast.Mutation {
		return x.mutations()
	}
	for {
		err := x.engine.store.View(func(s *store.Snapshot) error {
			if err := x.identify(s); err != nil {
				return err
			}
			s.Within(x.Ctx, x.limit)
			x.loader.Snapshot = s
			x.data(func(f *plan.Field) bool { return x.rootField(f) })
			return x.Failed
		})
		if err == nil || !errors.Is(err, budget.ErrExhausted) {
			return err
		}
		if err := x.await(); err != nil {
			return err
		}
	}
}

// data prints the object of root fields. When a field is null but must not be, it prints null for the whole object, and
// the fields after it are not run.
func (x *execution) data(print func(*plan.Field) bool) {
	x.BeginData()
	for i, f := range x.plan.Root.Fields {
		x.Key(i, f.Key)
		if !print(f) {
			x.EndData(false)
			return
		}
		if x.Failed != nil {
			return
		}
	}
	x.EndData(true)
	x.ReserveErrors()
}

// await releases everything and waits until there is memory to start again.
func (x *execution) await() error {
	x.forget()
	x.objects, x.printsCaller = 0, false
	return x.Restart()
}
