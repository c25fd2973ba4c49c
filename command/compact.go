package command

import "lectern/gateway/admin"

type compactCommand struct {
	Dir string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	projectFlags
}

func (c *compactCommand) Run(s *session) error {
	return c.administer(s, c.Dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		result, err := a.Compact(s.ctx, func(done, total int64) { p.show("copied %s of %s", megabytes(done), megabytes(total)) })
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
