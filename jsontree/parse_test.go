package jsontree_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"lectern/jsontree"
)

func TestParsePrints(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`null`, `null`},
		{` [ true , false ] `, `[true,false]`},
		{`{"b":1,"a":{"c":[]},"b":2}`, `{"b":2,"a":{"c":[]}}`},
		{`{"10":1,"9":2}`, `{"10":1,"9":2}`},
		{`{"":""}`, `{"":""}`},
		{`"\u00e9\/\b\f\n\r\t\"\\\u0001"`, `"é/\b\f\n\r\t\"\\\u0001"`},
		{`"<b>&\u2028"`, "\"<b>&\u2028\""},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\ud83d"`, `"�"`},
		{`"\ud83dx\ude00"`, `"�x�"`},
		{`"\ud83d\ud83d\ude00"`, `"�😀"`},
		{`"\ude00\ud83d"`, `"��"`},
		{"\"a\xffb\"", `"a�b"`},
		{"\"\xed\xa0\x80\\n\"", `"���\n"`},
		{`[0,-0,1.0,1e2,1E-7,1.5e+21,0.30000000000000004]`, `[0,0,1,100,1e-7,1.5e+21,0.30000000000000004]`},
		{`[9007199254740993,-9223372036854775808,123456789012345678901234567890]`,
			`[9007199254740993,-9223372036854775808,123456789012345678901234567890]`},
		{`[1e400,-1e400]`, `[null,null]`},
	} {
		v, err := jsontree.Parse([]byte(c.in), jsontree.MaxDepth)
		if err != nil {
			t.Errorf("Parse(%s): %v", c.in, err)
			continue
		}
		if out := string(jsontree.Append(nil, v)); out != c.out {
			t.Errorf("Parse(%s) prints %s, want %s", c.in, out, c.out)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, message string }{
		{``, "Unexpected end of JSON input"},
		{`{"data":`, "Unexpected end of JSON input"},
		{`[tru`, "Unexpected end of JSON input"},
		{`["\`, "Unexpected end of JSON input"},
		{`{`, "Expected property name or '}' in JSON at position 1"},
		{`{1:2}`, "Expected property name or '}' in JSON at position 1"},
		{`{"a"1}`, "Expected ':' after property name in JSON at position 4"},
		{`{"a":1 , "b" 5}`, "Unexpected number in JSON at position 13"},
		{`{"a":1 , "b" "c"}`, "Unexpected string in JSON at position 13"},
		{`{"a":1,}`, "Expected double-quoted property name in JSON at position 7"},
		{`{"a":1 2}`, "Expected ',' or '}' after property value in JSON at position 7"},
		{`[1 2]`, "Expected ',' or ']' after array element in JSON at position 3"},
		{`[1`, "Expected ',' or ']' after array element in JSON at position 2"},
		{`{"a":}`, `Unexpected token '}', "{"a":}" is not valid JSON`},
		{`[1,]`, `Unexpected token ']', "[1,]" is not valid JSON`},
		{`[trux]`, `Unexpected token 'x', "[trux]" is not valid JSON`},
		{`[tr1]`, "Unexpected number in JSON at position 3"},
		{`undefined`, `"undefined" is not valid JSON`},
		{strings.Repeat("x", 30), `Unexpected token 'x', "xxxxxxxxxx"... is not valid JSON`},
		{`[111111111111111,b,1111111111111111]`,
			`Unexpected token 'b', ..."111111111,b,11111111"... is not valid JSON`},
		{`[1111111111111111111111111111,b]`, `Unexpected token 'b', ..."111111111,b]" is not valid JSON`},
		{`["😀",😀]`, `Unexpected token '�', "["😀",😀]" is not valid JSON`},
		{`["😀" 1]`, "Expected ',' or ']' after array element in JSON at position 6"},
		{`"ab`, "Unterminated string in JSON at position 3"},
		{`"é\t`, "Unterminated string in JSON at position 4"},
		{"[\"a\nb\"]", "Bad control character in string literal in JSON at position 3"},
		{"\"\\t\n\"", "Bad control character in string literal in JSON at position 3"},
		{`"\x"`, "Bad escaped character in JSON at position 2"},
		{`"\é"`, "Bad escaped character in JSON at position 2"},
		{`"\Ω"`, `Unexpected token 'Ω', ""\Ω"" is not valid JSON`},
		{`"\u12g4"`, "Bad Unicode escape in JSON at position 5"},
		{`"\ud83d\u12`, "Bad Unicode escape in JSON at position 11"},
		{`[01]`, "Unexpected number in JSON at position 2"},
		{`-`, "No number after minus sign in JSON at position 1"},
		{`[1.]`, "Unterminated fractional number in JSON at position 3"},
		{`[1e+]`, "Exponent part is missing a number in JSON at position 4"},
		{`{}{}`, "Unexpected non-whitespace character after JSON at position 2"},
		{"\u00a0[]", "Unexpected token '\u00a0', \"\u00a0[]\" is not valid JSON"},
	} {
		_, err := jsontree.Parse([]byte(c.in), jsontree.MaxDepth)
		var syntax *jsontree.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%s) = %v, want a *SyntaxError", c.in, err)
		} else if syntax.Message != c.message {
			t.Errorf("Parse(%s):\n got %s\nwant %s", c.in, syntax.Message, c.message)
		}
	}
}

func TestParseDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := jsontree.Parse(nested(500), 500); err != nil {
		t.Errorf("500 levels of 500: %v", err)
	}
	if _, err := jsontree.Parse(nested(501), 500); err == nil {
		t.Error("501 levels of 500 pass")
	}
	if _, err := jsontree.Parse(nested(10_000), jsontree.MaxDepth); err == nil {
		t.Error("10000 levels pass")
	}
	siblings := []byte("[" + strings.Repeat("[],", 1000) + "{}]")
	if _, err := jsontree.Parse(siblings, 2); err != nil {
		t.Errorf("a thousand lists side by side: %v", err)
	}
}

