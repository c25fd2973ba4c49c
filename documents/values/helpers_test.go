package values

import (
	"strings"
	"testing"

	"lectern/documents/issues"
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
func said(list []issues.Issue) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString(strings.Join(f.Path, ".") + "| " + f.Message)
		if f.HasValue {
			b.WriteString(" = " + printed(f.Value))
		}
		b.WriteString("\n")
	}
	return b.String()
}
