package jsontree_test

import (
	"math"
	"strings"
	"testing"

	"lectern/jsontree"
)

func TestFormatNumber(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "0"}, {100, "100"}, {-1.5, "-1.5"}, {0.1, "0.1"},
		{0.30000000000000004, "0.30000000000000004"},
		{1e20, "100000000000000000000"}, {1e21, "1e+21"}, {1.5e300, "1.5e+300"}, {-1e21, "-1e+21"},
		{0.000001, "0.000001"}, {1e-7, "1e-7"}, {1.25e-10, "1.25e-10"}, {5e-324, "5e-324"},
		{math.NaN(), "NaN"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"},
	} {
		if got := jsontree.FormatNumber(c.f); got != c.want {
			t.Errorf("FormatNumber(%g) = %s, want %s", c.f, got, c.want)
		}
	}
}

func TestParseNumber(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		s    string
		want float64
	}{
		{"", 0}, {" \t\n\u00a0\ufeff\u2028", 0}, {" 7 ", 7}, {"-0", 0}, {"+5", 5}, {".5", 0.5}, {"5.", 5},
		{"1e3", 1000}, {"1E-3", 0.001},
		{"0x10", 16}, {"0XfF", 255}, {"0b101", 5}, {"0o17", 15}, {"0x0000000000000000000", 0},
		{"0x20000000000001", 9007199254740992},
		{"Infinity", inf}, {"-Infinity", -inf}, {"+Infinity", inf}, {"1e999", inf}, {"-1e999", -inf}, {"1e-999", 0},
		{"007", 7},
		{"0x1" + strings.Repeat("0", 2000), inf}, {"0b" + strings.Repeat("1", 1024), inf},
		{"9007199254740993", 9007199254740992},
	} {
		if got, ok := jsontree.ParseNumber(c.s); !ok || got != c.want {
			t.Errorf("ParseNumber(%.40q) = %v, %v; want %v", c.s, got, ok, c.want)
		}
	}
	for _, s := range []string{"abc", "1,5", "1 2", "-0x10", "0x", "0xg", "0b2", "0o8", "1_000", "inf", "infinity",
		"NaN", "1e", "e1", ".", "+", "--1", "1.2.3", "0x1p3", "12n"} {
		if got, ok := jsontree.ParseNumber(s); ok || !math.IsNaN(got) {
			t.Errorf("ParseNumber(%q) = %v, %v; want NaN", s, got, ok)
		}
	}
}

// FuzzNumber checks that ParseNumber reads what FormatNumber prints as the same number.
func FuzzNumber(f *testing.F) {
	f.Add("1e21")
	f.Add("0x1F")
	f.Add("-.5e-7")
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := jsontree.ParseNumber(s)
		if !ok {
			return
		}
		if again, ok := jsontree.ParseNumber(jsontree.FormatNumber(n)); !ok || again != n {
			t.Fatalf("%q is %v, printed %s, read back %v", s, n, jsontree.FormatNumber(n), again)
		}
	})
}
