package binding

import (
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// conditionCount counts the comparisons in the filters of an operation, and the objects that hold them. When there are
// more than most, the rest of the filters is not read.
type conditionCount struct{ n, most int }

// relationConditions is how many conditions a filter through a relation counts as, since all links of the relation may
// have to be read.
const relationConditions = 40

// full reports whether the limit of conditions is exceeded. c may be nil.
func (c *conditionCount) full() bool { return c != nil && c.n > c.most }

// filters returns a function that compiles the argument filters; nil if the argument is absent. An empty condition
// matches every row.
func (c *conditionCount) filters(f *schema.Filters, given *jsontree.Object) params.Filters {
	if f == nil || given == nil {
		return nil
	}
	return func(b *params.FilterBuilder) store.Filter {
		r := filterReader{FilterBuilder: b, count: c}
		return r.object(f, given)
	}
}

// A filterReader compiles the argument filters to a store.Filter.
type filterReader struct {
	*params.FilterBuilder
	count *conditionCount
}

// object compiles an object of filters: all its conditions must hold. It returns nil for null and for an object without
// conditions.
func (r *filterReader) object(f *schema.Filters, given *jsontree.Object) (all store.Filter) {
	r.count.n++
	if given == nil {
		return nil
	}
	for _, key := range given.Keys {
		if r.count.full() {
			break
		}
		if field := f.Field(key); field != nil {
			all = params.And(all, r.field(f, field, given.Value(key)))
		}
	}
	return all
}

// field compiles one field of an object of filters.
func (r *filterReader) field(f *schema.Filters, field *schema.FilterField, v any) store.Filter {
	switch field.Kind {
	case schema.FilterAnd:
		return and(r.objects(f, v))
	case schema.FilterOr:
		return or(r.objects(f, v))
	case schema.FilterNot:
		if o, ok := v.(*jsontree.Object); ok {
			return r.not(func() store.Filter { return r.object(f, o) })
		}
	case schema.FilterThrough:
		r.count.n += relationConditions
		if !r.Enter(field.Attr) {
			return nil
		}
		o, _ := v.(*jsontree.Object)
		return r.Leave(field.Attr, r.object(field.Filters, o))
	case schema.FilterValue:
		if !r.Enter(field.Attr) {
			return nil
		}
		if v == nil {
			return r.Leave(field.Attr, r.compare(field, store.Eq, nil))
		}
		o, _ := v.(*jsontree.Object)
		return r.Leave(field.Attr, r.operators(field, o))
	}
	return nil
}

// objects compiles a list of objects of filters. It leaves out objects without conditions, which are no alternatives of
// or: an object whose variables were all omitted must not make the others match every row.
func (r *filterReader) objects(f *schema.Filters, v any) (list []store.Filter) {
	r.OpenGroup()
	defer r.CloseGroup()
	items, _ := v.([]any)
	for _, item := range items {
		if r.count.full() {
			break
		}
		if o, ok := item.(*jsontree.Object); ok {
			if filter := r.object(f, o); filter != nil {
				list = append(list, filter)
			}
		}
	}
	return list
}

// not returns the negation of the filter that read compiles. If read returns nil, not returns nil, too.
func (r *filterReader) not(read func() store.Filter) store.Filter {
	r.OpenGroup()
	defer r.CloseGroup()
	if filter := read(); filter != nil {
		return store.Not{Filter: filter}
	}
	return nil
}

// operators compiles the operators of a scalar, all of which must hold.
func (r *filterReader) operators(field *schema.FilterField, given *jsontree.Object) (all store.Filter) {
	if given == nil {
		return nil
	}
	for _, key := range given.Keys {
		if op := field.Operators.Field(key); op != nil {
			all = params.And(all, r.operator(field, op, given.Value(key)))
		}
	}
	return all
}

// operator compiles one operator. As in a query string, null counts as false for null and notNull, nothing is in null
// or outside of it, and not null is no null.
func (r *filterReader) operator(field *schema.FilterField, op *schema.Operator, v any) store.Filter {
	items, isList := v.([]any)
	switch op.Kind {
	case schema.OperatorCompare, schema.OperatorNull:
		return r.compare(field, op.Op, v)
	case schema.OperatorList:
		if isList {
			return r.Compare(field.Attr, op.Op, r.operands(items))
		}
		return r.compare(field, op.Op, nil)
	case schema.OperatorAnd:
		return and(r.equalities(field, items))
	case schema.OperatorOr:
		return or(r.equalities(field, items))
	case schema.OperatorNot:
		if inner, ok := v.(*jsontree.Object); ok {
			return r.not(func() store.Filter { return r.operators(field, inner) })
		}
		return r.compare(field, store.Ne, nil)
	}
	return nil
}

// compare compares a scalar with one value.
func (r *filterReader) compare(field *schema.FilterField, op store.Op, v any) store.Filter {
	return r.Compare(field.Attr, op, r.operand(v))
}

// equalities returns one condition for each value: that the attribute equals it.
func (r *filterReader) equalities(field *schema.FilterField, items []any) (list []store.Filter) {
	for _, v := range r.operands(items) {
		if filter := r.Compare(field.Attr, store.Eq, v); filter != nil {
			list = append(list, filter)
		}
	}
	return list
}

// operands converts a list of values by operand.
func (r *filterReader) operands(items []any) []any {
	list := []any{}
	for _, item := range items {
		if r.count.full() {
			break
		}
		list = append(list, r.operand(item))
	}
	return list
}

// operand converts a value to the text that Compare takes; null stays nil. A number is formatted as answers print it,
// however the operation spells it.
func (r *filterReader) operand(v any) any {
	r.count.n++
	switch v := v.(type) {
	case nil, string:
		return v
	}
	return string(jsontree.Append(nil, v))
}

// The functions and and or combine conditions. Both return nil for an empty list, and nil matches every row.
func and(list []store.Filter) store.Filter {
	if len(list) == 0 {
		return nil
	}
	return store.And(list)
}

func or(list []store.Filter) store.Filter {
	if len(list) == 0 {
		return nil
	}
	return store.Or(list)
}
