package language_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"lectern/shadowcrud/graphql/language"
)

// FuzzParse checks that Parse handles every document within its limits, and that gqlparser's own rules accept each
// document that Parse accepts.
func FuzzParse(f *testing.F) {
	for _, s := range suites(f) {
		for _, step := range s.Steps {
			if g := step.Request.GraphQL; g != nil {
				f.Add(g.Query)
			}
		}
	}
	for _, text := range []string{
		"{a", "\"", `"""`, "{a(b:1a)}", "query($a:[[Int!]!]=[1]){__typename @skip(if:$a)}", "\ufeff{__typename}",
		"{\u00e9}", "{__typename}\r\n#x",
		"fragment F($x:Int) on Query{__typename} {...F}", "type X{a:Int}", "extend type Query{a:Int} {__typename}",
		`{restaurant(documentId:"\ud83d\ude00"){name}}`,
		"{...{...{...on Query{__typename}}}}", "{...F} fragment F on Query{...F}", "subscription{a}",
		"{__type(name:null){name}}",
		"subscription{restaurantChanged(filters:{name:{eq:\"x\"}},locale:\"*\"){change seq document{name}}}",
		"subscription($a:Boolean!){...F menuChanged{seq}} fragment F on Subscription{restaurantChanged @skip(if:$a){at}}",
	} {
		f.Add(text)
	}
	s, sdl := openWithSubscriptions(f)
	theirs, err := gqlparser.LoadSchema(&ast.Source{Input: sdl})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("{restaurants(filters:{visits:{eq:10000000000000000000}}){visits}}")
	longInteger := regexp.MustCompile(`[0-9]{19}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, errs := s.Parse(text, language.DefaultDocumentLimits)
		for _, e := range errs {
			if e.Message == "" || e.Code == "" {
				t.Errorf("%q: an error without words: %+v", text, e)
			}
			for _, l := range e.Locations {
				if l.Line < 1 || l.Column < 1 || l.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 ||
					l.Column > len(text)+1 {
					t.Errorf("%q: %s is said to be at %d:%d", text, e.Message, l.Line, l.Column)
				}
			}
		}
		if errs != nil {
			return
		}
		if len(d.Operations) == 0 {
			t.Errorf("%q was accepted without an operation", text)
		}
		parsed, err := parser.ParseQuery(&ast.Source{Input: text})
		if err != nil {
			t.Fatalf("%q was accepted, gqlparser says %v", text, err)
		}
		if longInteger.MatchString(text) {
			return // gqlparser limits literals of custom scalars to 64 bits, but a filter may compare a Long with any integer
		}
		if wrong := validator.ValidateWithRules(theirs, parsed, nil); len(wrong) > 0 {
			t.Errorf("%q was accepted, gqlparser says %v", text, wrong)
		}
	})
}
