package documents

import (
	"math"
	"strings"
	"testing"

	"lectern/jsontree"
)

// parsed parses the JSON of a test case.
func parsed(t *testing.T, text string) any {
	t.Helper()
	v, err := jsontree.Parse([]byte(text), jsontree.MaxDepth)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

// printed returns a value as JSON.
func printed(v any) string { return string(jsontree.Append(nil, v)) }

// said prints each issue on a line: the path, the message, and the value unless it is absent.
func said(issues []issue) string {
	var b strings.Builder
	for _, f := range issues {
		b.WriteString(strings.Join(f.path, ".") + "| " + f.message)
		if f.hasValue {
			b.WriteString(" = " + printed(f.value))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestPrintValue(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`null`, `null`},
		{`5`, `5`},
		{`1.50`, `1.5`},
		{`-0`, `-0`},
		{`1e21`, `1e+21`},
		{`true`, `true`},
		{`"a\"b\n"`, "\"a\"b\n\""},
		{`[]`, `[]`},
		{`{}`, `{}`},
		{`{"a":1}`, "{\n  \"a\": \"1\"\n}"},
		{`["x"]`, "[\n  \"\\\"x\\\"\"\n]"},
		{`{"a":[1,"x",null,true,{"b":2},[]]}`, "{\n  \"a\": [\n    \"1\",\n    \"\\\"x\\\"\",\n    \"null\",\n    \"true\",\n    {\n      \"b\": \"2\"\n    },\n    []\n  ]\n}"},
	} {
		if got := printValue(parsed(t, c.in)); got != c.want {
			t.Errorf("printValue(%s) = %s, want %s", c.in, got, c.want)
		}
	}
	if got := printValue(math.NaN()); got != "NaN" {
		t.Errorf("NaN is printed as %s", got)
	}
}

// TestPrintValueBounded prints a long text, and a deeply nested value, which indentation makes large. Both must be cut.
func TestPrintValueBounded(t *testing.T) {
	deep := strings.Repeat("[", 400) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 400)
	for _, in := range []string{deep, `"` + strings.Repeat("é", 100_000) + `"`} {
		if got := len(printValue(parsed(t, in))); got > 2*maxPrinted {
			t.Errorf("%.10s… is printed in %d bytes", in, got)
		}
	}
}

func TestPathName(t *testing.T) {
	for want, path := range map[string][]string{
		"this":                    nil,
		"name":                    {"name"},
		"closingPeriods[0].label": {"closingPeriods", "0", "label"},
		"a.b[1][2].c":             {"a", "b", "1", "2", "c"},
	} {
		if got := pathName(path); got != want {
			t.Errorf("pathName(%v) = %s, want %s", path, got, want)
		}
	}
}

func TestIssuesError(t *testing.T) {
	one := wrongType([]string{"stars"}, "number", math.NaN(), "x", true)
	two := missing([]string{"name"}, "must be defined.")
	for _, c := range []struct {
		issues           []issue
		message, details string
	}{
		{
			[]issue{one},
			"stars must be a `number` type, but the final value was: `NaN` (cast from the value `\"x\"`).",
			`{"errors":[{"path":["stars"],"message":"stars must be a ` + "`number` type, but the final value was: `NaN` (cast from the value `" + `\"x\"` + "`)." + `","name":"ValidationError","value":null}]}`,
		},
		{
			[]issue{two, two},
			"2 errors occurred",
			`{"errors":[{"path":["name"],"message":"name must be defined.","name":"ValidationError"},{"path":["name"],"message":"name must be defined.","name":"ValidationError"}]}`,
		},
	} {
		err := issuesError(c.issues)
		if err.Status != 400 || err.Name != "ValidationError" || err.Message != c.message || printed(err.Details) != c.details {
			t.Errorf("issuesError is %d %s\n%s\n%s\nwant\n%s\n%s", err.Status, err.Name, err.Message, printed(err.Details), c.message, c.details)
		}
	}
	many := issuesError(make([]issue, maxIssues+5))
	if list := many.Details.(*jsontree.Object).Value("errors").([]any); len(list) != maxIssues || many.Message != "1005 errors occurred" {
		t.Errorf("%d issues are told in %q and a list of %d", maxIssues+5, many.Message, len(list))
	}
}
