package params

import (
	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A filterReader reads the filters of query strings. These are objects whose keys are names of attributes and
// operators.
type filterReader struct{ FilterBuilder }

// A subject is what the keys of an object of filters refer to: the attributes of a schema, the operators on one
// attribute, or both. For a relation, media or component, operators compare the numeric id of its target.
type subject struct {
	schema *contenttypes.Schema
	value  *contenttypes.Attribute
}

// filters reads the parameter filters. byLocale is the condition on the locale of the rows; nil if there is none.
func (r *request) filters() (filter, byLocale store.Filter) {
	if r.build != nil {
		b := r.filterBuilder()
		return r.build(&b), b.byLocale
	}
	switch r.params.filters.(type) {
	case nil:
		return nil, nil
	case string:
		r.badFilters(issueFilterShape)
		return nil, nil
	}
	f := filterReader{r.filterBuilder()}
	return f.read(subject{schema: &r.typ.Schema}, r.params.filters), f.byLocale
}

// filtersOf reads the filters inside a populate. s is the schema of the populated documents or components.
func (r *request) filtersOf(s *contenttypes.Schema, v any) store.Filter {
	switch v.(type) {
	case nil:
		return nil
	case string:
		if v != "" {
			r.badFilters(issuePopulateShape)
		}
		return nil
	}
	sub := r.within()
	f := filterReader{FilterBuilder{request: sub, param: filtersWithin}}
	filter := f.read(subject{schema: s}, v)
	r.adopt(&sub.issues)
	return filter
}

func (r *request) badFilters(p precedence) {
	r.invalid(p, "The filters parameter must be an object or an array")
}

// read reads the conditions on a subject, in any form. It returns nil if there are none.
func (f *filterReader) read(on subject, v any) store.Filter {
	if o, ok := v.(*jsontree.Object); ok {
		return f.object(on, o)
	}
	if on.value != nil {
		return f.operator(on.value, store.Eq, v)
	}
	if list, ok := v.([]any); ok {
		return f.group(on, "filters", list)
	}
	return nil
}

// object returns a condition that holds if the conditions of all members of an object hold.
func (f *filterReader) object(on subject, o *jsontree.Object) store.Filter {
	var all store.Filter
	for _, key := range o.Keys {
		all = And(all, f.condition(on, key, o.Value(key)))
	}
	return all
}

// condition reads the value of one key: $and, $or, $not, an operator, or the name of an attribute.
func (f *filterReader) condition(on subject, key string, v any) store.Filter {
	switch key {
	case "$and":
		return f.group(on, key, v)
	case "$or":
		return f.either(on, v)
	case "$not":
		return f.not(on, v)
	}
	if on.value != nil {
		if op, ok := operatorsByKey[key]; ok {
			return f.operator(on.value, op, v)
		}
	}
	if on.schema == nil {
		f.unknownKey(key)
		return nil
	}
	a := on.schema.Attribute(key)
	if a == nil {
		if f.isReserved(on.schema, key) {
			f.forbiddenKey(f.param.hidden, key)
		} else {
			f.unknownKey(key)
		}
		return nil
	}
	return f.attribute(a, v)
}

// attribute reads the conditions on an attribute, also if the caller may not see it: an unknown key in them has a lower
// precedence than the forbidden attribute.
func (f *filterReader) attribute(a *contenttypes.Attribute, v any) store.Filter {
	if !f.Enter(a) {
		return nil
	}
	if a.IsScalar() {
		return f.Leave(a, f.read(subject{value: a}, v))
	}
	to := a.TargetSchema()
	return f.Leave(a, f.read(subject{schema: to, value: to.Attribute("id")}, v))
}

// group reads a list of filters all of which must hold.
func (f *filterReader) group(on subject, name string, v any) store.Filter {
	var all store.Filter
	for _, filter := range f.list(on, name, v) {
		all = And(all, filter)
	}
	return all
}

// either reads a list of filters at least one of which must hold.
func (f *filterReader) either(on subject, v any) store.Filter {
	if v == nil {
		return nil
	}
	return store.Or(f.list(on, "$or", v))
}

// list reads the elements of a list of filters. A condition on the locale in it does not replace the parameter locale.
func (f *filterReader) list(on subject, name string, v any) []store.Filter {
	if v == nil {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		f.invalid(f.param.value, "Invalid "+name+" parameter. Expected an array of objects")
		return nil
	}
	f.OpenGroup()
	defer f.CloseGroup()
	list := make([]store.Filter, 0, len(items))
	for _, item := range items {
		if _, object := item.(*jsontree.Object); !object && on.value == nil {
			f.invalid(f.param.value, "Invalid "+name+" parameter. Expected an array of objects")
			continue
		}
		filter := f.read(on, item)
		if filter == nil {
			filter = store.And{}
		}
		list = append(list, filter)
	}
	return list
}

// not reads the value of $not: a value, operators, or an object, whose conditions are negated together.
func (f *filterReader) not(on subject, v any) store.Filter {
	if v == nil {
		if on.value == nil {
			return nil
		}
		return store.Compare{Attr: on.value, Op: store.NotNull}
	}
	if _, text := v.(string); text && on.value == nil {
		f.invalid(f.param.value, "Invalid $not parameter. Expected an object")
		return nil
	}
	f.OpenGroup()
	filter := f.read(on, v)
	f.CloseGroup()
	if filter == nil {
		return nil
	}
	return store.Not{Filter: filter}
}
