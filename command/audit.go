package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
	"lectern/store"
)

type auditCommand struct {
	filter admin.AuditFilter
	verify bool
	expect string
	projectFlags
}

func newAudit(s *session) *cobra.Command {
	var a auditCommand
	c := &cobra.Command{
		Use:   "audit [DIR]",
		Short: "Print who changed what as JSON Lines, or verify that the log is whole, also while serving.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return inCommand("audit", a.run(s, projectAt(args))) },
	}
	f := c.Flags()
	f.StringVar(&a.filter.Since, "since", "",
		"Only what happened after this `MOMENT`: a time such as 2026-01-02T15:04:05Z, or the number of an entry.")
	f.StringVar(&a.filter.Until, "until", "", "Only what happened up to this `MOMENT`.")
	f.StringVar(&a.filter.Type, "type", "",
		"Only entries that changed documents of the content-type `UID`, such as api::article.article.")
	f.StringVar(&a.filter.Document, "document", "", "Only entries that changed the document with the documentId `ID`.")
	f.StringVar(&a.filter.By, "by", "",
		"Only entries of a kind of principal (public, token, user, command, system), "+
			"or of one of them as `KIND[:NAME]`, such as user:ada.")
	f.BoolVar(&a.verify, "verify", false,
		"Verify that no entry of the log is missing or was changed, and print the hash of the last one. Keep it elsewhere.")
	f.StringVar(&a.expect, "expect", "",
		"With --verify: a `HASH` that was printed earlier. Fail unless the log still has the entry with that hash.")
	a.add(c)
	return c
}

func (c *auditCommand) run(s *session, dir string) error {
	switch {
	case c.expect != "" && !c.verify:
		return usageError("--expect is for --verify; give both")
	case c.verify && c.filter != (admin.AuditFilter{}):
		return usageError("--verify reads the whole log; leave out the other flags")
	}
	return c.administer(s, dir, func(a admin.Project) error {
		if c.verify {
			return c.printVerified(s, a)
		}
		return a.Audit(s.ctx, c.filter, s.Stdout)
	})
}

// printVerified verifies the log and prints what it found.
func (c *auditCommand) printVerified(s *session, a admin.Project) error {
	chain, err := a.VerifyLog(s.ctx, c.expect)
	if err != nil {
		return err
	}
	if chain.Last < chain.First {
		fmt.Fprintln(s.Stdout, "the log has no entries")
		return nil
	}
	if chain.Before != (store.EntryHash{}) {
		fmt.Fprintf(s.Stdout, "the entry before the oldest one, %d, had the hash %s\n", chain.First-1, chain.Before)
	}
	if c.expect != "" {
		fmt.Fprintf(s.Stdout, "entry %d has the expected hash\n", chain.Expected)
	}
	fmt.Fprintf(s.Stdout, "entries %d to %d are whole\n%s\n", chain.First, chain.Last, chain.Head)
	return nil
}
