package command

import (
	"fmt"
	"os"
	"strings"
	"time"

	"lectern/backup"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/internal/objects"
)

// A lifespan is a duration on the command line, which may be in days.
type lifespan time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *lifespan) UnmarshalText(text []byte) error {
	d, ok := config.ParseLifespan(string(text))
	if !ok {
		return fmt.Errorf("%q is no time such as 7d or 12h", text)
	}
	*l = lifespan(d)
	return nil
}

// isPlace reports whether a continuous backup may be at an address, and no file.
func isPlace(address string) bool {
	info, err := os.Stat(address)
	return strings.HasPrefix(address, "s3://") || err == nil && info.IsDir()
}

// follow writes a continuous backup until the command is stopped.
func (c *backupCommand) follow(s *session) error {
	dir := "."
	switch len(c.Args) {
	case 0:
	case 1:
		dir = c.Args[0]
	default:
		return usageError(fmt.Sprintf("want [DIR] with --follow, got %d arguments", len(c.Args)))
	}
	to, err := objects.At(c.Follow, os.Getenv, true)
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
			p.show("%s up to entry %d, %.1f s behind, %s", count(r.Entries, "entry"), r.Position.Sequence, r.Behind.Seconds(), megabytes(r.Bytes))
		}
		p.clear()
	}()
	err = c.directory(s, dir).Follow(s.ctx, admin.FollowOptions{
		To: to, Every: time.Duration(c.Every), Keep: time.Duration(c.Keep), Report: func(r backup.Progress) { reports <- r },
	})
	close(reports)
	<-done
	return err
}

// at restores a moment from a continuous backup.
func (c *restoreCommand) at(s *session, dir, place string) error {
	var m backup.Moment
	if c.At != "" {
		var err error
		if m, err = backup.ParseMoment(c.At, time.Local); err != nil {
			return usageError("--at: " + err.Error())
		}
	}
	from, err := objects.At(place, os.Getenv, false)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	p := newProgress(s.Stderr)
	r, err := c.directory(s, dir).RestoreAt(s.ctx, from, m, func(entries int) { p.show("%s of the log", count(entries, "entry")) })
	p.clear()
	if err != nil {
		return err
	}
	p.done("restored the state of %s, after entry %s: the base after entry %d, and %d of the log", r.Time.Local().Format(time.RFC3339), r.Last, r.Base.Position.Sequence, r.Entries)
	p.done("restored %s", count(r.Files, "uploaded file"))
	for _, name := range r.Missing {
		fmt.Fprintf(s.Stderr, "warning: the backup does not have the uploaded file %s\n", name)
	}
	sayKept(p, r.Kept)
	return nil
}
