package qs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

var parseTests = []struct{ in, want string }{
	{"", `{}`},
	{"a=1", `{"a":"1"}`},
	{"filters[owner][age][$gt]=30", `{"filters":{"owner":{"age":{"$gt":"30"}}}}`},
	{"b=1&a=2", `{"b":"1","a":"2"}`},

	// arrays
	{"a[]=1&a[]=2", `{"a":["1","2"]}`},
	{"a=1&a=2", `{"a":["1","2"]}`},
	{"a[]=1", `{"a":["1"]}`},
	{"a[0]=1", `{"a":["1"]}`},
	{"a[7]=x&a[3]=y", `{"a":["y","x"]}`},
	{"a[5000]=x", `{"a":["x"]}`},
	{"a[10]=k&a[9]=j&a[]=z", `{"a":["j","k","z"]}`},
	{"a=1&a[]=2&a[0]=3", `{"a":["1","3","2"]}`},
	{"a[0]=x&a[0]=y", `{"a":[["x","y"]]}`},
	{"a[0][b]=1&a[1][b]=2&a[0][c]=3", `{"a":[{"b":"1","c":"3"},{"b":"2"}]}`},
	{"a[][b]=1&a[][c]=2", `{"a":[{"b":"1","c":"2"}]}`},
	{"a[b][]=1&a[b][]=2&a[b]=3", `{"a":{"b":["3","1","2"]}}`},
	{"a[01]=x", `{"a":{"01":"x"}}`},
	{"a[-1]=x", `{"a":{"-1":"x"}}`},
	{"a[0]=x&a[b]=y", `{"a":{"0":"x","b":"y"}}`},
	{"a=1&a[b]=2&a[c]=3", `{"a":["1",{"b":"2","c":"3"}]}`},
	{"a[b]=2&a=1", `{"a":["1",{"b":"2"}]}`},

	// null and empty
	{"a", `{"a":null}`},
	{"a=", `{"a":""}`},
	{"a&a=1", `{"a":[null,"1"]}`},
	{"a[b]", `{"a":{"b":null}}`},
	{"a[]", `{"a":[null]}`},
	{"&&a=1&=&=x&[]=1&", `{"a":"1"}`},

	// escapes
	{"a%5Bb%5D%5B%24eq%5d=x", `{"a":{"b":{"$eq":"x"}}}`},
	{"a=1+2%2B3", `{"a":"1 2+3"}`},
	{"a+b=1", `{"a b":"1"}`},
	{"a=100%&b=%", `{"a":"100%","b":"%"}`},
	{"a=%zz%25+", `{"a":"%zz%25 "}`},
	{"a=%FF", `{"a":"%FF"}`},
	{"a%5Bb%5D[%zz]=1", `{"a":{"b":{"%zz":"1"}}}`},
	{"a=%E6%97%A5", `{"a":"日"}`},
	{"a=\xff", `{"a":"�"}`},
	{"a=x;b=y", `{"a":"x;b=y"}`},

	// odd brackets
	{"[a]=1", `{"a":"1"}`},
	{"[a][b]=1", `{"a":{"b":"1"}}`},
	{"[a=1", `{"[a":"1"}`},
	{"a]=1", `{"a]":"1"}`},
	{"a[b]]=1", `{"a":{"b":"1"}}`},
	{"a[b]c[d]=1", `{"a":{"b":{"d":"1"}}}`},
	{"a[b=1", `{"a":{"[b":"1"}}`},
	{"a[b[c]=1", `{"a":{"[b[c]":"1"}}`},
	{"a[[b]]=1", `{"a":{"[b]":"1"}}`},
	{"a[b=c]=d", `{"a":{"b=c":"d"}}`},
	{"a=b]=c", `{"a":"b]=c"}`},
	{"a[=1", `{"a":{"[":"1"}}`},

	// names are names
	{"a.b=1&a[b.c]=2", `{"a.b":"1","a":{"b.c":"2"}}`},
	{"__proto__[x]=1&a[constructor]=2", `{"__proto__":{"x":"1"},"a":{"constructor":"2"}}`},
}

