package movein

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"lectern/documents/transfer"
	"lectern/jsontree"
)

// ReportName is the file of the new project that holds the report.
const ReportName = "move-in.json"

// A Report says what came along.
type Report struct {
	Version     string           `json:"strapi"`     // of the Strapi that the archive is from
	ExportedAt  string           `json:"exportedAt"` // when the archive was made
	Definitions []DefinitionNote `json:"definitions"`
	Notes       []Note           `json:"notes"`
	Misfits     []Misfit         `json:"misfits"` // values that the definitions do not allow
	Roles       []Role           `json:"roles"`
	Census      Census           `json:"census"`
	Compared    int              `json:"compared"` // versions that were compared value by value
}

// A DefinitionNote says what of the definitions or settings changed or was left out.
type DefinitionNote struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// writeReport writes the report into the new project.
func (m *move) writeReport() error {
	m.report.Notes = m.notes.list()
	return writeJSON(filepath.Join(m.project(), ReportName), &m.report)
}

// Print writes the report for people: notes, and a table of what was expected and what arrived.
func (r *Report) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, n := range r.Definitions {
		fmt.Fprintf(b, "%s: %s\n", n.Level, n.Text)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(b, n)
	}
	for _, misfit := range r.Misfits {
		misfit.print(b)
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nversions\tin the source\tleft out\tarrived\t")
	for _, v := range r.Census.Versions {
		fmt.Fprintf(t, "%s %s %s\t%d\t%d\t%d\t\n", v.Type, v.Status, v.Locale, v.Source, v.LeftOut, v.Arrived)
	}
	fmt.Fprintln(t, "\nlinks\tin the source\tleft out\tjoined\tarrived\t")
	for _, l := range r.Census.Links {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", l.Field, l.Source, l.LeftOut, l.Joined, l.Arrived)
	}
	f := r.Census.Files
	fmt.Fprintf(t, "\nfiles\tin the source\tmissing\tarrived\t\nuploads\t%d\t%d\t%d\t\n", f.Source, f.Missing,
		f.Arrived)
	if err := t.Flush(); err != nil {
		return err
	}
	return b.Flush()
}

// linesOf describes problems of lines in a spool by the documents that the lines hold.
func linesOf(spool string, problems transfer.LineProblems) ([]string, error) {
	f, err := os.Open(spool)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []string
	number := 0
	err = eachLine(f, func(o *jsontree.Object) error {
		number++
		for _, p := range problems {
			if p.Line == number && len(list) < maxDifferences {
				list = append(list, fmt.Sprintf("%s: %s", describe(o), p.Message))
			}
		}
		return nil
	})
	if more := len(problems) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list, err
}
