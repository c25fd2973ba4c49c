package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lectern/store"
)

func newSalvage(s *session) *cobra.Command {
	var flags outputFlags
	c := &cobra.Command{
		Use:   "salvage [DIR] FILE",
		Short: "Export the readable content of a damaged store and list the rest. The server must be stopped.",
		Long:  outputArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return salvage(s, flags, args) },
	}
	flags.add(c)
	return c
}

func salvage(s *session, flags outputFlags, args []string) error {
	dir, file, err := flags.target(args)
	if err != nil {
		return inCommand("salvage", err)
	}
	var saved store.Salvage
	p := newProgress(s.Stderr)
	err = s.output(file, func(w io.Writer) (err error) {
		saved, err = flags.directory(s, dir).Salvage(s.ctx, p.countLines(w))
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
	p.done("read %s and %s, saved %s: an export has no roles, tokens and locales", count(saved.Rows, "version"),
		count(saved.Links, "link"), count(max(0, p.lines-1), "version"))
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
