package command

import (
	"fmt"
	"io"

	"lectern/gateway"
	"lectern/store"
)

type salvageCommand struct {
	Args  []string `arg:"" name:"[dir] file" help:"Project directory (default: here) and the file to write; - is the standard output."`
	Force bool     `help:"Replace the file where there is one."`
	projectFlags
}

func (c *salvageCommand) Run(s *session) error {
	dir, file, err := splitDir(c.Args, "FILE")
	if err != nil {
		return err
	}
	if err := keepFile(file, c.Force); err != nil {
		return fmt.Errorf("salvage: %w", err)
	}
	var saved store.Salvage
	salvage := func(w io.Writer) (err error) {
		saved, err = gateway.Salvage(s.ctx, dir, w, c.options(s))
		return err
	}
	if file == "-" {
		err = salvage(s.Stdout)
	} else {
		err = gateway.WriteFile(file, salvage)
	}
	for _, problem := range saved.Damage {
		fmt.Fprintln(s.Stderr, "damaged:", problem)
	}
	if err != nil {
		return fmt.Errorf("salvage: %w", err)
	}
	s.reportLost(saved.Lost)
	fmt.Fprintf(s.Stderr, "saved %s and %s\n", count(saved.Rows, "version"), count(saved.Links, "link"))
	return nil
}

// reportLost lists what could not be saved, and how many versions of each type that is.
func (s *session) reportLost(lost []store.LostVersion) {
	var types []string
	counts := map[string]int{}
	for _, v := range lost {
		name := fmt.Sprintf("documentId %s", v.DocumentID)
		if v.DocumentID == "" {
			name = fmt.Sprintf("id %d", v.Row)
		}
		status := "published"
		if v.Status == store.Draft {
			status = "draft"
		}
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

// checkStore prints all that is wrong with the store.
func (c *checkCommand) checkStore(s *session) error {
	problems, err := gateway.StoreProblems(s.ctx, c.Dir, c.options(s))
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
