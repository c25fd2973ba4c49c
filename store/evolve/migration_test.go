package evolve_test

import (
	"slices"
	"strings"
	"testing"

	"lectern/store/evolve"
)

// TestParseMigrations reads command lines of several operations and prints them as a shell takes them.
func TestParseMigrations(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string // printed, or the error
	}{
		{[]string{"rename-type", "a", "b", "drop-type", "c"}, "rename-type a b drop-type c"},
		{[]string{"rename-value", "a.b", "two words", "-x", "accept-names", "c"},
			"-- rename-value a.b 'two words' -x accept-names c"},
		{[]string{"fill", "a.b", "fill", "a.c", "5", "fill", "a.d"}, "fill a.b fill a.c 5 fill a.d"},
		{[]string{"fill", "a.b", "it's"}, `fill a.b 'it'\''s'`},
		{nil, "no operation is named"},
		{[]string{"rename-type", "a"}, "rename-type takes UID NEW-UID; got 1 argument"},
		{[]string{"drop-type", "a", "b"}, `there is no operation "b"; drop-type takes UID`},
		{[]string{"drop-typ", "a"}, `there is no operation "drop-typ"`},
		{[]string{"fill"}, "fill takes ATTRIBUTE [VALUE]; got 0 arguments"},
	} {
		ms, err := evolve.ParseMigrations(test.words)
		got := ms.String()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q: %s, want %s", test.words, got, test.want)
		}
	}
}

// FuzzParseMigrations: what is read is what was said.
func FuzzParseMigrations(f *testing.F) {
	f.Add("rename-type\na\nb\nfill\na.b\n-5\ndrop-value\na.b\nx y")
	f.Add("fill\na.b\nfill\na.c")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\n")
		ms, err := evolve.ParseMigrations(words)
		if err != nil {
			return
		}
		var said []string
		for _, m := range ms {
			said = append(append(said, m.Op), m.Args...)
		}
		if !slices.Equal(said, words) || ms.String() == "" {
			t.Errorf("%q is read as %q", words, said)
		}
	})
}
