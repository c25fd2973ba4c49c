package answers

import "strings"

// operatorsOf returns the operators that a filter may use on an attribute.
func (a *generator) operatorsOf(x *Attribute) []string {
	ops := operatorsOf(x.Type, a.quirk)
	if a.quirk.NumbersAsSQL && a.world.Samples != nil && (x.Type == "float" || x.Type == "decimal") {
		return orderOperators // as text, whole numbers differ
	}
	if !a.graphql || ops == nil {
		return ops
	}
	return graphqlOperators(x.Type, a.quirk)
}

// graphqlOperators returns the operators that GraphQL filters may use on a type of attribute. "" stands for a null in
// place of operators.
func graphqlOperators(typ string, quirk Quirks) []string {
	if typ == "id" {
		return nil
	}
	ops := operatorsOf(typ, quirk)
	if len(ops) > 2 && !quirk.ListsWithinOperators { // blocks attributes do not have them
		ops = append(ops[:len(ops):len(ops)], "$and", "$or")
	}
	var kept []string
	for _, op := range ops {
		switch {
		case op == "$startsWithi" || op == "$endsWithi": // the schema does not have them
		case typ == "json" && quirk.JSONByText &&
			indexOf([]string{"", "$null", "$notNull", "$contains", "$notContains"}, op) < 0:
		case typ == "datetime" && quirk.MomentsInLists && (op == "$in" || op == "$notIn" || op == "$between"):
		default:
			kept = append(kept, op)
		}
	}
	return kept
}

// compare chooses the operands of a test.
func (a *generator) compare(f *Filter, owner *Type) {
	if f.Operator == "" {
		f.Operands = []Operand{{Null: true}}
		return
	}
	f.Not = a.chance(.1)
	n := 1
	switch f.Operator {
	case "$between":
		n = 2
	case "$in", "$notIn", "$or":
		n = a.rng.IntN(4)
		if n == 0 && (f.Operator == "$or" || a.quirk.EmptyListsLost) { // an empty or is no condition
			n = 1
		}
	case "$and":
		n = 1 + a.rng.IntN(2)
	}
	for range n {
		o := a.operand(f, owner)
		o.Variable, o.Spelled = a.chance(.15), a.chance(.3)
		f.Operands = append(f.Operands, o)
	}
	if a.chance(.05) && indexOf(nullable, f.Operator) >= 0 && !f.Not {
		f.Operands = []Operand{{Null: true}}
	}
}

// several returns more than one condition on the same field.
func (a *generator) several(s *Schema) *Filter {
	first := a.test(s)
	if first.Operator == "" || first.Not {
		return first
	}
	f := &Filter{Op: "and", Implicit: true, Attr: first.Attr, Of: []*Filter{first}}
	for range 2 {
		x := a.test(s)
		if x.Attr != first.Attr || x.Operator == "" || x.Not {
			x = &Filter{Op: "test", Attr: first.Attr, Operator: pick(a.rng, a.operatorsOf(first.Attr))}
			if x.Operator == "" {
				continue
			}
			a.compare(x, a.typeOf(s))
		}
		again := false
		for _, y := range f.Of {
			again = again || y.Operator == x.Operator || y.Not == x.Not && x.Not
		}
		if !again {
			f.Of = append(f.Of, x)
		}
	}
	return f
}

// nothing returns conditions that are always true, such as an empty object.
func (a *generator) nothing(s *Schema, seen map[string]bool) []*Filter {
	var list []*Filter
	add := func(key string, x *Attribute, value any) {
		if !seen[key] && a.chance(.5) {
			list = append(list, &Filter{Op: "nothing", Attr: x, Operator: strings.TrimPrefix(key, "$"), Empty: value})
		}
	}
	add("$and", nil, []any{})
	add("$or", nil, nil)
	add("$not", nil, pairs{})
	for _, x := range s.Attributes {
		if x.Type == "relation" && !x.Private {
			add(x.Name, x, nil)
		} else if x.isScalar() && x.shown() && len(a.operatorsOf(x)) > 0 {
			add(x.Name, x, pairs{})
		}
		if len(list) > 2 {
			break
		}
	}
	for _, x := range list {
		a.cover.Hit("logic", pick2(x.Empty == nil, "a null that asks nothing", "an empty object"))
	}
	return list
}

// linkTest returns a condition on the id of a relation's target.
func (a *generator) linkTest(x *Attribute) *Filter {
	id := x.Target.Find("documentId")
	f := &Filter{Op: "test", Attr: id,
		Operator: pick(a.rng, []string{"$null", "$notNull", "", "$eq", "$in", "$notIn", "$ne"})}
	a.compare(f, x.Target)
	return f
}
