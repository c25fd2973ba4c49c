package params

import (
	"cmp"
	"fmt"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A filterReader turns filters into a store.Filter.
type filterReader struct {
	*request
	param *parameter
	path  []string // of the object at hand, without $and, $or, $not and indexes

	// Where the rows asked for have a locale, a condition on it at the top of filters takes the place of the parameter
	// locale and is kept apart.
	apart    *contenttypes.Attribute
	byLocale store.Filter
}

// maxHops is how many relations and components the filters of a request may follow: each of them may look at all links.
const maxHops = 100

// A subject is what an object of filters speaks about: the attributes of a schema, a single value, or both. Of a relation,
// media or component the value is the numeric id of its target.
type subject struct {
	schema *contenttypes.Schema
	value  *contenttypes.Attribute
}

// filters reads the parameter filters. byLocale is the condition on the locale of the rows, nil where there is none.
func (r *request) filters() (filter, byLocale store.Filter) {
	switch r.given.filters.(type) {
	case nil:
		return nil, nil
	case string:
		r.badFilters(rankFilterShape)
		return nil, nil
	}
	f := filterReader{request: r, param: filtersParameter}
	if r.typ.Localized {
		f.apart = r.typ.Attribute("locale")
	}
	return f.read(subject{schema: &r.typ.Schema}, r.given.filters), f.byLocale
}

// filtersOf reads the filters within a populate, which speak about what is populated.
func (r *request) filtersOf(s *contenttypes.Schema, v any) store.Filter {
	switch v.(type) {
	case nil:
		return nil
	case string:
		if v != "" {
			r.badFilters(rankPopulateShape)
		}
		return nil
	}
	sub := r.within()
	f := filterReader{request: sub, param: filtersWithin}
	filter := f.read(subject{schema: s}, v)
	r.adopt(&sub.faults)
	return filter
}

func (r *request) badFilters(k rank) {
	r.invalid(k, "The filters parameter must be an object or an array")
}

// read reads the conditions on a subject in whatever form they come; nil when there are none.
func (f *filterReader) read(on subject, v any) store.Filter {
	if o, ok := v.(*jsontree.Object); ok {
		return f.object(on, o)
	}
	if on.value != nil {
		return f.operator(on.value, "$eq", v)
	}
	if list, ok := v.([]any); ok {
		return f.group(on, "filters", list)
	}
	return nil
}

// object reads an object, all of whose conditions must hold.
func (f *filterReader) object(on subject, o *jsontree.Object) store.Filter {
	var all store.Filter
	for _, key := range o.Keys {
		all = and(all, f.condition(on, key, o.Value(key)))
	}
	return all
}

// condition reads what stands under one key: $and, $or, $not, an operator, or the name of an attribute.
func (f *filterReader) condition(on subject, key string, v any) store.Filter {
	switch key {
	case "$and":
		return f.group(on, key, v)
	case "$or":
		return f.either(on, v)
	case "$not":
		return f.not(on, v)
	}
	if on.value != nil && isOperator(key) {
		return f.operator(on.value, key, v)
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

// attribute reads the conditions on an attribute. Those on one that may not be asked are read as well, since keys that do not
// exist are told of first.
func (f *filterReader) attribute(a *contenttypes.Attribute, v any) store.Filter {
	if a.Type == contenttypes.DynamicZone {
		f.forbiddenKey(f.param.zone, a.Name)
		return nil
	}
	switch {
	case a.Type == contenttypes.Password:
		f.forbiddenKey(f.param.password, a.Name)
	case a.IsScalar() && !f.access.Sees(a), !a.IsScalar() && (target(a) == nil || !f.access.Follows(a)):
		f.forbiddenKey(f.param.hidden, a.Name)
	}

	if a.Type == contenttypes.ID || a.Type == contenttypes.DocumentID {
		return f.read(subject{value: a}, v)
	}
	top := len(f.path) == 0
	f.path = append(f.path, a.Name)
	defer func() { f.path = f.path[:len(f.path)-1] }()
	if a.IsScalar() {
		filter := f.read(subject{value: a}, v)
		if top && a == f.apart {
			f.byLocale, filter = filter, nil
		}
		return filter
	}
	to := target(a)
	if to == nil {
		return nil
	}
	whole := cmp.Or(f.whole, f.request)
	if whole.hops++; whole.hops > maxHops {
		f.invalid(f.param.shape, fmt.Sprintf("Too many relations to follow in filters: at most %d are allowed", maxHops))
		return nil
	}
	if filter := f.read(subject{schema: to, value: to.Attribute("id")}, v); filter != nil {
		return store.Through{Attr: a, Filter: filter}
	}
	return nil
}

// group reads a list of filters all of which must hold.
func (f *filterReader) group(on subject, name string, v any) store.Filter {
	var all store.Filter
	for _, filter := range f.list(on, name, v) {
		all = and(all, filter)
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

// list reads the elements of a list of filters. Within it conditions on the locale are like any others.
func (f *filterReader) list(on subject, name string, v any) []store.Filter {
	if v == nil {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		f.invalid(f.param.value, "Invalid "+name+" parameter. Expected an array of objects")
		return nil
	}
	apart := f.apart
	f.apart = nil
	defer func() { f.apart = apart }()
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

// not negates what is below it: a value, operators, or all conditions of an object together.
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
	apart := f.apart
	f.apart = nil
	filter := f.read(on, v)
	f.apart = apart
	if filter == nil {
		return nil
	}
	return store.Not{Filter: filter}
}

// parent is the dotted path of the object at hand.
func (f *filterReader) parent() string {
	path := ""
	for _, name := range f.path {
		path = join(path, name)
	}
	return path
}

func (f *filterReader) unknownKey(key string) {
	f.unknown(f.param.key, key, f.parent(), f.param.name)
}

func (f *filterReader) forbiddenKey(k rank, key string) {
	f.forbidden(k, key, join(f.parent(), key), f.param.name)
}

// and joins two conditions, either of which may be missing.
func and(a, b store.Filter) store.Filter {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	if list, ok := a.(store.And); ok {
		return append(list, b)
	}
	return store.And{a, b}
}
