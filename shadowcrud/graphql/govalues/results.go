package govalues

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
)

// Leaf converts the result of a resolver to the JSON of a scalar or enum. It returns nil for null.
func (c *Converter) Leaf(t *language.Type, v any) ([]byte, error) {
	if t.Kind == ast.Enum {
		name, ok := c.Schema.Enum(t.Name).GraphQL.Serialize(v).(string)
		if !ok {
			return nil, CoercionError(`Enum "` + t.Name + `" cannot represent value: ` + Inspected(v))
		}
		return jsontree.AppendString(nil, name), nil
	}
	kind, custom := schema.CustomScalar, (*graphql.Scalar)(nil)
	if s := c.Schema.Scalar(t.Name); s != nil {
		if kind = s.Kind; kind == schema.CustomScalar {
			custom = s.GraphQL
		}
	}
	switch kind {
	case schema.CustomScalar, schema.JSONScalar:
		if custom != nil {
			if v = custom.Serialize(v); IsNil(v) {
				return nil, nil
			}
		}
		tree, err := jsonTree(v)
		if err != nil {
			return nil, err
		}
		return jsontree.Append(nil, tree), nil
	}
	if indirect := reflect.Indirect(reflect.ValueOf(v)); indirect.IsValid() && indirect.CanInterface() {
		v = indirect.Interface()
	}
	switch kind {
	case schema.StringScalar:
		return stringLeaf(v)
	case schema.IDScalar:
		return idLeaf(v)
	case schema.BooleanScalar:
		return booleanLeaf(v)
	case schema.IntScalar:
		return intLeaf(v)
	case schema.FloatScalar:
		if f, ok := number(v); ok {
			return jsontree.Append(nil, f), nil
		}
		return nil, CoercionError("Float cannot represent non numeric value: " + Inspected(v))
	}
	return c.texts(t, kind, v)
}

func stringLeaf(v any) ([]byte, error) {
	if s, ok := text(v); ok {
		return jsontree.AppendString(nil, s), nil
	}
	return nil, CoercionError("String cannot represent value: " + Inspected(v))
}

func idLeaf(v any) ([]byte, error) {
	if n, ok := integer(v); ok {
		return jsontree.AppendString(nil, strconv.FormatInt(n, 10)), nil
	}
	if s, ok := text(v); ok && !isBool(v) && !isFloat(v) {
		return jsontree.AppendString(nil, s), nil
	}
	return nil, CoercionError("ID cannot represent value: " + Inspected(v))
}

func booleanLeaf(v any) ([]byte, error) {
	if isBool(v) {
		return strconv.AppendBool(nil, reflect.ValueOf(v).Bool()), nil
	}
	if f, ok := number(v); ok && !isText(v) {
		return strconv.AppendBool(nil, f != 0), nil
	}
	return nil, CoercionError("Boolean cannot represent a non boolean value: " + Inspected(v))
}

func intLeaf(v any) ([]byte, error) {
	f, ok := number(v)
	if !ok || f != math.Trunc(f) {
		return nil, CoercionError("Int cannot represent non-integer value: " + Inspected(v))
	}
	if f > math.MaxInt32 || f < math.MinInt32 {
		return nil, CoercionError("Int cannot represent non 32-bit signed integer value: " + Inspected(v))
	}
	return strconv.AppendInt(nil, int64(f), 10), nil
}

