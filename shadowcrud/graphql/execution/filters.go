package execution

import (
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
)

// A converter turns the filters of an operation into the form of REST, and counts the conditions in them: comparisons, and the
// objects that hold them. Once there are too many it turns no more.
type converter struct{ conditions, most int }

// hop is how many conditions a relation counts for that is followed: for each of them all links may have to be looked at.
const hop = 40

func (c *converter) full() bool { return c.conditions > c.most }

// filters turns filters into the form that REST has them in, from where both go the same way: names of attributes, $and, $or,
// $not, and operators whose values are texts. What asks nothing is left out. The result is nil where nothing is asked.
func (c *converter) filters(f *schema.Filters, given *jsontree.Object) any {
	if f == nil || given == nil {
		return nil
	}
	if o := c.filterTree(f, given); len(o.Keys) > 0 {
		return o
	}
	return nil
}

func (c *converter) filterTree(f *schema.Filters, given *jsontree.Object) *jsontree.Object {
	c.conditions++
	o := jsontree.NewObject()
	for _, key := range given.Keys {
		ff, v := f.Field(key), given.Value(key)
		if c.full() {
			break
		}
		if ff == nil {
			continue
		}
		switch ff.Kind {
		case schema.FilterAnd:
			setList(o, "$and", c.filterTrees(f, v))
		case schema.FilterOr:
			setList(o, "$or", c.filterTrees(f, v))
		case schema.FilterNot:
			setTree(o, "$not", c.filterOf(f, v))
		case schema.FilterThrough:
			c.conditions += hop
			setTree(o, ff.Attr.Name, c.filterOf(ff.Filters, v))
		case schema.FilterValue:
			if v == nil {
				c.conditions++
				o.Set(ff.Attr.Name, nil)
			} else if operators, ok := v.(*jsontree.Object); ok {
				setTree(o, ff.Attr.Name, c.operatorTree(ff.Operators, operators))
			}
		}
	}
	return o
}

func (c *converter) filterOf(f *schema.Filters, v any) *jsontree.Object {
	if o, ok := v.(*jsontree.Object); ok {
		return c.filterTree(f, o)
	}
	return nil
}

func (c *converter) filterTrees(f *schema.Filters, v any) []any {
	items, _ := v.([]any)
	var list []any
	for _, item := range items {
		if c.full() {
			break
		}
		if o := c.filterOf(f, item); o != nil {
			list = append(list, o)
		}
	}
	return list
}

func setList(o *jsontree.Object, key string, list []any) {
	if len(list) > 0 {
		o.Set(key, list)
	}
}

func setTree(o *jsontree.Object, key string, tree *jsontree.Object) {
	if tree != nil && len(tree.Keys) > 0 {
		o.Set(key, tree)
	}
}

func (c *converter) operatorTree(ops *schema.Operators, given *jsontree.Object) *jsontree.Object {
	o := jsontree.NewObject()
	for _, key := range given.Keys {
		op, v := ops.Field(key), given.Value(key)
		if op == nil {
			continue
		}
		switch op.Kind {
		case schema.OperatorCompare:
			o.Set("$"+key, c.operand(v))
		case schema.OperatorNull:
			if v != nil {
				o.Set("$"+key, c.operand(v))
			}
		case schema.OperatorList:
			if items, ok := v.([]any); ok {
				o.Set("$"+key, c.operands(items))
			}
		case schema.OperatorAnd:
			setList(o, "$and", c.equalities(v))
		case schema.OperatorOr:
			setList(o, "$or", c.equalities(v))
		case schema.OperatorNot:
			if inner, ok := v.(*jsontree.Object); ok {
				setTree(o, "$not", c.operatorTree(ops, inner))
			}
		}
	}
	return o
}

// equalities are conditions to equal each of a list of values.
func (c *converter) equalities(v any) []any {
	items, _ := v.([]any)
	list := c.operands(items)
	for i, item := range list {
		o := jsontree.NewObject()
		o.Set("$eq", item)
		list[i] = o
	}
	return list
}

// operands are a list of values as texts.
func (c *converter) operands(items []any) (list []any) {
	list = []any{}
	for _, item := range items {
		if c.full() {
			break
		}
		list = append(list, c.operand(item))
	}
	return list
}

// operand is a value as text, null as it is. A number's is as answers print it, however the operation spells it.
func (c *converter) operand(v any) any {
	c.conditions++
	switch v := v.(type) {
	case nil, string:
		return v
	}
	return string(jsontree.Append(nil, v))
}