func TestParse(t *testing.T) {
	for _, tt := range parseTests {
		o, err := qs.Parse(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
		} else if got := text(o); got != tt.want {
			t.Errorf("Parse(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestParseForm(t *testing.T) {
	for in, want := range map[string]string{
		"data.stars=4":                     `{"data":{"stars":"4"}}`,
		"data.address.city=a+b&data[x].y=": `{"data":{"address":{"city":"a b"},"x":{"y":""}}}`,
		"data[a.b]=1":                      `{"data":{"a.b":"1"}}`,
		"data.a[0].b=1&data.a[1].b=2":      `{"data":{"a":[{"b":"1"},{"b":"2"}]}}`,
	} {
		o, err := qs.ParseForm(in)
		if err != nil {
			t.Errorf("ParseForm(%q): %v", in, err)
		} else if got := text(o); got != want {
			t.Errorf("ParseForm(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestFields(t *testing.T) {
	o, err := qs.Fields(maps.All(map[string]string{"data[a+b].c": "100%25"}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(o), `{"data":{"a+b":{"c":"100%25"}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLimits(t *testing.T) {
	numbered := func(format string, n int) string {
		var pairs []string
		for i := range n {
			pairs = append(pairs, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return strings.Join(pairs, "&")
	}
	for _, tt := range []struct {
		name, in string
		want     error
	}{
		{"100 elements by index", numbered("a[#]=x", 100), nil},
		{"101 elements by index", numbered("a[#]=x", 101), qs.ErrTooManyElements},
		{"100 elements appended", numbered("a[]=x", 100), nil},
		{"101 elements appended", numbered("a[]=x", 101), qs.ErrTooManyElements},
		{"101 values", numbered("a=x", 101), qs.ErrTooManyElements},
		{"101 elements in both ways", numbered("a[b]=x", 60) + "&" + numbered("a[b][#]=x", 41), qs.ErrTooManyElements},
		{"1000 names", numbered("a[k#]=x", 1000), nil},
		{"1001 names", numbered("a[k#]=x", 1001), qs.ErrTooManyPairs},
	} {
		o, err := qs.Parse(tt.in)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		if err == nil && strings.Count(text(o), `"x"`) != strings.Count(tt.in, "&")+1 {
			t.Errorf("%s: values went missing", tt.name)
		}
	}

	o, err := qs.Parse("a" + strings.Repeat("[k]", 20) + "[x][y]=1")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(o); !strings.Contains(got, `{"k":{"[x][y]":"1"}}`) || strings.Count(got, `"k"`) != 20 {
		t.Errorf("the rest of a deep name: %s", got)
	}
}

func FuzzQuery(f *testing.F) {
	for _, tt := range parseTests {
		f.Add(tt.in)
	}
	f.Add("a" + strings.Repeat("[k]", 22) + "=1&a" + strings.Repeat("[k]", 20) + "=2")
	f.Add("a" + strings.Repeat("[k]", 19) + "[][k]#[kY=1&a" + strings.Repeat("[k]", 19) + "=2")
	f.Add("a" + strings.Repeat("[k]", 17) + "[2][k][][k]#[kY=1&a" + strings.Repeat("[k]", 17) + "=2")
	f.Fuzz(func(t *testing.T, in string) {
		if _, err := qs.ParseForm(in); err != nil && !errors.Is(err, qs.ErrTooManyPairs) &&
			!errors.Is(err, qs.ErrTooManyElements) {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o, err := qs.Parse(in)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10+500*uint64(len(in)) {
			t.Errorf("%d bytes take %d bytes of memory", len(in), used)
		}
		if err != nil {
			return
		}
		printed, ok := written("", 0, o)
		if !ok {
			return
		}
		again, err := qs.Parse(strings.Join(printed, "&"))
		if err != nil {
			t.Fatalf("%q prints as %q: %v", in, printed, err)
		}
		if a, b := text(o), text(again); a != b {
			t.Fatalf("%q is %s, prints as %q, which is %s", in, a, printed, b)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, s := range map[string]string{
		"plain": "filters[a][$eq]=x",
		"list":  "filters[tier][$in][0]=gold&filters[tier][$in][1]=silver&sort=name:desc&pagination[page]=2&pagination[pageSize]=25&populate[owner][fields]=firstName",
		"wide":  strings.Repeat("a[k][]=%41&", 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := qs.Parse(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// written returns pairs that the parser reads as v. Each element of an array has its index in the name. name is the
// beginning of all names, and has that many brackets. ok is false if a name would have too many brackets, or unbalanced
// ones, which have another meaning.
func written(name string, brackets int, v any) (all []string, ok bool) {
	var pairs []string
	below := func(key string, v any) bool {
		child := name + "[" + url.QueryEscape(key) + "]"
		level := brackets + 1
		if name == "" {
			child, level = url.QueryEscape(key), 0
			if strings.Contains(key, "[") {
				child, level = "["+child+"]", 1
			}
		}
		more, ok := written(child, level, v)
		pairs = append(pairs, more...)
		return ok && balanced(key)
	}
	ok = brackets <= qs.MaxLevels
	switch v := v.(type) {
	case nil:
		pairs = append(pairs, name)
	case string:
		pairs = append(pairs, name+"="+url.QueryEscape(v))
	case *jsontree.Object:
		for _, key := range v.Keys {
			ok = below(key, v.Value(key)) && ok
		}
	case []any:
		for i, x := range v {
			ok = below(strconv.Itoa(i), x) && ok
		}
	}
	return pairs, ok
}

// balanced reports whether the brackets of a key match.
func balanced(key string) bool {
	open := 0
	for i := 0; i < len(key) && open >= 0; i++ {
		switch key[i] {
		case '[':
			open++
		case ']':
			open--
		}
	}
	return open == 0
}

// text prints a tree as JSON.
func text(v any) string {
	switch v := v.(type) {
	case *jsontree.Object:
		var parts []string
		for _, k := range v.Keys {
			parts = append(parts, text(k)+":"+text(v.Value(k)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, text(x))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.Encode(v)
	return strings.TrimSpace(out.String())
}
