package query

import (
	"bytes"
	"strings"
	"testing"

	"lectern/contenttypes"
)

// FuzzTextParts checks that the trigrams of a text never miss a comparison that the text meets.
func FuzzTextParts(f *testing.F) {
	for _, s := range []struct{ text, needle string }{
		{"Straße", "SS"}, {"STRASSE", "ß"}, {"İstanbul", "i̇s"}, {"i\u0307", "İ"}, {"Kelvin \u212a", "k"}, {"ΣΑΣ", "σας"},
		{"e\u0301a", "\u0301"}, {"", ""}, {"a", "A"}, {"ab", "B"}, {"\xc3\xa9", "\xa9"}, {"\xe2\x82abc", "abc"},
		{"ﬃx", "fi"}, {"a\x00b", "\x00"}, {"\xff\xfe\xff", "\xff"}, {"ŉa", "ʼn"}, {"ǰ", "j"}, {"Ω", "ω"},
	} {
		for op := range textOps {
			f.Add(s.text, s.needle, op)
		}
	}
	f.Fuzz(func(t *testing.T, text, needle string, n int) {
		op := textOps[max(0, n)%len(textOps)]
		holds := TextTest(op, needle)([]byte(text))
		parts, ok := TextParts(op, needle)
		if !ok || !holds {
			return
		}
		list := Trigrams([]byte(text))
		for _, p := range parts {
			if !hasPart(list, p) {
				t.Fatalf("%q meets %d %q, but none of its trigrams %q begins with %q", text, op, needle, list, p)
			}
		}
	})
}

// textOps are the comparisons that trigrams answer.
var textOps = []Op{Contains, ContainsI, StartsWith, StartsWithI, EndsWith, EndsWithI, EqI}

func hasPart(list []Trigram, part []byte) bool {
	for _, t := range list {
		if bytes.HasPrefix(t[:], part) {
			return true
		}
	}
	return false
}

// TestTextParts checks that the parts of a comparison tell texts apart: that a text without the needle lacks one.
func TestTextParts(t *testing.T) {
	for _, c := range []struct {
		op            Op
		needle        string
		meets, others []string
	}{
		{ContainsI, "Piz", []string{"pizza", "La PIZ"}, []string{"", "pi", "pasta", "ip z"}},
		{Contains, "zz", []string{"Pizza", "zz"}, []string{"z", "zaz"}},
		{ContainsI, "é", []string{"É", "Café"}, []string{"cafe", "ê"}},
		{StartsWithI, "Pi", []string{"pizza", "PI"}, []string{"a pizza", "p"}},
		{EndsWithI, "ZA", []string{"pizza", "za"}, []string{"pizza x", "zap", "a"}},
		{EndsWith, "a", []string{"pizza", "a"}, []string{"ab", ""}},
		{EqI, "ab", []string{"AB", "ab"}, []string{"abc", "xab", "b"}},
		{EqI, "", []string{""}, []string{"a"}},
		{EqI, "straße", []string{"STRASSE"}, []string{"strase"}},
	} {
		parts, ok := TextParts(c.op, c.needle)
		if !ok {
			t.Errorf("%d %q: no parts", c.op, c.needle)
		}
		for i, text := range append(c.meets, c.others...) {
			has := true
			for _, p := range parts {
				has = has && hasPart(Trigrams([]byte(text)), p)
			}
			if want := i < len(c.meets); has != want {
				t.Errorf("%d %q: %q has all parts: %v, want %v", c.op, c.needle, text, has, want)
			}
		}
	}
	for _, c := range []Compare{{Op: Contains, Values: []any{""}}, {Op: ContainsI, Values: []any{""}},
		{Op: NotContains, Values: []any{"abc"}}, {Op: Eq, Values: []any{"abc"}}, {Op: Contains, Values: []any{"\xff"}}} {
		c.Attr = &contenttypes.Attribute{}
		if parts, ok := TextParts(c.Op, c.Values[0].(string)); ok {
			t.Errorf("%d %q: parts %q, want none", c.Op, c.Values[0], parts)
		}
	}
	if n := len(Trigrams([]byte(strings.Repeat("ab", 500)))); n != 5 {
		t.Errorf("a text of two letters has %d trigrams, want 5", n)
	}
}
