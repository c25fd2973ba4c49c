package yamlfile

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"lectern/internal/spelling"
)

// An Unmarshaler decodes a Node into itself. It is for types that Decode does not support.
type Unmarshaler interface {
	UnmarshalNode(n *Node) Problems
}

var (
	unmarshalerType     = reflect.TypeFor[Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	nodeType            = reflect.TypeFor[*Node]()
	durationType        = reflect.TypeFor[time.Duration]()
)

// Decode sets the struct, map, slice or other value that v points to, and returns a problem for each part of n that
// does not fit.
//
// A field is named by its yaml tag, or else by its Go name in lower case. `yaml:"-"` excludes a field, `yaml:",inline"`
// reads the fields of an embedded struct from the same mapping, `yaml:"name,required"` makes a key compulsory and
// `yaml:"name,ignored"` accepts a key without suggesting it. A key without a field is a problem. A field whose key is
// missing or null keeps its value, so set defaults first.
//
// Fields may be booleans, numbers, strings, time.Duration (such as 90s or 1h30m), structs, pointers, slices, maps with
// string keys, any (nil, bool, int64, float64, string, []any, map[string]any), *Node (set without decoding), and types
// with UnmarshalNode or UnmarshalText. Decode converts nothing silently: a number is not a text and a text is not a
// number, unless the value came from an environment variable.
func (n *Node) Decode(v any) Problems {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		panic(fmt.Sprintf("yamlfile: Decode into %T, which is no pointer", v))
	}
	d := &decoder{}
	d.value(n, p.Elem(), "")
	return d.problems.Sort()
}

type decoder struct{ problems Problems }

// wrong reports a value that does not have the required type.
func (d *decoder) wrong(n *Node, name, want string) {
	if name == "" {
		name = "this"
	}
	d.problems = append(d.problems, n.Problem("%s must be %s, not %s", name, want, n.Describe()))
}

// value sets v from n; name is the key that problems mention.
func (d *decoder) value(n *Node, v reflect.Value, name string) {
	if v.Type() == nodeType {
		v.Set(reflect.ValueOf(n))
		return
	}
	if n.IsNull() {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, v.Elem(), name)
		return
	}
	if d.custom(n, v, name) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, name)
	case reflect.Map:
		d.dictionary(n, v, name)
	case reflect.Slice:
		d.slice(n, v, name)
	case reflect.Interface:
		v.Set(reflect.ValueOf(n.Value()))
	default:
		d.scalar(n, v, name)
	}
}

// custom sets v if its type is a time.Duration or decodes itself, and reports whether it is.
func (d *decoder) custom(n *Node, v reflect.Value, name string) bool {
	if !v.CanAddr() {
		return false
	}
	p := v.Addr()
	switch {
	case p.Type().Implements(unmarshalerType):
		d.problems = append(d.problems, p.Interface().(Unmarshaler).UnmarshalNode(n)...)
	case v.Type() == durationType:
		d.duration(n, v, name)
	case p.Type().Implements(textUnmarshalerType):
		if n.Kind >= List {
			d.wrong(n, name, "a text")
		} else if err := p.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Text)); err != nil {
			d.problems = append(d.problems, n.Problem("%s: %v", name, err))
		}
	default:
		return false
	}
	return true
}

func (d *decoder) duration(n *Node, v reflect.Value, name string) {
	text, ok := n.AsText()
	if ok {
		if duration, err := time.ParseDuration(text); err == nil {
			v.SetInt(int64(duration))
			return
		}
	}
	d.wrong(n, name, "a duration such as 90s, 15m or 1h30m")
}

