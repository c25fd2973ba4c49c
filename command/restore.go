package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lectern/backup"
	"lectern/internal/objects"
)

type restoreCommand struct {
	at string
	projectFlags
}

func newRestore(s *session) *cobra.Command {
	var r restoreCommand
	c := &cobra.Command{
		Use:   "restore [DIR] FILE",
		Short: "Replace store and uploads by those of a backup. The server must be stopped.",
		Long:  "FILE is the backup, or the place of a continuous one; - is the standard input. " + dirArgument,
		RunE:  func(_ *cobra.Command, args []string) error { return r.run(s, args) },
	}
	c.Flags().StringVar(&r.at, "at", "",
		"Restore this `MOMENT` from a continuous backup: a time such as 2026-01-02T15:04:05Z, "+
			"or the number of an entry of the log.")
	r.add(c)
	return c
}

func (c *restoreCommand) run(s *session, args []string) error {
	dir, name, err := splitDir(args, "FILE")
	if err != nil {
		return err
	}
	if c.at != "" || isPlace(name) {
		return inCommand("restore", c.restoreAt(s, dir, name))
	}
	in := s.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	p := newProgress(s.Stderr)
	kept, err := c.directory(s, dir).Restore(p.readBytes(in))
	p.clear()
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	p.done("restored %s", megabytes(p.bytes))
	sayKept(p, kept)
	return nil
}

// isPlace reports whether a continuous backup may be at an address, and no file.
func isPlace(address string) bool {
	info, err := os.Stat(address)
	return strings.HasPrefix(address, "s3://") || err == nil && info.IsDir()
}

// restoreAt restores a point in time from a continuous backup.
func (c *restoreCommand) restoreAt(s *session, dir, place string) error {
	var m backup.PointInTime
	if c.at != "" {
		var err error
		if m, err = backup.ParsePointInTime(c.at, time.Local); err != nil {
			return usageError("--at: " + err.Error())
		}
	}
	from, err := objects.At(place, os.Getenv, false)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	p := newProgress(s.Stderr)
	r, err := c.directory(s, dir).RestoreAt(
		s.ctx, from, m, func(entries int) { p.show("%s of the log", count(entries, "entry")) })
	p.clear()
	if err != nil {
		return err
	}
	p.done("restored the state of %s, after entry %s: the base after entry %d, and %d of the log",
		r.Time.Local().Format(time.RFC3339), r.Last, r.Base.Position.Sequence, r.Entries)
	p.done("restored %s", count(r.Files, "uploaded file"))
	for _, name := range r.Missing {
		fmt.Fprintf(s.Stderr, "warning: the backup does not have the uploaded file %s\n", name)
	}
	sayKept(p, r.Kept)
	return nil
}

// sayKept prints where a restore has put what was there before.
func sayKept(p *progress, kept string) {
	if kept != "" {
		p.done("what was there before is in %s; remove it when you are content", display(filepath.Clean(kept)))
	}
}
