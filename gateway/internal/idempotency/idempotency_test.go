package idempotency

import (
	"strings"
	"testing"

	"lectern/auth"
)

// TestParseKey reads keys in quotes, as structured fields have them, and without.
func TestParseKey(t *testing.T) {
	for header, want := range map[string]string{
		`"8e03978e-40d5-43dd-bc93-6894a57f9324"`: "8e03978e-40d5-43dd-bc93-6894a57f9324",
		"8e03978e-40d5":                          "8e03978e-40d5", "a/b+c=": "a/b+c=",
		`"a b; c, d"`: "a b; c, d", `"a\"b\\c"`: `a"b\c`, strings.Repeat("k", 255): strings.Repeat("k", 255),
	} {
		if got, err := parseKey([]string{header}); err != nil || got != want {
			t.Errorf("%s is read as %q (%v), want %q", header, got, err, want)
		}
	}
	for _, header := range []string{"", `"`, `""`, `"a`, `a"`, `"a"b"`, `"a\`, `"a\"`, `"a\b"`, "a b", "a,b", "a;b",
		`a\b`, "ä", `"ä"`, "a\x7f", "\"a\tb\"", `"a";p=1`, strings.Repeat("k", 256)} {
		if got, err := parseKey([]string{header}); err == nil ||
			!strings.Contains(err.Error(), "1 to 255 visible ASCII characters") {
			t.Errorf("%q is read as %q (%v)", header, got, err)
		}
	}
	for _, values := range [][]string{nil, {"a", "b"}} {
		if _, err := parseKey(values); err == nil {
			t.Errorf("%q is read", values)
		}
	}
}

// FuzzKey reads any text as a key. A key that is written in quotes again is read as the same key.
func FuzzKey(f *testing.F) {
	for _, header := range []string{"a", `"a b"`, `"a\"b\\c"`, `"`, "a,b"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, err := parseKey([]string{header})
		if err != nil {
			return
		}
		if key == "" || len(key) > maxKey || len(key) > len(header) {
			t.Fatalf("%q is read as %q", header, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := parseKey([]string{quoted}); err != nil || again != key {
			t.Fatalf("%q is read as %q, and %q as %q (%v)", header, key, quoted, again, err)
		}
	})
}

// TestCallersHaveOwnKeys names callers whose names and keys could be confused.
func TestCallersHaveOwnKeys(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		who auth.Principal
		key string
	}{
		{auth.Principal{}, "a"}, {auth.Principal{Token: "x"}, "a"}, {auth.Principal{Token: "xa"}, ""},
		{auth.Principal{Token: "1"}, "a"},
		{auth.Principal{User: auth.User{ID: 1}}, "a"}, {auth.Principal{User: auth.User{ID: 11}}, "a"},
		{auth.Principal{Token: "public"}, "a"}, {auth.Principal{}, "b"},
	} {
		sum := hashOf(callerName(c.who), c.key)
		name := callerName(c.who) + " " + c.key
		if other, there := seen[string(sum[:])]; there {
			t.Errorf("%s and %s are the same", name, other)
		}
		seen[string(sum[:])] = name
	}
}
