package execution

import (
	"maps"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/language"
)

// A prepared holds a parsed and validated operation and its plans.
type prepared struct {
	doc *language.Document
	op  *ast.OperationDefinition
	// switches are the variables in @include and @skip. Their values decide which fields the answer has, so each combination has its own plan.
	switches []string

	plans atomic.Pointer[map[uint64]*plan] // replaced, not changed, when one is added
}

// Plans are cached for operations with at most maxSwitches switches, and at most maxPlans for each operation.
const (
	maxSwitches = 16
	maxPlans    = 16
)

// prepare returns a valid operation, from the cache or by parsing and validating the document.
//
// Parsing takes memory in proportion to the tokens of the document, which is reserved until the operation is in the cache. err says that there
// is none.
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
	p := &prepared{doc: doc, op: op}
	p.plans.Store(&map[uint64]*plan{})
	p.findSwitches()
	e.prepared.Add(key, p, p.size(len(text)))
	return p, nil, nil
}

// findSwitches collects the variables of @include and @skip.
func (p *prepared) findSwitches() {
	seen := map[string]bool{}
	var visit func(set ast.SelectionSet)
	check := func(list ast.DirectiveList) {
		for _, d := range list {
			if v := condition(d); v != nil && v.Kind == ast.Variable && !seen[v.Raw] {
				seen[v.Raw] = true
				p.switches = append(p.switches, v.Raw)
			}
		}
	}
	visit = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				check(sel.Directives)
				visit(sel.SelectionSet)
			case *ast.InlineFragment:
				check(sel.Directives)
				visit(sel.SelectionSet)
			case *ast.FragmentSpread:
				check(sel.Directives)
			}
		}
	}
	visit(p.op.SelectionSet)
	for _, f := range p.doc.Fragments {
		visit(f.SelectionSet)
	}
}

// condition returns the argument of @include or @skip, nil for other directives.
func condition(d *ast.Directive) *ast.Value {
	if d.Name != "include" && d.Name != "skip" {
		return nil
	}
	if arg := d.Arguments.ForName("if"); arg != nil {
		return arg.Value
	}
	return nil
}

// plan returns the plan for the values of the switches.
func (p *prepared) plan(e *Engine, vars language.Variables) (*plan, *language.Error) {
	var key uint64
	for i, name := range p.switches {
		on, ok := vars[name].(bool)
		if _, declared := vars[name]; declared && !ok {
			return nil, &language.Error{Message: `Argument "if" of non-null type "Boolean!" must not be null.`, Code: language.BadUserInput}
		}
		if on && i < 64 {
			key |= 1 << i
		}
	}
	if len(p.switches) > maxSwitches {
		return compile(e, p, vars), nil
	}
	if pl := (*p.plans.Load())[key]; pl != nil {
		return pl, nil
	}
	pl := compile(e, p, vars)
	p.cache(key, pl)
	return pl, nil
}

// cache caches a plan, unless the operation has maxPlans plans.
func (p *prepared) cache(key uint64, pl *plan) {
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
