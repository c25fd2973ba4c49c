package yamlfile

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Print writes a mapping as YAML: one entry a line, lists of scalars in one line, and the comments of entries above
// them. Parse reads the result back to an equal Node.
func Print(root *Node) []byte {
	var p printer
	p.entries(root.Entries, "")
	return p.out.Bytes()
}

type printer struct{ out bytes.Buffer }

func (p *printer) entries(entries []Entry, indent string) {
	for _, e := range entries {
		for line := range strings.Lines(e.Comment) {
			p.out.WriteString(strings.TrimRight(indent+"# "+strings.TrimRight(line, "\r\n"), " ") + "\n")
		}
		if e.Value != nil {
			p.out.WriteString(indent + scalarText(e.Key) + ":")
			p.value(e.Value, indent)
		}
	}
}

// value writes a value after its key, or after the dash of a list item.
func (p *printer) value(n *Node, indent string) {
	switch {
	case n.Kind == Map && len(n.Entries) > 0:
		if !slices.ContainsFunc(n.Entries, func(e Entry) bool { return e.Value != nil }) {
			p.out.WriteString(" {}") // only comments follow
		}
		p.out.WriteByte('\n')
		p.entries(n.Entries, indent+"  ")
	case n.Kind == List && len(n.Items) > 0 && !flat(n):
		p.out.WriteByte('\n')
		for _, item := range n.Items {
			p.out.WriteString(indent + "  - " + Flow(item) + "\n")
		}
	default:
		p.out.WriteString(" " + Flow(n) + "\n")
	}
}

// flat reports whether a list fits in one line: it holds scalars only, and not many.
func flat(n *Node) bool {
	length := 0
	for _, item := range n.Items {
		if item.Kind >= List {
			return false
		}
		length += len(item.Text) + 2
	}
	return length <= 100
}

// Flow returns a value as YAML in one line.
func Flow(n *Node) string {
	if n.IsNull() {
		return "null"
	}
	switch n.Kind {
	case Text:
		return scalarText(n.Text)
	case List:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = Flow(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case Map:
		var entries []string
		for _, e := range n.Entries {
			if e.Value != nil {
				entries = append(entries, fmt.Sprintf("%s: %s", scalarText(e.Key), Flow(e.Value)))
			}
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
	return n.Text
}

// plainText matches texts that need no quotes in YAML, whatever surrounds them.
var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*(:?:[A-Za-z0-9_./-]+)*( [A-Za-z0-9_./()-]+)*$`)

// scalarText returns a text as a YAML scalar. It quotes those that would be read as something else. The escapes of Go's
// quoted texts have the same meaning in YAML.
func scalarText(s string) string {
	if len(s) <= 80 && plainText.MatchString(s) && plainKind(s) == Text && !yaml11[strings.ToLower(s)] {
		return s
	}
	return strconv.Quote(s)
}

// yaml11 holds the texts that older YAML parsers read as booleans. They are quoted for other programs that read the
// file.
var yaml11 = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true}

// Literal returns text so that Read gives it back unchanged, without inserting environment variables.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }
