package govalues_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphql-go/graphql"
	"github.com/graphql-go/graphql/language/ast"

	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/govalues"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
)

// newConverter returns a converter of a schema whose field Query.f has arguments of many types.
func newConverter(t *testing.T) *govalues.Converter {
	t.Helper()
	model := storetest.Model(t, storetest.Files(map[string]string{
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
			"attributes: {big: {type: biginteger}, day: {type: date}, at: {type: datetime}, hour: {type: time}, " +
			"any: {type: json}}\n",
	}))
	size := graphql.NewEnum(graphql.EnumConfig{Name: "Size",
		Values: graphql.EnumValueConfigMap{"SMALL": {Value: 1}, "LARGE": {Value: 2}}})
	cents := graphql.NewScalar(graphql.ScalarConfig{Name: "Cents",
		Serialize: func(v any) any {
			if v == "none" {
				return nil
			}
			return fmt.Sprintf("%v ct", v)
		},
		ParseValue: func(v any) any {
			if n, ok := v.(int); ok {
				return n * 2
			}
			return nil
		},
		ParseLiteral: func(ast.Value) any { return nil }})
	var e schema.Extensions
	e.Use(schema.Extension{
		Types: []graphql.Type{size, cents},
		TypeDefs: "input Span { from: Int, to: Int, inner: Span, note: String }\n" +
			"extend type Query { f(int: Int, long: Long, float: Float, bool: Boolean, text: String, day: Date, " +
			"json: JSON, ints: [Int], size: Size, sizes: [Size!], cents: Cents, span: Span): Int }",
		Resolvers: schema.Resolvers{"Query": {"f": func(graphql.ResolveParams) (any, error) { return nil, nil }}},
	})
	built, err := schema.Build(model, schema.Options{Extensions: &e})
	if err != nil {
		t.Fatal(err)
	}
	return &govalues.Converter{Schema: built, Language: language.New(built)}
}

// arguments returns the field f with the arguments that a query gives it.
func arguments(t *testing.T, c *govalues.Converter, given string) (*plan.Field, plan.Arguments) {
	t.Helper()
	doc, errs := c.Language.Parse("{f"+given+"}", language.DefaultDocumentLimits)
	if errs != nil {
		t.Fatalf("%s: %s", given, errs[0].Message)
	}
	op, wrong := doc.Operation(nil)
	if wrong != nil {
		t.Fatal(wrong.Message)
	}
	var p plan.Plan
	p.Compile(c.Schema, c.Language, doc, op, nil)
	f := p.Root.Fields[0]
	args, err := f.Arguments(c.Language, nil)
	if err != nil {
		t.Fatalf("%s: %v", given, err)
	}
	return f, args
}

// TestResolversGetGoValues gives each type of argument to a resolver.
func TestResolversGetGoValues(t *testing.T) {
	c := newConverter(t)
	for given, want := range map[string]map[string]any{
		"":                                 {},
		"(int:5)":                          {"int": 5},
		"(int:null)":                       {"int": nil},
		`(long:"9007199254740993")`:        {"long": int64(9007199254740993)},
		"(float:1)":                        {"float": 1.0},
		"(bool:true)":                      {"bool": true},
		`(text:"a")`:                       {"text": "a"},
		`(day:"2026-01-02")`:               {"day": "2026-01-02"},
		`(json:{a:[1,"x",null]})`:          {"json": map[string]any{"a": []any{1.0, "x", nil}}},
		"(ints:[1,null,2])":                {"ints": []any{1, nil, 2}},
		"(ints:3)":                         {"ints": []any{3}},
		"(size:LARGE)":                     {"size": 2},
		"(sizes:[LARGE,SMALL])":            {"sizes": []any{2, 1}},
		"(cents:4)":                        {"cents": 8},
		"(span:{from:1,inner:{to:2}})":     {"span": map[string]any{"from": 1, "inner": map[string]any{"to": 2}}},
		`(int:1,text:"b",span:{note:"n"})`: {"int": 1, "text": "b", "span": map[string]any{"note": "n"}},
	} {
		f, args := arguments(t, c, given)
		if got, err := c.GoArguments(f, args); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v (%v), want %#v", given, got, err, want)
		}
	}
	f, args := arguments(t, c, `(cents:"x")`)
	if _, err := c.GoArguments(f, args); err == nil ||
		!strings.Contains(err.Error(), `Argument "cents" has invalid value; Expected type "Cents".`) {
		t.Errorf("a value that the scalar of a program refuses: %v", err)
	}
}