func TestParsePrototype(t *testing.T) {
	for _, in := range []string{`{"__proto__":1}`, `{"a":[{"\u005f_proto__":{}}]}`} {
		v, err := jsontree.Parse([]byte(in), jsontree.MaxDepth)
		if !errors.Is(err, jsontree.ErrPrototype) || v == nil {
			t.Errorf("Parse(%s) = %v, %v; want a value and ErrPrototype", in, v, err)
		}
	}
	if _, err := jsontree.Parse([]byte(`{"a":"__proto__"}`), jsontree.MaxDepth); err != nil {
		t.Errorf("__proto__ as a value: %v", err)
	}
	if _, err := jsontree.Parse([]byte(`{"__proto__":1,}`), jsontree.MaxDepth); errors.Is(err, jsontree.ErrPrototype) {
		t.Error("a syntax error does not come before ErrPrototype")
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`null`, `null`, true},
		{`null`, `false`, false},
		{`1`, `1.0`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`"1"`, `1`, false},
		{`{"a":1,"b":[2]}`, `{"b":[2],"a":1}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
	} {
		a, errA := jsontree.Parse([]byte(c.a), 9)
		b, errB := jsontree.Parse([]byte(c.b), 9)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if got := jsontree.Equal(a, b); got != c.want {
			t.Errorf("Equal(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

// FuzzParse checks that Parse accepts what encoding/json accepts, apart from the depth limit, and that printing is
// stable: the printed value is valid UTF-8, parses to an equal value and prints the same again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+10,"x\u00e9\ud83d\ude00",null,true],"b":{}}`, `[[[]]`, `"\ud83d"`, "\"\xff\"",
		`9007199254740993`, `{"a":1,"a":2}`, `[1e999]`, `01`,
		strings.Repeat("4", 330) + ".4",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := jsontree.Parse(in, jsontree.MaxDepth)
		if err != nil && !errors.Is(err, jsontree.ErrPrototype) {
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("message is not UTF-8: %q", err)
			}
			if json.Valid(in) && !strings.HasPrefix(err.Error(), "Too deeply") {
				t.Fatalf("Parse(%q): %v, but encoding/json takes it", in, err)
			}
			return
		}
		if !json.Valid(in) {
			t.Fatalf("Parse(%q) passes, but encoding/json refuses it", in)
		}
		out := jsontree.Append(nil, v)
		if !utf8.Valid(out) {
			t.Fatalf("%q prints invalid UTF-8: %q", in, out)
		}
		again, err := jsontree.Parse(out, jsontree.MaxDepth)
		if err != nil && !errors.Is(err, jsontree.ErrPrototype) {
			t.Fatalf("%q prints %q: %v", in, out, err)
		}
		// Numbers beyond float64 print as null, so the printed values are compared.
		if twice := jsontree.Append(nil, again); string(twice) != string(out) {
			t.Fatalf("%q prints %q, then %q", in, out, twice)
		}
		if !beyondFloat64(v) && !jsontree.Equal(v, again) {
			t.Fatalf("%q is not what it prints: %q", in, out)
		}
	})
}

// beyondFloat64 reports whether v contains a number that is too large for a float64.
func beyondFloat64(v any) bool {
	switch v := v.(type) {
	case jsontree.Number:
		_, err := strconv.ParseFloat(string(v), 64)
		return err != nil
	case []any:
		return slices.ContainsFunc(v, beyondFloat64)
	case *jsontree.Object:
		for _, key := range v.Keys {
			value := v.Value(key)
			if beyondFloat64(value) {
				return true
			}
		}
	}
	return false
}

var document = []byte(
	`{"data":{"name":"Osteria da Giulia","slug":"osteria-da-giulia","seats":42,"rating":4.5,"vegan":false,"tier":"gold",` +
		`"description":[{"type":"paragraph","children":[{"type":"text","text":"Fresh pasta, every day.\nSince 1987."}]}],` +
		`"address":{"street":"Via Roma 1","city":"Torino","geo":{"lat":45.0703,"lng":7.6869}},"categories":["abcdefghijklmnopqrstuvwx",{"id":5}]}}`)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if _, err := jsontree.Parse(document, jsontree.MaxDepth); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	v, err := jsontree.Parse(document, jsontree.MaxDepth)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(document)))
	var buf []byte
	for b.Loop() {
		buf = jsontree.Append(buf[:0], v)
	}
}

func BenchmarkAppendString(b *testing.B) {
	b.ReportAllocs()
	s := strings.Repeat("Fresh pasta, every day. ", 40)
	b.SetBytes(int64(len(s)))
	var buf []byte
	for b.Loop() {
		buf = jsontree.AppendString(buf[:0], s)
	}
}
