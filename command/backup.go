package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lectern/backup"
	"lectern/gateway/admin"
	"lectern/internal/objects"
)

type backupCommand struct {
	follow      string
	every, keep lifespan
	outputFlags
}

func newBackup(s *session) *cobra.Command {
	b := backupCommand{every: lifespan(24 * time.Hour), keep: lifespan(7 * 24 * time.Hour)}
	c := &cobra.Command{
		Use:   "backup [DIR] FILE",
		Short: "Write one file with a consistent copy of store and uploads, also while serving.",
		Long:  outputArguments + " With --follow there is no FILE.",
		RunE:  func(_ *cobra.Command, args []string) error { return b.run(s, args) },
	}
	c.Flags().StringVar(&b.follow, "follow", "",
		"Back up continuously into `PLACE`, a directory or s3://BUCKET/PREFIX, until the command is stopped: "+
			"each write a moment after it was made.")
	c.Flags().Var(&b.every, "every", "With --follow, take a new base this `TIME` after the last one.")
	c.Flags().Var(&b.keep, "keep", "With --follow, keep what is needed to restore each state of this `TIME`.")
	b.add(c)
	return c
}

func (c *backupCommand) run(s *session, args []string) error {
	if c.follow != "" {
		return inCommand("backup", c.ship(s, args))
	}
	dir, file, err := c.target(args)
	if err != nil {
		return inCommand("backup", err)
	}
	return c.administer(s, dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		err := s.output(file, func(w io.Writer) error { return a.Backup(s.ctx, p.countBytes(w)) })
		if err != nil {
			return inCommand("backup", err)
		}
		p.done("backed up %s", megabytes(p.bytes))
		return sayMissing(s, p, a, func(n admin.Uploads) (int, string) {
			return n.Elsewhere, "they lie in a bucket, and what they hold is not in the backup; keep versions of the bucket"
		}, func(n admin.Uploads) (int, string) {
			return n.Missing, "they have documents and are not in the directory of uploads; put them back there, " +
				"or mount its disk, and take another backup"
		})
	})
}

// ship writes a continuous backup until the command is stopped.
func (c *backupCommand) ship(s *session, args []string) error {
	dir := "."
	switch len(args) {
	case 0:
	case 1:
		dir = args[0]
	default:
		return usageError(fmt.Sprintf("want [DIR] with --follow, got %d arguments", len(args)))
	}
	to, err := objects.At(c.follow, os.Getenv, true)
	if err != nil {
		return fmt.Errorf("open the place of the backup: %w", err)
	}
	p := newProgress(s.Stderr)
	if !p.terminal {
		p.every = time.Minute
	}
	reports := make(chan backup.Progress)
	done := make(chan struct{})
	go func() { // prints, because several goroutines report
		defer close(done)
		for r := range reports {
			if r.Note != "" {
				p.done("%s", r.Note)
				continue
			}
			p.show("%s up to entry %d, %.1f s behind, %s", count(r.Entries, "entry"), r.Position.Sequence,
				r.Behind.Seconds(), megabytes(r.Bytes))
		}
		p.clear()
	}()
	err = c.directory(s, dir).Ship(s.ctx, admin.ShipOptions{
		To: to, Every: time.Duration(c.every), Keep: time.Duration(c.keep),
		Report: func(r backup.Progress) { reports <- r },
	})
	close(reports)
	<-done
	return err
}
