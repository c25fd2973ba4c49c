package contenttypes_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// loadOne loads a project with one content-type of one attribute.
func loadOne(attribute string) (*contenttypes.Attribute, yamlfile.Problems) {
	model, problems := contenttypes.LoadFS(fstest.MapFS{"content-types/a.yaml": {Data: []byte(
		"kind: collectionType\ninfo: {singularName: thing, pluralName: things}\nattributes:\n  it: " + attribute +
			"\n")}}, contenttypes.Options{})
	if problems != nil {
		return nil, problems
	}
	return model.Type("api::thing.thing").Attribute("it"), nil
}

// TestRegex compares the translated expressions with the results of RegExp.prototype.test in JavaScript.
func TestRegex(t *testing.T) {
	for _, test := range []struct {
		regex   string
		match   []string
		nomatch []string
	}{
		{`^[A-Z]{3}$`, []string{"ABC"}, []string{"ABCD", "abc", "ABC\n"}},
		{`b`, []string{"abc"}, []string{"ac"}},
		{`^.$`, []string{"a", "é"}, []string{"\n", "\r", "\u2028", ""}},
		{`^\s+$`, []string{" \t\v\u00a0\ufeff\u2003"}, []string{"x", "\u200b"}},
		{`^[\S]+$`, []string{"xé\u200b"}, []string{" ", "\u00a0", "\u3000"}},
		{`^\S$`, []string{"x"}, []string{"\ufeff"}},
		{`^[^\s]+$`, []string{"x"}, []string{"\u00a0"}},
		{`^[\w-.]+$`, []string{"a-b.c_1"}, []string{"é"}},
		{`^\u00e9\x41\cJ\0$`, []string{"éA\n\x00"}, nil},
		{`^[\b]$`, []string{"\b"}, []string{"b"}},
		{`\bcat\b`, []string{"a cat"}, []string{"cats"}},
		{`^(?<year>\d{4})-(?:\d\d)$`, []string{"2026-01"}, []string{"26-01"}},
		{`^a\/b\-c\_d\e$`, []string{"a/b-c_de"}, nil},
		{`^[[:alpha:]]$`, []string{":]", "[]"}, []string{"b"}},
		{`^[^]$`, []string{"\n", "x"}, []string{""}},
		{`x[]`, nil, []string{"x", "x]"}},
		{`^a{,2}$`, []string{"a{,2}"}, []string{"aa"}},
		{`^\p{L}+$`, []string{"é"}, []string{"1"}},
		{`^(?i:abc)$`, []string{"ABC"}, nil},
		{`^[a&&b~~]+$`, []string{"&~a"}, nil},
		{`^\é$`, []string{"é"}, nil},
	} {
		t.Run(test.regex, func(t *testing.T) {
			a, problems := loadOne(fmt.Sprintf("{type: string, regex: '%s'}", test.regex))
			if problems != nil {
				t.Fatal(problems)
			}
			if a.RegexSource != test.regex {
				t.Errorf("source %s", a.RegexSource)
			}
			for _, s := range test.match {
				if !a.Regex.MatchString(s) {
					t.Errorf("%v does not match %q", a.Regex, s)
				}
			}
			for _, s := range test.nomatch {
				if a.Regex.MatchString(s) {
					t.Errorf("%v matches %q", a.Regex, s)
				}
			}
		})
	}
	for regex, want := range map[string]string{
		`a(?=b)`:                     "looks ahead or behind with (?=",
		`(?<!a)b`:                    "looks ahead or behind with (?<!",
		`(?<a>x)\k<a>`:               `refers back to a group with \k`,
		`[a`:                         "is not valid: missing closing ]",
		`*a`:                         "is not valid: missing argument to repetition operator",
		`(?i)a`:                      "has a group that JavaScript does not know: (?i)",
		`(?P<a>b)`:                   "has a group that JavaScript does not know: (?P<",
		`\u12`:                       `has \u without the 4 hexadecimal digits`,
		`\ud83d`:                     "names half of a character",
		`a\`:                         `ends in a single \`,
		`(a{500}){500}`:              "repeats",
		strings.Repeat("abcde", 500): "is longer than 2000 bytes",
	} {
		if _, problems := loadOne(fmt.Sprintf("{type: string, regex: '%s'}", regex)); !strings.Contains(
			problems.Error(), "regex "+want) {
			t.Errorf("%.20s: %v, want %s", regex, problems, want)
		}
	}
}
