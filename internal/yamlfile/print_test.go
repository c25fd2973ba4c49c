package yamlfile

import (
	"testing"
)

// TestPrint prints values that are easily read back as others.
func TestPrint(t *testing.T) {
	const in = `{"plain": "two words", "on": "yes", "number": 1.50, "numeric": "1.50", "null": "null", "colon": "a: b", "hash": "a #b",
		"uid": "api::article.article", "quote": "it's \"so\"", "lines": "a\nb\u0007\u2028", "astral": "😀", "dash": "- a", "empty": "", "space": " a ",
		"list": ["a", 1, true, null, "true"], "nested": [{"a": [1]}, []], "map": {}, "deep": {"a": {"b": "c"}}, "a key: of a kind": false, "brace": "{a"}`
	n, problems := Parse("in.json", []byte(in), nil)
	if problems != nil {
		t.Fatal(problems)
	}
	back, problems := Parse("out.yaml", Print(n), nil)
	if problems != nil {
		t.Fatalf("%v in\n%s", problems, Print(n))
	}
	if Flow(back) != Flow(n) {
		t.Errorf("read back as\n%s\nwant\n%s", Flow(back), Flow(n))
	}
}

func TestPrintComments(t *testing.T) {
	n := &Node{Kind: Map, Entries: []Entry{
		{Key: "a", Value: &Node{Kind: Text, Text: "x"}, Comment: "first\nsecond"},
		{Key: "b", Value: &Node{Kind: Map, Entries: []Entry{{Comment: "alone"}}}},
		{Comment: "at the end"},
	}}
	want := "# first\n# second\na: x\nb: {}\n  # alone\n# at the end\n"
	if got := string(Print(n)); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// FuzzPrint prints what Parse reads from JSON, and reads it back.
func FuzzPrint(f *testing.F) {
	f.Add(`{"a": ["b", {"c": "~"}], "0x1": "- d", "e": "#"}`)
	f.Add("{\"\": \"\\u0085\\ufeff\", \"*a\": \"&b\", \"%\": \"!c\", \"<<\": \"@\"}")
	f.Fuzz(func(t *testing.T, in string) {
		n, problems := Parse("in.json", []byte(in), nil)
		if problems != nil || n.Kind != Map || len(n.Entries) == 0 {
			return
		}
		back, problems := Parse("out.yaml", Print(n), nil)
		if problems != nil {
			t.Fatalf("%v in\n%s", problems, Print(n))
		}
		if Flow(back) != Flow(n) {
			t.Errorf("read back as\n%s\nwant\n%s", Flow(back), Flow(n))
		}
	})
}
