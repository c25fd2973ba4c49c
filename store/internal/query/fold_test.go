package query_test

import (
	"strings"
	"testing"

	"lectern/store/internal/query"
)

// TestFold compares texts that differ in case alone, in letters whose fold is another letter or longer than they are.
func TestFold(t *testing.T) {
	for _, c := range []struct {
		stored, text                  string
		equal, starts, ends, contains bool
	}{
		{"ΑΣ", "ας", true, true, true, true},
		{"Ας", "ΑΣ", true, true, true, true},
		{"ασ", "ΑΣ", true, true, true, true},
		{"ΟΔΟΣ ΑΘΗΝΩΝ", "οδος", false, true, false, true},
		{"ΑΘΗΝΩΝ ΟΔΟΣ", "οδος", false, false, true, true},
		{"η οδός", "ΟΔΌΣ", false, false, true, true},
		{"Straße", "STRASSE", true, true, true, true},
		{"STRASSE", "straße", true, true, true, true},
		{"Maß", "ss", false, false, true, true},
		{"ßa", "SSA", true, true, true, true},
		{"ẞ", "ß", true, true, true, true},
		{"ﬁn", "FIN", true, true, true, true},
		{"İz", "i\u0307Z", true, true, true, true},
		{"\u212Aelvin", "kelvin", true, true, true, true}, // the Kelvin sign
		{"kelvin", "\u212AELVIN", true, true, true, true},
		{"Hello", "hELLO", true, true, true, true},
		{"Hello", "ell", false, false, false, true},
		{"Hello", "hel", false, true, false, true},
		{"Hello", "LO", false, false, true, true},
		{"Hello", "hellos", false, false, false, false},
		{"hell", "hellé", false, false, false, false},
		{"日本", "日", false, true, false, true},
		{"é", "e", false, false, false, false},
		{"", "", true, true, true, true},
		{"é", "", false, true, true, true},
	} {
		for op, want := range map[query.Op]bool{
			query.EqI: c.equal, query.NeI: !c.equal, query.StartsWithI: c.starts, query.EndsWithI: c.ends,
			query.ContainsI: c.contains, query.NotContainsI: !c.contains,
		} {
			if got := query.TextTest(op, c.text)([]byte(c.stored)); got != want {
				t.Errorf("%q, operator %d with %q: %v, want %v", c.stored, op, c.text, got, want)
			}
		}
	}
}

// TestFoldOfASCII compares long ASCII texts. Nothing is allocated.
func TestFoldOfASCII(t *testing.T) {
	stored := []byte(strings.Repeat("The Quick Brown Fox ", 20))
	for _, text := range []string{"quick", "the quick", "fox ", "ΟΔΟΣ", strings.ToLower(string(stored))} {
		for _, op := range []query.Op{query.EqI, query.NeI, query.StartsWithI, query.EndsWithI, query.ContainsI,
			query.NotContainsI} {
			test := query.TextTest(op, text)
			if n := testing.AllocsPerRun(10, func() { test(stored) }); n > 0 {
				t.Errorf("operator %d with %q: %v allocations", op, text, n)
			}
		}
	}
}
