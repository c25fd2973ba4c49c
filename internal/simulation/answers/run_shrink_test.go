package answers

import "strings"

// Shrink removes operations, and keys of bodies, as long as a difference of the same kind remains. replay does
// operations on a fresh server; Shrink calls it at most tries times.
func Shrink(ops []*Operation, d *Difference, tries int, replay func(ops []*Operation) error) []*Operation {
	s := &shrinking{ops: ops, kind: d.kind(), tries: tries, replay: replay}
	s.accept(withoutQuestions(ops))
	for before := -1; before != s.size(); {
		before = s.size()
		s.dropOperations()
		s.dropFromBatches()
		s.dropKeys()
	}
	return s.ops
}

type shrinking struct {
	ops    []*Operation
	kind   string
	tries  int
	replay func([]*Operation) error
}

// accept tries fewer operations, and keeps them if they reproduce the difference.
func (s *shrinking) accept(fewer []*Operation) bool {
	if s.tries--; s.tries < 0 {
		return false
	}
	d, differs := s.replay(fewer).(*Difference)
	if differs = differs && d.kind() == s.kind; differs {
		s.ops = fewer
	}
	return differs
}

// size counts operations and keys.
func (s *shrinking) size() int {
	n := len(s.ops)
	for _, op := range s.ops {
		n += len(op.Data) + len(op.Batch)
		if op.Kind == "mutate" {
			n += op.Graph.size()
		}
	}
	return n
}

func (s *shrinking) dropOperations() {
	for size := len(s.ops) / 2; size > 0 && s.tries > 0; size /= 2 {
		for at := 0; at+size < len(s.ops) && s.tries > 0; {
			if !s.accept(append(append([]*Operation{}, s.ops[:at]...), s.ops[at+size:]...)) {
				at += size
			}
		}
	}
}

func (s *shrinking) dropKeys() {
	for i := range s.ops {
		s.simplifyMutation(i)
		for at := 0; at < len(s.ops[i].Data) && s.tries > 0; {
			less := *s.ops[i]
			less.Data = dropped(s.ops[i].Data, at)
			fewer := append([]*Operation{}, s.ops...)
			fewer[i] = &less
			if !s.accept(fewer) {
				at++
			}
		}
	}
}

// simplifyMutation removes writes, parts of their selections, and keys of their data.
func (s *shrinking) simplifyMutation(i int) {
	if s.ops[i].Kind != "mutate" {
		return
	}
	simpler := s.ops[i].Graph.Simplify(func(r *Request) bool {
		fewer := append([]*Operation{}, s.ops...)
		fewer[i] = &Operation{Kind: "mutate", Graph: r}
		return s.accept(fewer)
	})
	s.ops[i] = &Operation{Kind: "mutate", Graph: simpler}
}

// withoutQuestions removes all questions except the last.
func withoutQuestions(ops []*Operation) []*Operation {
	var kept []*Operation
	for i, op := range ops {
		if indexOf([]string{"ask", "query", "asOf", "history"}, op.Kind) < 0 || i == len(ops)-1 {
			kept = append(kept, op)
		}
	}
	return kept
}

// kind returns the location of a difference without the numbers in it.
func (d *Difference) kind() string {
	line, _, _ := strings.Cut(d.Where, ":")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, line)
}

// Simplify removes parts of a question as long as its response differs from the expected one.
func (q *Question) Simplify(differs func(*Question) bool) *Question {
	for smaller := true; smaller; {
		smaller = false
		for _, s := range q.simpler() {
			if differs(s) {
				q, smaller = s, true
				break
			}
		}
	}
	return q
}

// simpler returns all variants of q that lack one part.
func (q *Question) simpler() []*Question {
	var all []*Question
	add := func(change func(*Question)) {
		c := *q
		change(&c)
		all = append(all, &c)
	}
	if q.Page.Query != "" {
		add(func(c *Question) { c.Page = Page{Page: 1, Size: 25, WithCount: true} })
	}
	if q.Search != "" {
		add(func(c *Question) { c.Search = "" })
	}
	if q.Publication != "" || q.HasVersion != "" {
		add(func(c *Question) { c.Publication, c.HasVersion = "", "" })
	}
	if len(q.Fields) > 1 {
		add(func(c *Question) { c.Fields = []string{"id"} })
	}
	for i := range q.Sort {
		add(func(c *Question) { c.Sort = dropped(q.Sort, i) })
	}
	for _, p := range q.Populate.simpler() {
		add(func(c *Question) { c.Populate = p })
	}
	if q.Filter != nil {
		add(func(c *Question) { c.Filter = nil })
		for _, f := range q.Filter.simpler() {
			add(func(c *Question) { c.Filter = f })
		}
	}
	return all
}

func dropped[T any](list []T, i int) []T { return append(append([]T(nil), list[:i]...), list[i+1:]...) }

func (f *Filter) simpler() []*Filter {
	var all []*Filter
	for i, x := range f.Of {
		switch f.Op {
		case "and", "or":
			all = append(all, x)
			if len(f.Of) > 1 {
				all = append(all, &Filter{Op: f.Op, Implicit: f.Implicit, Of: dropped(f.Of, i)})
			}
		case "not":
			all = append(all, x)
		}
		for _, s := range x.simpler() {
			c := *f
			c.Of = append([]*Filter(nil), f.Of...)
			c.Of[i] = s
			if !f.Implicit || s.Attr == x.Attr {
				all = append(all, &c)
			}
		}
	}
	if f.Op == "test" && len(f.Operands) > 1 && f.Operator != "$between" {
		for i := range f.Operands {
			c := *f
			c.Operands = dropped(f.Operands, i)
			all = append(all, &c)
		}
	}
	return all
}

func (p *Populate) simpler() []*Populate {
	if p == nil {
		return nil
	}
	all := []*Populate{nil}
	for i, it := range p.Items {
		if len(p.Items) > 1 {
			all = append(all, &Populate{Form: p.Form, Items: dropped(p.Items, i)})
		}
		for _, s := range it.simpler() {
			c := &Populate{Form: p.Form, Items: append([]*Populated(nil), p.Items...)}
			c.Items[i] = s
			all = append(all, c)
		}
	}
	return all
}

func (it *Populated) simpler() []*Populated {
	if it.Form != "options" {
		return nil
	}
	var all []*Populated
	add := func(change func(*Populated)) {
		c := *it
		change(&c)
		if c.Fields == nil && c.Filter == nil && c.Sort == nil && c.Populate == nil && c.On == nil {
			c.Form = "true"
		}
		all = append(all, &c)
	}
	if len(it.Fields) > 1 {
		add(func(c *Populated) { c.Fields = []string{"id"} })
	}
	if it.Filter != nil {
		add(func(c *Populated) { c.Filter = nil })
	}
	if it.Sort != nil {
		add(func(c *Populated) { c.Sort = nil })
	}
	for _, p := range it.Populate.simpler() {
		add(func(c *Populated) { c.Populate = p })
	}
	for i := range it.On {
		if len(it.On) > 1 {
			add(func(c *Populated) { c.On = dropped(it.On, i) })
		}
	}
	return all
}
