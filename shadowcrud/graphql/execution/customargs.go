package execution

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
)

// Resolvers and middlewares get arguments as graphql-go passes them: Int is int, Float float64, Long int64, an enum the value of its name,
// an input a map[string]any, a list a []any, JSON the types of encoding/json, a scalar made in Go the result of its ParseValue, and
// everything else a string. Arguments that middlewares do not change reach the engine as the request sent them.

// plainArguments returns the arguments of a field for resolvers.
func (r *customRun) plainArguments(f *field, given arguments) (map[string]any, error) {
	args := make(map[string]any, len(given))
	for _, a := range given {
		v, err := r.engine.plainValue(f.def.Arguments.ForName(a.name).Type, a.value)
		if err != nil {
			return nil, apierror.Validation(`Argument "` + a.name + `" has invalid value; ` + err.Error())
		}
		args[a.name] = v
	}
	return args, nil
}

func (e *Engine) plainValue(t *ast.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if t.Elem != nil {
		items, _ := v.([]any)
		list := make([]any, len(items))
		for i, item := range items {
			var err error
			if list[i], err = e.plainValue(t.Elem, item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	switch named := e.language.Type(t.NamedType); named.Kind {
	case ast.InputObject:
		given, _ := v.(*jsontree.Object)
		m := map[string]any{}
		for _, f := range named.Fields {
			value, ok := given.Get(f.Name)
			if !ok {
				continue
			}
			var err error
			if m[f.Name], err = e.plainValue(f.Type, value); err != nil {
				return nil, err
			}
		}
		return m, nil
	case ast.Enum:
		return e.schema.Enum(t.NamedType).GraphQL.ParseValue(v), nil
	}
	return e.plainScalar(e.schema.Scalar(t.NamedType), v)
}

func (e *Engine) plainScalar(s *schema.Scalar, v any) (any, error) {
	n, isNumber := v.(jsontree.Number)
	switch s.Kind {
	case schema.IntScalar:
		return int(n.Float()), nil
	case schema.LongScalar:
		if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return i, nil
		}
		return string(n), nil
	case schema.CustomScalar:
		plain := jsontree.Plain(v)
		if isNumber && n.Float() == math.Trunc(n.Float()) && math.Abs(n.Float()) <= jsontree.MaxSafeInteger {
			plain = int(n.Float())
		}
		read := s.GraphQL.ParseValue(plain)
		if read == nil {
			return nil, coercionError(`Expected type "` + s.Name + `".`)
		}
		return read, nil
	}
	return jsontree.Plain(v), nil
}

// changedArguments converts the arguments that middlewares passed on to arguments of the engine. sent are the arguments of the request, and
// before is what plainArguments made of them. A value that equals the one in before is taken from sent, with all its digits and in its order.
func (r *customRun) changedArguments(f *field, args, before map[string]any, sent arguments) (arguments, error) {
	for name := range args {
		if f.def.Arguments.ForName(name) == nil {
			return nil, fmt.Errorf("there is no argument %q", name)
		}
	}
	var changed arguments
	for _, def := range f.def.Arguments {
		v, ok := args[def.Name]
		if !ok {
			continue
		}
		tree, err := r.engine.tree(def.Type, v, before[def.Name], sent.value(def.Name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", def.Name, err)
		}
		if tree, err = r.engine.language.Value(def.Name, def.Type, tree); err != nil {
			return nil, err
		}
		changed = append(changed, argumentValue{def.Name, tree})
	}
	return changed, nil
}

// filterReader returns the function that schema.FiltersOf calls.
func (x *execution) filterReader() schema.FilterReader {
	e, access := x.engine, x.access
	return func(input string, given any) (documents.Condition, error) {
		f := e.schema.Filters(input)
		if f == nil {
			return nil, fmt.Errorf("%s is no input of filters", input)
		}
		t := ast.NamedType(input, nil)
		tree, err := e.tree(t, given, nil, nil)
		if err == nil {
			tree, err = e.language.Value("filters", t, tree)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", input, err)
		}
		b := binder{engine: e, access: access, conditionCount: &conditionCount{most: e.limits.Conditions}}
		filters, _ := tree.(*jsontree.Object)
		filter, _, err := e.params.Items(f.Schema, b.conditionCount.filters(f, filters), nil, access)
		if wrong := b.refused(err); wrong != nil {
			return nil, wrong
		}
		return documents.Matching(f.Schema, filter), nil
	}
}

// tree converts a Go value to jsontree. If v equals before, it returns sent, the value of the request from which before was made.
func (e *Engine) tree(t *ast.Type, v, before, sent any) (any, error) {
	if isNil(v) {
		return nil, nil
	}
	if sent != nil && reflect.DeepEqual(v, before) {
		return sent, nil
	}
	if t.Elem != nil {
		return e.listTree(t.Elem, v, before, sent)
	}
	switch named := e.language.Type(t.NamedType); named.Kind {
	case ast.InputObject:
		given, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%T is none of a %s", v, t.NamedType)
		}
		membersBefore, _ := before.(map[string]any)
		sentObject, _ := sent.(*jsontree.Object)
		o := jsontree.NewObject()
		for _, key := range slices.Sorted(maps.Keys(given)) {
			var sentMember any
			if sentObject != nil {
				sentMember = sentObject.Value(key)
			}
			f := named.Field(key)
			if f == nil {
				return nil, fmt.Errorf("%s has no field %q", t.NamedType, key)
			}
			tree, err := e.tree(f.Type, given[key], membersBefore[key], sentMember)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			o.Set(key, tree)
		}
		return o, nil
	case ast.Enum:
		if name, ok := e.schema.Enum(t.NamedType).GraphQL.Serialize(v).(string); ok {
			return name, nil
		}
	}
	return jsonTree(v)
}

func (e *Engine) listTree(t *ast.Type, v, before, sent any) (any, error) {
	items := reflect.ValueOf(v)
	if k := items.Kind(); k != reflect.Slice && k != reflect.Array {
		return nil, fmt.Errorf("%T is no list", v)
	}
	itemsBefore, _ := before.([]any)
	sentItems, _ := sent.([]any)
	list := make([]any, items.Len())
	for i := range list {
		var itemBefore, sentItem any
		if i < len(itemsBefore) && i < len(sentItems) {
			itemBefore, sentItem = itemsBefore[i], sentItems[i]
		}
		var err error
		if list[i], err = e.tree(t, items.Index(i).Interface(), itemBefore, sentItem); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// jsonTree converts any value that encoding/json can print.
func jsonTree(v any) (any, error) {
	b, err := json.Marshal(ordered(v))
	if err != nil {
		return nil, err
	}
	return jsontree.Parse(b, jsontree.MaxDepth)
}