func (d *decoder) scalar(n *Node, v reflect.Value, name string) {
	bits := 0
	if k := v.Kind(); k >= reflect.Int && k <= reflect.Float64 {
		bits = v.Type().Bits()
	}
	switch v.Kind() {
	case reflect.Bool:
		if b, ok := n.AsBool(); ok {
			v.SetBool(b)
			return
		}
		d.wrong(n, name, "true or false")
	case reflect.String:
		if s, ok := n.AsText(); ok {
			v.SetString(s)
			return
		}
		if n.Kind < List {
			d.problems = append(d.problems, n.Problem("%s must be a text, not %s; put it in quotes: %q", name,
				n.Describe(), n.Text))
			return
		}
		d.wrong(n, name, "a text")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, ok := n.AsInt(bits); ok {
			v.SetInt(i)
			return
		}
		want := "a whole number"
		if bits < 64 || n.Kind == Int {
			want = fmt.Sprintf("a whole number from %d to %d", int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
		}
		d.wrong(n, name, want)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if i, ok := n.AsUint(bits); ok {
			v.SetUint(i)
			return
		}
		d.wrong(n, name, fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-bits)))
	case reflect.Float32, reflect.Float64:
		if f, ok := n.AsFloat(); ok {
			v.SetFloat(f)
			return
		}
		d.wrong(n, name, "a number")
	default:
		// Decode returns problems of files, which users can mend. This is a fault of the program: its struct has a
		// field of such a type.
		panic("yamlfile: Decode does not know " + v.Type().String())
	}
}

func (d *decoder) slice(n *Node, v reflect.Value, name string) {
	if n.Kind != List {
		d.wrong(n, name, "a list")
		return
	}
	items := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if item.IsNull() && v.Type().Elem() != nodeType {
			d.wrong(item, fmt.Sprintf("item %d of %s", i+1, name), "a value")
			continue
		}
		d.value(item, items.Index(i), fmt.Sprintf("item %d of %s", i+1, name))
	}
	v.Set(items)
}

func (d *decoder) dictionary(n *Node, v reflect.Value, name string) {
	if n.Kind != Map {
		d.wrong(n, name, "a mapping")
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, e := range n.Entries {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.Value, value, e.Key)
		v.SetMapIndex(reflect.ValueOf(e.Key).Convert(v.Type().Key()), value)
	}
}

// structure sets the fields of a struct and reports unknown and missing keys.
func (d *decoder) structure(n *Node, v reflect.Value, name string) {
	if n.Kind != Map {
		d.wrong(n, name, "a mapping")
		return
	}
	fields, required := structFields(v, nil, nil)
	var names []string
	for _, f := range fields {
		if !f.ignored {
			names = append(names, f.name)
		}
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		field, ok := fieldNamed(fields, e.Key)
		if !ok {
			d.problems = append(
				d.problems, n.EntryProblem(e, "unknown key %q; %s", e.Key, spelling.Suggest(e.Key, names)))
			continue
		}
		seen[e.Key] = !e.Value.IsNull() || e.Value.unset // Read has reported a variable that is not set
		d.value(e.Value, field, e.Key)
	}
	for _, key := range required {
		if !seen[key] {
			d.problems = append(d.problems, n.Problem("key %q is missing", key))
		}
	}
}

type structField struct {
	name    string
	value   reflect.Value
	ignored bool
}

func structFields(v reflect.Value, fields []structField, required []string) ([]structField, []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if options == "inline" {
			fields, required = structFields(v.Field(i), fields, required)
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if options == "required" {
			required = append(required, name)
		}
		fields = append(fields, structField{name, v.Field(i), options == "ignored"})
	}
	return fields, required
}

func fieldNamed(fields []structField, name string) (reflect.Value, bool) {
	for _, f := range fields {
		if f.name == name {
			return f.value, true
		}
	}
	return reflect.Value{}, false
}

// Value returns n as plain Go values: nil, bool, int64, float64, string, []any or map[string]any. A number that fits
// neither numeric type is returned as a string.
func (n *Node) Value() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Bool:
		b, _ := n.AsBool()
		return b
	case Int, Float:
		if i, ok := n.AsInt(64); ok {
			return i
		}
		if f, ok := n.AsFloat(); ok {
			return f
		}
		return n.Text
	case Text:
		return n.Text
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Value()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Value()
		}
		return m
	}
	return nil
}
