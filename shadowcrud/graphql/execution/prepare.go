package execution

import (
	"maps"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/plan"
)

// A prepared holds a parsed and validated operation and its plans.
type prepared struct {
	doc *language.Document
	op  *ast.OperationDefinition
	// switches are the variables in @include and @skip. Their values decide which fields the answer has, so each
	// combination has its own plan.
	switches []string

	plans atomic.Pointer[map[uint64]*binding.Plan] // replaced, not changed, when one is added
}

// Plans are cached for operations with at most maxSwitches switches, and at most maxPlans for each operation.
const (
	maxSwitches = 16
	maxPlans    = 16
)

// prepare returns a valid operation, from the cache or by parsing and validating the document.
//
// Parsing takes memory in proportion to the tokens of the document, which is reserved until the operation is in the
// cache. err says that there is none.
func (e *Engine) prepare(text string, name *string) (_ *prepared, errs []*language.Error, err error) {
	key := planKey{text: text}
	if name != nil {
		key.name, key.named = *name, true
	}
	if p, known := e.prepared.Get(key); known {
		return p, nil, nil
	}
	memory := e.memory.Tally()
	defer memory.Release()
	doc, errs, err := e.language.ParseWithin(text, e.limits.Document, &memory)
	if errs != nil || err != nil {
		return nil, errs, err
	}
	op, wrong := doc.Operation(name)
	if wrong != nil {
		return nil, []*language.Error{wrong}, nil
	}
	p := &prepared{doc: doc, op: op, switches: plan.Switches(doc, op)}
	p.plans.Store(&map[uint64]*binding.Plan{})
	e.prepared.Add(key, p, p.size(len(text)))
	return p, nil, nil
}

// plan returns the plan for the values of the switches.
func (p *prepared) plan(e *Engine, vars language.Variables) (*binding.Plan, *language.Error) {
	var key uint64
	for i, name := range p.switches {
		on, ok := vars[name].(bool)
		if _, declared := vars[name]; declared && !ok {
			return nil, &language.Error{
				Message: `Argument "if" of non-null type "Boolean!" must not be null.`, Code: language.BadUserInput,
			}
		}
		if on && i < 64 {
			key |= 1 << i
		}
	}
	if len(p.switches) > maxSwitches {
		return p.compile(e, vars), nil
	}
	if pl := (*p.plans.Load())[key]; pl != nil {
		return pl, nil
	}
	pl := p.compile(e, vars)
	p.cache(key, pl)
	return pl, nil
}

func (p *prepared) compile(e *Engine, vars language.Variables) *binding.Plan {
	pl := &binding.Plan{}
	pl.Compile(e.schema, e.language, p.doc, p.op, vars)
	return pl
}

// cache caches a plan, unless the operation has maxPlans plans.
func (p *prepared) cache(key uint64, pl *binding.Plan) {
	for {
		known := p.plans.Load()
		if len(*known) >= maxPlans {
			return
		}
		more := maps.Clone(*known)
		more[key] = pl
		if p.plans.CompareAndSwap(known, &more) {
			return
		}
	}
}

// size estimates the memory of a prepared operation with its plans. text is the length of the document.
func (p *prepared) size(text int) int { return text + language.TreeBytes*p.doc.Tokens }

// A planKey is the key of an operation in the cache.
type planKey struct {
	text, name string
	named      bool
}
