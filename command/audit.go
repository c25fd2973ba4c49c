package command

import (
	"fmt"

	"lectern/gateway/admin"
	"lectern/store"
)

type auditCommand struct {
	Dir      string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	Since    string `help:"Only what happened after this moment: a time such as 2026-01-02T15:04:05Z, or the number of an entry." placeholder:"MOMENT"`
	Until    string `help:"Only what happened up to this moment." placeholder:"MOMENT"`
	Type     string `help:"Only entries that changed documents of this content-type, such as api::article.article." placeholder:"UID"`
	Document string `help:"Only entries that changed the document with this documentId." placeholder:"ID"`
	By       string `help:"Only entries of a kind of principal (public, token, user, command, system), or of one of them, such as user:ada." placeholder:"KIND[:NAME]"`
	Verify   bool   `help:"Verify that no entry of the log is missing or was changed, and print the hash of the last one. Keep it elsewhere."`
	Expect   string `help:"With --verify: a hash that was printed earlier. Fail unless the log still has the entry with that hash." placeholder:"HASH"`
	projectFlags
}

func (c *auditCommand) Run(s *session) error {
	filter := admin.AuditFilter{Since: c.Since, Until: c.Until, Type: c.Type, Document: c.Document, By: c.By}
	switch {
	case c.Expect != "" && !c.Verify:
		return usageError("--expect is for --verify; give both")
	case c.Verify && filter != (admin.AuditFilter{}):
		return usageError("--verify reads the whole log; leave out the other flags")
	}
	return inCommand("audit", c.administer(s, c.Dir, func(a admin.Project) error {
		if c.Verify {
			return c.verify(s, a)
		}
		return a.Audit(s.ctx, filter, s.Stdout)
	}))
}

// verify verifies the log and prints what it found.
func (c *auditCommand) verify(s *session, a admin.Project) error {
	chain, err := a.VerifyLog(s.ctx, c.Expect)
	if err != nil {
		return err
	}
	if chain.Last < chain.First {
		fmt.Fprintln(s.Stdout, "the log has no entries")
		return nil
	}
	if chain.Unchained > 0 {
		fmt.Fprintf(s.Stderr, "warning: an older version wrote the entries up to %d, which hold no hashes; the chain begins behind them\n", chain.Unchained)
	}
	if chain.Before != (store.EntryHash{}) {
		fmt.Fprintf(s.Stdout, "the entry before the oldest one, %d, had the hash %s\n", chain.First-1, chain.Before)
	}
	if c.Expect != "" {
		fmt.Fprintf(s.Stdout, "entry %d has the expected hash\n", chain.Expected)
	}
	fmt.Fprintf(s.Stdout, "entries %d to %d are whole\n%s\n", chain.First, chain.Last, chain.Head)
	return nil
}
