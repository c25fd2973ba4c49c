package documents

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// A Condition is a condition on documents in a Query. It names an attribute by a path, which may lead through
// relations, files and components: "title", "owner.username", "address.city". If the path leads through a list, one
// item must meet the condition.
//
// A value has a Go type that fits its attribute: string; bool; an integer or float type; time.Time, or a string in the
// format of the API, for dates and times; nil for null. A comparison with an attribute without value is false, except
// for Eq and Ne with nil, Null and NotNull.
type Condition interface {
	// filter returns the condition as a filter on rows of a schema, or an error if an attribute or value does not fit.
	filter(*contenttypes.Schema) (store.Filter, error)
}

type condition func(*contenttypes.Schema) (store.Filter, error)

func (c condition) filter(s *contenttypes.Schema) (store.Filter, error) { return c(s) }

// Eq holds if the attribute's value equals value. Ne holds if it has a different value.
func Eq(path string, value any) Condition {
	if value == nil {
		return Null(path)
	}
	return compared(path, store.Eq, value)
}

func Ne(path string, value any) Condition {
	if value == nil {
		return NotNull(path)
	}
	return compared(path, store.Ne, value)
}

// In holds if the attribute's value is one of values. NotIn holds if it has a different value.
func In[T any](path string, values ...T) Condition {
	return compared(path, store.In, jsontree.ListOf(values)...)
}
func NotIn[T any](path string, values ...T) Condition {
	return compared(path, store.NotIn, jsontree.ListOf(values)...)
}

// Lt, Lte, Gt and Gte hold if the attribute's value is less than, at most, greater than, or at least value.
func Lt(path string, value any) Condition  { return compared(path, store.Lt, value) }
func Lte(path string, value any) Condition { return compared(path, store.Lte, value) }
func Gt(path string, value any) Condition  { return compared(path, store.Gt, value) }
func Gte(path string, value any) Condition { return compared(path, store.Gte, value) }

// Between holds if the attribute's value is at least low and at most high.
func Between(path string, low, high any) Condition { return compared(path, store.Between, low, high) }

// Contains, StartsWith and EndsWith search for a text in the attribute's value. Those that end in Fold ignore case, as
// EqFold does.
func Contains(path, text string) Condition       { return like(path, store.Contains, text) }
func ContainsFold(path, text string) Condition   { return like(path, store.ContainsI, text) }
func StartsWith(path, text string) Condition     { return like(path, store.StartsWith, text) }
func StartsWithFold(path, text string) Condition { return like(path, store.StartsWithI, text) }
func EndsWith(path, text string) Condition       { return like(path, store.EndsWith, text) }
func EndsWithFold(path, text string) Condition   { return like(path, store.EndsWithI, text) }
func EqFold(path, text string) Condition         { return like(path, store.EqI, text) }

// Null holds if the attribute has no value, NotNull if it has one.
func Null(path string) Condition    { return compared(path, store.Null) }
func NotNull(path string) Condition { return compared(path, store.NotNull) }

// Has holds if at least one target of a relation, media or component attribute meets all conditions. Their paths begin
// at the target.
func Has(path string, conditions ...Condition) Condition {
	return condition(func(s *contenttypes.Schema) (store.Filter, error) {
		var attrs []*contenttypes.Attribute
		for name := range strings.SplitSeq(path, ".") {
			a, target, err := follow(s, name)
			if err != nil {
				return nil, err
			}
			attrs, s = append(attrs, a), target
		}
		f, err := And(conditions...).filter(s)
		return through(attrs, f), err
	})
}

// And holds if all conditions hold, Or if one of them does. Not holds if its condition is false; it does not hold if
// the result is unknown because a value is missing.
func And(conditions ...Condition) Condition {
	return joined(conditions, func(list []store.Filter) store.Filter { return store.And(list) })
}

func Or(conditions ...Condition) Condition {
	return joined(conditions, func(list []store.Filter) store.Filter { return store.Or(list) })
}

func Not(c Condition) Condition {
	return joined([]Condition{c}, func(list []store.Filter) store.Filter { return store.Not{Filter: list[0]} })
}

// Matching returns f as a condition on rows of s; a nil filter holds for all rows.
func Matching(s *contenttypes.Schema, f store.Filter) Condition {
	if f == nil {
		f = store.And{}
	}
	return condition(func(asked *contenttypes.Schema) (store.Filter, error) {
		if asked != s {
			return nil, fmt.Errorf("a filter on %s is used for %s", s.UID, asked.UID)
		}
		return f, nil
	})
}

// FilterOf converts conditions on documents of a type to one filter for queries of the store. It holds if all
// conditions hold.
func FilterOf(t *contenttypes.ContentType, conditions ...Condition) (store.Filter, error) {
	f, err := And(conditions...).filter(&t.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.UID, err)
	}
	return f, nil
}

func joined(conditions []Condition, join func([]store.Filter) store.Filter) Condition {
	return condition(func(s *contenttypes.Schema) (store.Filter, error) {
		list := make([]store.Filter, len(conditions))
		for i, c := range conditions {
			f, err := c.filter(s)
			if err != nil {
				return nil, err
			}
			list[i] = f
		}
		return join(list), nil
	})
}

