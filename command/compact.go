package command

import (
	"github.com/spf13/cobra"

	"lectern/gateway/admin"
)

func newCompact(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "compact [DIR]",
		Short: "Give the disk space of removed content back, also while serving.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return compact(s, flags, projectAt(args)) },
	}
	flags.add(c)
	return c
}

func compact(s *session, flags projectFlags, dir string) error {
	return flags.administer(s, dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		result, err := a.Compact(
			s.ctx, func(done, total int64) { p.show("copied %s of %s", megabytes(done), megabytes(total)) })
		p.clear()
		if err != nil {
			return inCommand("compact", err)
		}
		if result.After >= result.Before { // free pages were fewer than those that the copy leaves for the next writes
			p.done("the store has no space to give back, and stays at %s", megabytes(result.After))
		} else {
			p.done("compacted the store from %s to %s", megabytes(result.Before), megabytes(result.After))
		}
		return nil
	})
}
