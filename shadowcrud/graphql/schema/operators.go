package schema

import (
	"github.com/graphql-go/graphql"

	"lectern/store"
)

// operators are the fields of every scalar's filter, except and, or and not, which come before them.
var operators = []Operator{
	{Name: "eq", Op: store.Eq}, {Name: "eqi", Op: store.EqI}, {Name: "ne", Op: store.Ne}, {Name: "nei", Op: store.NeI},
	{Name: "startsWith", Op: store.StartsWith}, {Name: "endsWith", Op: store.EndsWith},
	{Name: "contains", Op: store.Contains}, {Name: "notContains", Op: store.NotContains},
	{Name: "containsi", Op: store.ContainsI}, {Name: "notContainsi", Op: store.NotContainsI},
	{Name: "gt", Op: store.Gt}, {Name: "gte", Op: store.Gte}, {Name: "lt", Op: store.Lt}, {Name: "lte", Op: store.Lte},
	{Name: "null", Kind: OperatorNull, Op: store.Null}, {Name: "notNull", Kind: OperatorNull, Op: store.NotNull},
	{Name: "in", Kind: OperatorList, Op: store.In}, {Name: "notIn", Kind: OperatorList, Op: store.NotIn},
	{Name: "between", Kind: OperatorList, Op: store.Between},
}

// declareOperators declares the filter of a scalar.
func (b *builder) declareOperators(s *Scalar) {
	o := &Operators{Name: s.Name + "FilterInput", Scalar: s, byName: map[string]*Operator{}}
	o.in = b.input(o.Name, generated)
	b.named(o.Name).operators = o
	add := func(op Operator, t graphql.Input) {
		o.Fields = append(o.Fields, &op)
		o.byName[op.Name] = &op
		o.in.add(op.Name, t)
	}
	list := graphql.NewList(s.GraphQL)
	add(Operator{Name: "and", Kind: OperatorAnd}, list)
	add(Operator{Name: "or", Kind: OperatorOr}, list)
	add(Operator{Name: "not", Kind: OperatorNot}, o.in.graphql)
	for _, op := range operators {
		switch op.Kind {
		case OperatorNull:
			add(op, graphql.Boolean)
		case OperatorList:
			add(op, list)
		default:
			add(op, s.GraphQL)
		}
	}
}
