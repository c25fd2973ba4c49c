package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graphql-go/graphql"
)

func compare(a, b string) int { return cmp.Compare(a, b) }

// sortedKeys returns the keys of a map in ascending order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// defaultLiteral prints the default value of an argument of graphql-go as SDL. It returns "" if there is no default.
func defaultLiteral(value any, t graphql.Type) string {
	if value == nil {
		return ""
	}
	return literal(value, t)
}

// literal prints a Go value as a GraphQL literal.
func literal(value any, t graphql.Type) string {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return "null"
	}
	switch t := t.(type) {
	case *graphql.NonNull:
		return literal(value, t.OfType)
	case *graphql.List:
		if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			return literal(value, t.OfType)
		}
		return listLiteral(v, t.OfType)
	case *graphql.Enum:
		if name, ok := t.Serialize(v.Interface()).(string); ok {
			return name
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.String:
		return quote(v.String())
	case reflect.Slice, reflect.Array:
		return listLiteral(v, nil)
	case reflect.Map:
		return objectLiteral(v, t)
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return quote(fmt.Sprint(v.Interface()))
	}
	return quote(string(text))
}

func listLiteral(v reflect.Value, of graphql.Type) string {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = literal(v.Index(i).Interface(), of)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func objectLiteral(v reflect.Value, t graphql.Type) string {
	fields := map[string]graphql.Type{}
	if in, ok := t.(*graphql.InputObject); ok {
		for name, f := range in.Fields() {
			fields[name] = f.Type
		}
	}
	var members []string
	for _, key := range v.MapKeys() {
		name := fmt.Sprint(key.Interface())
		members = append(members, name+": "+literal(v.MapIndex(key).Interface(), fields[name]))
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ", ") + "}"
}

// quote prints a string as a GraphQL literal.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
