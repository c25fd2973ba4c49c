package command

import (
	"fmt"
	"io"

	"lectern/store"
)

type salvageCommand struct{ outputFlags }

func (c *salvageCommand) Run(s *session) error {
	dir, file, err := c.target()
	if err != nil {
		return inCommand("salvage", err)
	}
	var saved store.Salvage
	p := newProgress(s.Stderr)
	err = s.output(file, func(w io.Writer) (err error) {
		saved, err = c.directory(s, dir).Salvage(s.ctx, p.countLines(w))
		return err
	})
	p.clear()
	for _, problem := range saved.Damage {
		fmt.Fprintln(s.Stderr, "damaged:", problem)
	}
	if err != nil {
		return inCommand("salvage", err)
	}
	s.reportLost(saved.Lost)
	p.done("read %s and %s, saved %s: an export has no roles, tokens and locales", count(saved.Rows, "version"), count(saved.Links, "link"), count(max(0, p.lines-1), "version"))
	return nil
}

// reportLost prints the versions that could not be read, and their number by type.
func (s *session) reportLost(lost []store.LostVersion) {
	var types []string
	counts := map[string]int{}
	for _, v := range lost {
		name := fmt.Sprintf("documentId %s", v.DocumentID)
		if v.DocumentID == "" {
			name = fmt.Sprintf("id %d", v.Row)
		}
		status := v.Status.String()
		if v.Locale != "" {
			status += ", " + v.Locale
		}
		fmt.Fprintf(s.Stderr, "lost: %s, %s (%s)\n", v.Type, name, status)
		if counts[v.Type]++; counts[v.Type] == 1 {
			types = append(types, v.Type)
		}
	}
	for _, t := range types {
		fmt.Fprintf(s.Stderr, "lost %s of %s\n", count(counts[t], "version"), t)
	}
}

// checkStore prints the damage in the store.
func (c *checkCommand) checkStore(s *session) error {
	problems, err := c.directory(s, c.Dir).Problems(s.ctx)
	if err != nil {
		return fmt.Errorf("check the store: %w", err)
	}
	if len(problems) == 0 {
		fmt.Fprintln(s.Stdout, "the store is whole")
		return nil
	}
	for _, problem := range problems {
		fmt.Fprintln(s.Stdout, problem)
	}
	fmt.Fprintf(s.Stderr, "%s; restore a backup, or save what can be read: %s salvage\n", count(len(problems), "problem"), s.Name)
	return errReported
}
