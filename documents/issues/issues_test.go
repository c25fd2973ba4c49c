package issues

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
		{`{"a":[1,"x",null,true,{"b":2},[]]}`,
			"{\n  \"a\": [\n    \"1\",\n    \"\\\"x\\\"\",\n    \"null\",\n    \"true\",\n    {\n      \"b\": \"2\"\n    },\n    []\n  ]\n}"},
	} {
		if got := Print(parsed(t, c.in)); got != c.want {
			t.Errorf("Print(%s) = %s, want %s", c.in, got, c.want)
		}
	}
	if got := Print(math.NaN()); got != "NaN" {
		t.Errorf("NaN is printed as %s", got)
	}
}

// TestPrintValueBounded prints a long text, and a deeply nested value, which indentation makes large. Both must be cut.
func TestPrintValueBounded(t *testing.T) {
	deep := strings.Repeat("[", 400) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 400)
	for _, in := range []string{deep, `"` + strings.Repeat("é", 100_000) + `"`} {
		if got := len(Print(parsed(t, in))); got > 2*maxPrinted {
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
		if got := PathName(path); got != want {
			t.Errorf("PathName(%v) = %s, want %s", path, got, want)
		}
	}
}

func TestError(t *testing.T) {
	one := WrongType([]string{"stars"}, "number", math.NaN(), "x", true)
	two := Missing([]string{"name"}, "must be defined.")
	for _, c := range []struct {
		issues           []Issue
		message, details string
	}{
		{
			[]Issue{one},
			"stars must be a `number` type, but the final value was: `NaN` (cast from the value `\"x\"`).",
			`{"errors":[{"path":["stars"],"message":"stars must be a ` +
				"`number` type, but the final value was: `NaN` (cast from the value `" + `\"x\"` + "`)." +
				`","name":"ValidationError","value":null}]}`,
		},
		{
			[]Issue{two, two},
			"2 errors occurred",
			`{"errors":[{"path":["name"],"message":"name must be defined.","name":"ValidationError"},{"path":["name"],"message":"name must be defined.","name":"ValidationError"}]}`,
		},
	} {
		err := Error(c.issues...)
		if err.Status != 400 || err.Name != "ValidationError" || err.Message != c.message ||
			printed(err.Details) != c.details {
			t.Errorf("Error is %d %s\n%s\n%s\nwant\n%s\n%s", err.Status, err.Name, err.Message, printed(err.Details),
				c.message, c.details)
		}
	}
	many := Error(make([]Issue, Max+5)...)
	if list := many.Details.(*jsontree.Object).Value("errors").([]any); len(list) != Max ||
		many.Message != "1005 errors occurred" {
		t.Errorf("%d issues are told in %q and a list of %d", Max+5, many.Message, len(list))
	}
}
