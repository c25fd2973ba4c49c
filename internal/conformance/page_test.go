package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lectern/internal/yamlfile"
)

// Differences are the intended differences between Lectern and the reference.
type Differences struct {
	Suites []Difference // steps that are not strict
	Beyond []Deviation  // differences that no suite shows
}

// A Difference is a step of a suite that Lectern answers differently. Step is the key of the step: its name, followed
// by its index, as in "… draft #12", if the suite has several steps of that name.
type Difference struct{ Suite, Step, Reason, Ours string }

// A Deviation is a faulty behaviour of the reference, and what Lectern does instead.
type Deviation struct{ Area, Reference, Ours string }

// LoadDifferences reads differences.yaml. The error lists every problem of the file.
func LoadDifferences(file string) (*Differences, error) {
	root, problems := yamlfile.Read(os.DirFS(filepath.Dir(file)), filepath.Base(file), nil)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var d Differences
	for _, e := range root.Entries {
		switch e.Key {
		case "suites":
			for _, n := range e.Value.Items {
				var x Difference
				problems = append(problems,
					fields(n, map[string]*string{"suite": &x.Suite, "step": &x.Step, "reason": &x.Reason,
						"ours": &x.Ours})...)
				d.Suites = append(d.Suites, x)
			}
		case "beyond":
			for _, n := range e.Value.Items {
				var x Deviation
				problems = append(problems,
					fields(n, map[string]*string{"area": &x.Area, "reference": &x.Reference, "ours": &x.Ours})...)
				d.Beyond = append(d.Beyond, x)
			}
		default:
			problems = append(problems, e.Value.Problem("unknown key %q; write suites or beyond", e.Key))
		}
	}
	return &d, problems.Err()
}

// fields reads the values of a mapping that must have exactly the keys of into.
func fields(n *yamlfile.Node, into map[string]*string) yamlfile.Problems {
	var problems yamlfile.Problems
	for _, e := range n.Entries {
		if into[e.Key] == nil {
			problems = append(problems, e.Value.Problem("unknown key %q", e.Key))
			continue
		}
		*into[e.Key] = strings.TrimSpace(e.Value.Text)
	}
	for key, text := range into {
		if *text == "" {
			problems = append(problems, n.Problem("%s is missing", key))
		}
	}
	return problems.Sort()
}

const preamble = `<!-- Made by go generate ./internal/conformance from testdata/conformance/differences.yaml: edit that. -->
# Differences from the reference

Lectern answers as Strapi 5 does, wording of errors included, and the suites in testdata/conformance hold it to that. This
page lists where it does not, on purpose: where the reference answers 500, loses precision, leaks or loses data, Lectern
does the right thing instead.
`

// Markdown returns the contents of docs/differences.md.
func (d *Differences) Markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("\n## Seen by the suites\n\n")
	if len(d.Suites) == 0 {
		b.WriteString("None: every step of every suite matches.\n")
	} else {
		fmt.Fprintf(&b, "| suite | step | Lectern | because |\n|---|---|---|---|\n")
		for _, x := range d.Suites {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(x.Suite), cell(x.Step), cell(x.Ours), cell(x.Reason))
		}
	}
	b.WriteString("\n## Beyond the suites\n")
	area := ""
	for _, x := range d.Beyond {
		if x.Area != area {
			area = x.Area
			fmt.Fprintf(&b, "\n### %s\n\n| the reference | Lectern |\n|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", cell(x.Reference), cell(x.Ours))
	}
	return b.String()
}

// cell formats a text for a cell of a Markdown table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}