func compared(path string, op store.Op, values ...any) Condition {
	return leaf(path, func(a *contenttypes.Attribute) (store.Filter, error) {
		operands := make([]any, len(values))
		for i, v := range values {
			var ok bool
			if operands[i], ok = operandOf(a, v); !ok {
				return nil, fmt.Errorf("%s is of the type %s and cannot be compared with %#v", path, a.Type, v)
			}
		}
		return store.Compare{Attr: a, Op: op, Values: operands}, nil
	})
}

func like(path string, op store.Op, text string) Condition {
	return leaf(path, func(a *contenttypes.Attribute) (store.Filter, error) {
		return store.Compare{Attr: a, Op: op, Values: []any{text}}, nil
	})
}

// leaf returns a condition on the scalar at the end of a path.
func leaf(path string, compare func(*contenttypes.Attribute) (store.Filter, error)) Condition {
	return condition(func(s *contenttypes.Schema) (store.Filter, error) {
		attrs, err := pathOf(s, path)
		if err != nil {
			return nil, err
		}
		last := len(attrs) - 1
		f, err := compare(attrs[last])
		return through(attrs[:last], f), err
	})
}

// through returns a filter that follows attrs one after the other, and applies f to the records at the end.
func through(attrs []*contenttypes.Attribute, f store.Filter) store.Filter {
	for _, a := range slices.Backward(attrs) {
		f = store.Through{Attr: a, Filter: f}
	}
	return f
}

// pathOf returns the attributes on a path, the last of which is a scalar.
func pathOf(s *contenttypes.Schema, path string) ([]*contenttypes.Attribute, error) {
	names := strings.Split(path, ".")
	last := len(names) - 1
	attrs := make([]*contenttypes.Attribute, 0, len(names))
	for _, name := range names[:last] {
		a, target, err := follow(s, name)
		if err != nil {
			return nil, err
		}
		attrs, s = append(attrs, a), target
	}
	a := s.Attribute(names[last])
	switch {
	case a == nil:
		return nil, fmt.Errorf("%s has no attribute %q", s.UID, names[last])
	case a.Type == contenttypes.Password:
		return nil, fmt.Errorf("%s is a password, which nothing is compared with", path)
	case !a.IsScalar():
		return nil, fmt.Errorf("%s is of the type %s; name an attribute of what it leads to, as %s.id", path, a.Type,
			path)
	}
	return append(attrs, a), nil
}

// follow returns the relation, media or component attribute with this name and the schema of its targets.
func follow(s *contenttypes.Schema, name string) (a *contenttypes.Attribute, target *contenttypes.Schema, err error) {
	if a = s.Attribute(name); a == nil {
		return nil, nil, fmt.Errorf("%s has no attribute %q", s.UID, name)
	}
	if target = a.TargetSchema(); target != nil {
		return a, target, nil
	}
	return nil, nil, fmt.Errorf("%s of %s is of the type %s, which leads to no one schema", name, s.UID, a.Type)
}

// operandOf converts a value to the form in which the store compares the attribute with it.
func operandOf(a *contenttypes.Attribute, v any) (operand any, ok bool) {
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		return floatOf(v)
	case contenttypes.BigIntegerValue:
		return integerOf(v)
	case contenttypes.BooleanValue:
		b := reflect.ValueOf(v)
		return b.IsValid() && b.Kind() == reflect.Bool && b.Bool(), b.IsValid() && b.Kind() == reflect.Bool
	case contenttypes.DateValue, contenttypes.TimeValue, contenttypes.DateTimeValue:
		return timeOf(a, v)
	case contenttypes.JSONValue:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	s := reflect.ValueOf(v)
	if s.Kind() != reflect.String {
		return nil, false
	}
	return s.String(), true
}

func floatOf(v any) (any, bool) {
	n := reflect.ValueOf(v)
	switch {
	case n.CanInt():
		return float64(n.Int()), true
	case n.CanUint():
		return float64(n.Uint()), true
	case n.CanFloat():
		f := n.Float()
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	switch v.(type) {
	case jsontree.Number, json.Number:
		return jsontree.ParseNumber(n.String())
	}
	return nil, false
}

func integerOf(v any) (any, bool) {
	n := reflect.ValueOf(v)
	switch {
	case n.CanInt():
		return n.Int(), true
	case n.CanUint():
		return int64(n.Uint()), n.Uint() <= math.MaxInt64
	case n.CanFloat():
		f := n.Float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) <= jsontree.MaxSafeInteger
	case n.Kind() == reflect.String:
		i, err := strconv.ParseInt(n.String(), 10, 64)
		return i, err == nil
	}
	return nil, false
}

func timeOf(a *contenttypes.Attribute, v any) (any, bool) {
	text, ok := v.(string)
	if t, is := v.(time.Time); is {
		ok = true
		switch a.Type {
		case contenttypes.Date:
			text = t.Format("2006-01-02")
		case contenttypes.Time:
			text = t.Format("15:04:05.000")
		default:
			text = t.UTC().Format(contenttypes.TimeFormat)
		}
	}
	if !ok {
		return nil, false
	}
	read, err := values.ParseFilterTime(a, text)
	return read, err == nil
}
