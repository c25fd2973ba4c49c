package govalues

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
)

// A Converter converts values of the types of one schema. Any number of goroutines may use one.
type Converter struct {
	Schema   *schema.Schema
	Language *language.Schema
}

// GoArguments returns the arguments of a field as resolvers get them.
func (c *Converter) GoArguments(f *plan.Field, given plan.Arguments) (map[string]any, error) {
	args := make(map[string]any, len(given))
	for _, a := range given {
		v, err := c.plainValue(f.Def.Arguments.ForName(a.Name).Type, a.Value)
		if err != nil {
			return nil, apierror.Validation(`Argument "` + a.Name + `" has invalid value; ` + err.Error())
		}
		args[a.Name] = v
	}
	return args, nil
}

func (c *Converter) plainValue(t *ast.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if t.Elem != nil {
		items, _ := v.([]any)
		list := make([]any, len(items))
		for i, item := range items {
			var err error
			if list[i], err = c.plainValue(t.Elem, item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	switch named := c.Language.Type(t.NamedType); named.Kind {
	case ast.InputObject:
		given, _ := v.(*jsontree.Object)
		m := map[string]any{}
		for _, f := range named.Fields {
			value, ok := given.Get(f.Name)
			if !ok {
				continue
			}
			var err error
			if m[f.Name], err = c.plainValue(f.Type, value); err != nil {
				return nil, err
			}
		}
		return m, nil
	case ast.Enum:
		return c.Schema.Enum(t.NamedType).GraphQL.ParseValue(v), nil
	}
	return c.plainScalar(c.Schema.Scalar(t.NamedType), v)
}

func (c *Converter) plainScalar(s *schema.Scalar, v any) (any, error) {
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
			return nil, CoercionError(`Expected type "` + s.Name + `".`)
		}
		return read, nil
	}
	return jsontree.Plain(v), nil
}

// ChangedArguments converts the arguments that middlewares passed on to arguments of the engine. sent are the arguments
// of the request, and before is what GoArguments made of them. A value that equals the one in before is taken from
// sent, with all its digits and in its order.
func (c *Converter) ChangedArguments(
	f *plan.Field, args, before map[string]any, sent plan.Arguments,
) (plan.Arguments, error) {
	for name := range args {
		if f.Def.Arguments.ForName(name) == nil {
			return nil, fmt.Errorf("there is no argument %q", name)
		}
	}
	var changed plan.Arguments
	for _, def := range f.Def.Arguments {
		v, ok := args[def.Name]
		if !ok {
			continue
		}
		tree, err := c.Tree(def.Type, v, before[def.Name], sent.Value(def.Name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", def.Name, err)
		}
		if tree, err = c.Language.Value(def.Name, def.Type, tree); err != nil {
			return nil, err
		}
		changed = append(changed, plan.ArgumentValue{Name: def.Name, Value: tree})
	}
	return changed, nil
}

// Tree converts a Go value to jsontree. If v equals before, it returns sent, the value of the request from which before
// was made.
func (c *Converter) Tree(t *ast.Type, v, before, sent any) (any, error) {
	if IsNil(v) {
		return nil, nil
	}
	if sent != nil && reflect.DeepEqual(v, before) {
		return sent, nil
	}
	if t.Elem != nil {
		return c.listTree(t.Elem, v, before, sent)
	}
	switch named := c.Language.Type(t.NamedType); named.Kind {
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
			tree, err := c.Tree(f.Type, given[key], membersBefore[key], sentMember)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			o.Set(key, tree)
		}
		return o, nil
	case ast.Enum:
		if name, ok := c.Schema.Enum(t.NamedType).GraphQL.Serialize(v).(string); ok {
			return name, nil
		}
	}
	return jsonTree(v)
}

func (c *Converter) listTree(t *ast.Type, v, before, sent any) (any, error) {
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
		if list[i], err = c.Tree(t, items.Index(i).Interface(), itemBefore, sentItem); err != nil {
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