// texts prints a value of a scalar that is a string in a certain format, such as a date, or a Long.
func (c *Converter) texts(t *language.Type, kind schema.ScalarKind, v any) ([]byte, error) {
	if at, ok := v.(time.Time); ok {
		switch kind {
		case schema.DateScalar:
			v = at.Format("2006-01-02")
		case schema.TimeScalar:
			v = at.Format("15:04:05.000")
		default:
			v = at.UTC().Format(contenttypes.TimeFormat)
		}
	} else if n, ok := integer(v); ok {
		v = jsontree.Number(strconv.FormatInt(n, 10))
	} else if s, ok := text(v); ok {
		v = s
	}
	read, err := c.Language.Value("value", ast.NamedType(t.Name, nil), v)
	var wrong *language.Error
	if errors.As(err, &wrong) {
		return nil, CoercionError(t.Name + " cannot represent value: " + Inspected(v))
	}
	if n, ok := read.(jsontree.Number); ok {
		i, err := strconv.ParseInt(string(n), 10, 64)
		if err != nil || i > jsontree.MaxSafeInteger || i < -jsontree.MaxSafeInteger {
			read = string(n)
		}
	}
	return jsontree.Append(nil, read), nil
}

// maxInspected bounds the strings that a message quotes: it hides a string of this many bytes or more.
const maxInspected = 100

// Inspected prints a value for a message. It hides the content of lists, objects and long strings from clients.
func Inspected(v any) string {
	switch rv := reflect.Indirect(reflect.ValueOf(v)); rv.Kind() {
	case reflect.Slice, reflect.Array:
		return "[…]"
	case reflect.String:
		if rv.Len() < maxInspected {
			return string(jsontree.AppendString(nil, rv.String()))
		}
	case reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprint(rv.Interface())
	}
	return "{…}"
}

// text converts strings, numbers, bools and encoding.TextMarshalers to a string.
func text(v any) (string, bool) {
	if m, ok := v.(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		return string(b), err == nil
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String:
		return rv.String(), true
	case reflect.Bool:
		return strconv.FormatBool(rv.Bool()), true
	case reflect.Float32, reflect.Float64:
		return jsontree.FormatNumber(rv.Float()), true
	}
	if n, ok := integer(v); ok {
		return strconv.FormatInt(n, 10), true
	}
	return "", false
}

func isBool(v any) bool { return reflect.ValueOf(v).Kind() == reflect.Bool }
func isText(v any) bool { return reflect.ValueOf(v).Kind() == reflect.String }
func isFloat(v any) bool {
	k := reflect.ValueOf(v).Kind()
	return k == reflect.Float32 || k == reflect.Float64
}

// integer converts a Go integer, or a float without a fraction, to an int64. It reports false for other values.
func integer(v any) (int64, bool) {
	rv := reflect.ValueOf(v)
	switch {
	case rv.CanInt():
		return rv.Int(), true
	case rv.CanUint() && rv.Uint() <= math.MaxInt64:
		return int64(rv.Uint()), true
	case rv.CanFloat() && rv.Float() == math.Trunc(rv.Float()) && math.Abs(rv.Float()) <= jsontree.MaxSafeInteger:
		return int64(rv.Float()), true
	}
	return 0, false
}

// number converts a value to a float as JavaScript does: it accepts numbers, bools and strings that spell a number.
func number(v any) (float64, bool) {
	rv := reflect.ValueOf(v)
	switch {
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.CanFloat():
		return rv.Float(), !math.IsNaN(rv.Float()) && !math.IsInf(rv.Float(), 0)
	case rv.Kind() == reflect.Bool:
		if rv.Bool() {
			return 1, true
		}
		return 0, true
	case rv.Kind() == reflect.String && rv.Len() > 0:
		f, ok := jsontree.ParseNumber(rv.String())
		return f, ok && !math.IsInf(f, 0)
	}
	return 0, false
}

// ordered prepares a value for encoding/json, so that the members of jsontree objects within it are printed in their
// order.
func ordered(v any) any {
	switch v := v.(type) {
	case jsontree.Number, *jsontree.Object:
		return json.RawMessage(jsontree.Append(nil, v))
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = ordered(item)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = ordered(item)
		}
		return m
	}
	return v
}

// A CoercionError says, in the words of graphql-js, why the result of a resolver is not a value of the field's type.
type CoercionError string

func (e CoercionError) Error() string { return string(e) }

// IsNil reports whether a value is nil, or a nil pointer, map, slice or function.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func:
		return rv.IsNil()
	}
	return false
}