// TestChangedArguments passes arguments on as a middleware changed them. What it left alone stays as it was sent.
func TestChangedArguments(t *testing.T) {
	c := newConverter(t)
	for _, tc := range []struct {
		given  string
		change func(map[string]any)
		want   string // the arguments as JSON, or the error
	}{
		{`(json:{b:1.50,a:2},long:"9007199254740993")`, func(map[string]any) {},
			`long=9007199254740993 json={"b":1.5,"a":2}`},
		{`(json:{b:1.50,a:2})`, func(a map[string]any) { a["int"] = 7 }, `int=7 json={"b":1.5,"a":2}`},
		{`(int:1,text:"a")`, func(a map[string]any) { delete(a, "int"); a["text"] = "b" }, `text="b"`},
		{`(int:1)`, func(a map[string]any) { a["int"] = nil }, `int=null`},
		{`(int:1)`, func(a map[string]any) { a["int"] = (*int)(nil) }, `int=null`},
		{`(sizes:[SMALL])`, func(a map[string]any) { a["sizes"] = []int{2, 1} }, `sizes=["LARGE","SMALL"]`},
		{`(span:{note:"n",from:1})`, func(a map[string]any) { a["span"].(map[string]any)["to"] = 2 },
			`span={"from":1,"to":2,"note":"n"}`},
		{`(ints:[1,2])`, func(a map[string]any) { a["ints"] = [3]int{1, 5, 6} }, `ints=[1,5,6]`},
		{`(int:1)`, func(a map[string]any) { a["other"] = 1 }, `error: there is no argument "other"`},
		{`(int:1)`, func(a map[string]any) { a["int"] = "x" }, `error: Int cannot represent`},
		{`(ints:[1])`, func(a map[string]any) { a["ints"] = 5 }, `error: ints: int is no list`},
		{`(span:{from:1})`, func(a map[string]any) { a["span"] = 5 }, `error: span: int is none of a Span`},
		{`(span:{from:1})`, func(a map[string]any) { a["span"] = map[string]any{"by": 1} },
			`error: span: Span has no field "by"`},
		{`(text:"a")`, func(a map[string]any) { a["text"] = func() {} }, `error: text: json: unsupported type`},
	} {
		f, sent := arguments(t, c, tc.given)
		before, err := c.GoArguments(f, sent)
		if err != nil {
			t.Fatal(err)
		}
		args, err := c.GoArguments(f, sent)
		if err != nil {
			t.Fatal(err)
		}
		tc.change(args)
		changed, err := c.ChangedArguments(f, args, before, sent)
		var texts []string
		for _, a := range changed {
			texts = append(texts, a.Name+"="+string(jsontree.Append(nil, a.Value)))
		}
		got := strings.Join(texts, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != tc.want && (err == nil || !strings.Contains(got, strings.TrimPrefix(tc.want, "error: "))) {
			t.Errorf("%s: %s, want %s", tc.given, got, tc.want)
		}
	}
}

type word string

type date struct{}

func (date) MarshalText() ([]byte, error) { return []byte("2026-01-02"), nil }

// TestLeavesAreCoerced prints what resolvers return, as graphql-js does.
func TestLeavesAreCoerced(t *testing.T) {
	c := newConverter(t)
	at, five := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), 5
	for _, tc := range []struct {
		typ  string
		v    any
		want string // JSON, or the error
	}{
		{"String", "a\"b", `"a\"b"`}, {"String", word("w"), `"w"`}, {"String", 5, `"5"`}, {"String", true, `"true"`},
		{"String", 1.5, `"1.5"`}, {"String", &five, `"5"`}, {"String", []int{1}, "String cannot represent value: […]"},
		{"ID", 5, `"5"`}, {"ID", "x", `"x"`}, {"ID", 2.0, `"2"`}, {"ID", 1.5, "ID cannot represent value: 1.5"},
		{"ID", true, "ID cannot represent value: true"},
		{"Boolean", true, "true"}, {"Boolean", 0, "false"}, {"Boolean", 2.5, "true"},
		{"Boolean", "true", `Boolean cannot represent a non boolean value: "true"`},
		{"Int", 5, "5"}, {"Int", "7", "7"}, {"Int", true, "1"}, {"Int", uint8(3), "3"},
		{"Int", 1.5, "Int cannot represent non-integer value: 1.5"},
		{"Int", math.MaxInt32, "2147483647"},
		{"Int", int64(math.MaxInt32 + 1), "Int cannot represent non 32-bit signed integer value: 2147483648"},
		{"Int", int64(math.MinInt32 - 1), "Int cannot represent non 32-bit signed integer value: -2147483649"},
		{"Int", "", `Int cannot represent non-integer value: ""`},
		{"Float", 1.5, "1.5"}, {"Float", 2, "2"}, {"Float", "2.5", "2.5"}, {"Float", false, "0"},
		{"Float", math.NaN(), "Float cannot represent non numeric value: NaN"},
		{"Float", math.Inf(1), "Float cannot represent non numeric value: +Inf"},
		{"Float", strings.Repeat("x", 100), "Float cannot represent non numeric value: {…}"},
		{"Long", int64(5), "5"}, {"Long", int64(1) << 53, `"9007199254740992"`}, {"Long", "12", "12"},
		{"Long", "x", `Long cannot represent value: "x"`},
		{"Date", at, `"2026-01-02"`}, {"Date", date{}, `"2026-01-02"`}, {"Date", "2026-01-02", `"2026-01-02"`},
		{"Date", "yesterday", `Date cannot represent value: "yesterday"`},
		{"Time", at, `"03:04:05.006"`}, {"DateTime", at.In(time.FixedZone("", 3600)), `"2026-01-02T03:04:05.006Z"`},
		{"JSON", map[string]any{"b": []any{1, nil}, "a": jsontree.Number("1.50")}, `{"a":1.5,"b":[1,null]}`},
		{"JSON", jsontree.ObjectOf("b", 1.0, "a", "x"), `{"b":1,"a":"x"}`},
		{"JSON", make(chan int), "json: unsupported type: chan int"},
		{"Size", 2, `"LARGE"`}, {"Size", 3, `Enum "Size" cannot represent value: 3`},
		{"Cents", 4, `"4 ct"`}, {"Cents", "none", ""},
	} {
		raw, err := c.Leaf(c.Language.Type(tc.typ), tc.v)
		got := string(raw)
		if err != nil {
			got = err.Error()
			var coercion govalues.CoercionError
			if strings.Contains(got, "cannot represent") && !errors.As(err, &coercion) {
				t.Errorf("%s of %v: a %T", tc.typ, tc.v, err)
			}
		}
		if got != tc.want {
			t.Errorf("%s of %v: %s, want %s", tc.typ, tc.v, got, tc.want)
		}
	}
}

// TestIsNil expects nil in any form.
func TestIsNil(t *testing.T) {
	var (
		pointer *int
		list    []int
		members map[string]int
		call    func()
	)
	for i, v := range []any{nil, pointer, list, members, call} {
		if !govalues.IsNil(v) {
			t.Errorf("%d: %T is not nil", i, v)
		}
	}
	values := []any{0, "", false, []int{}, map[string]int{}, new(int), struct{}{}}
	if i := slices.IndexFunc(values, govalues.IsNil); i >= 0 {
		t.Errorf("value %d is nil", i)
	}
}
