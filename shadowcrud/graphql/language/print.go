package language

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/jsontree"
)

// printValue prints a literal in GraphQL syntax, for messages.
func printValue(v *ast.Value) string {
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}

func writeValue(b *strings.Builder, v *ast.Value) {
	switch v.Kind {
	case ast.Variable:
		b.WriteByte('$')
		b.WriteString(v.Raw)
	case ast.StringValue:
		b.Write(jsontree.AppendString(nil, v.Raw))
	case ast.BlockValue:
		writeBlock(b, v.Raw)
	case ast.ListValue, ast.ObjectValue:
		open, end := "[", "]"
		if v.Kind == ast.ObjectValue {
			open, end = "{", "}"
		}
		b.WriteString(open)
		for i, c := range v.Children {
			if i > 0 {
				b.WriteString(", ")
			}
			if v.Kind == ast.ObjectValue {
				b.WriteString(c.Name)
				b.WriteString(": ")
			}
			writeValue(b, c.Value)
		}
		b.WriteString(end)
	default:
		b.WriteString(v.Raw)
	}
}

func writeBlock(b *strings.Builder, s string) {
	b.WriteString(`"""`)
	lines := strings.ContainsRune(s, '\n')
	if lines {
		b.WriteByte('\n')
	}
	b.WriteString(strings.ReplaceAll(s, `"""`, `\"""`))
	if lines || strings.HasSuffix(s, `"`) || strings.HasSuffix(s, `\`) {
		b.WriteByte('\n')
	}
	b.WriteString(`"""`)
}

// These constants bound the length of the text that inspect returns.
const (
	maxInspectedItems = 10
	maxInspectedDepth = 2
)

// maxInspected is how many bytes of a value a message quotes: an object may be quoted in many messages, once for each
// wrong key.
const maxInspected = 4 << 10

// inspectShort is inspect for a message, which quotes the beginning of a long value.
func inspectShort(v any) string {
	s := inspect(v)
	if len(s) <= maxInspected {
		return s
	}
	return strings.ToValidUTF8(s[:maxInspected], "") + "..."
}

// inspect prints the value of a variable for messages, in the format of graphql-js.
func inspect(v any) string {
	var b strings.Builder
	writeInspected(&b, v, 0)
	return b.String()
}

func writeInspected(b *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case []any:
		switch {
		case len(v) == 0:
			b.WriteString("[]")
			return
		case depth >= maxInspectedDepth:
			b.WriteString("[Array]")
			return
		}
		b.WriteByte('[')
		for i, item := range v[:min(len(v), maxInspectedItems)] {
			if i > 0 {
				b.WriteString(", ")
			}
			writeInspected(b, item, depth+1)
		}
		switch more := len(v) - maxInspectedItems; {
		case more == 1:
			b.WriteString(", ... 1 more item")
		case more > 1:
			b.WriteString(", ... ")
			b.WriteString(jsontree.FormatNumber(float64(more)))
			b.WriteString(" more items")
		}
		b.WriteByte(']')
	case *jsontree.Object:
		switch {
		case len(v.Keys) == 0:
			b.WriteString("{}")
			return
		case depth >= maxInspectedDepth:
			b.WriteString("[Object]")
			return
		}
		b.WriteString("{ ")
		for i, k := range v.Keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(k)
			b.WriteString(": ")
			writeInspected(b, v.Value(k), depth+1)
		}
		b.WriteString(" }")
	default:
		b.Write(jsontree.Append(nil, v))
	}
}

// Print prints a literal in GraphQL syntax.
func Print(v *ast.Value) string { return printValue(v) }
