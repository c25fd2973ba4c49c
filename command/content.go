package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"lectern/documents"
	"lectern/gateway/admin"
	"lectern/internal/tempfile"
)

// outputFlags are the arguments and flags of commands that write a file.
type outputFlags struct {
	Args  []string `arg:"" name:"[dir] file" help:"Project directory (default: here) and the file to write; - is the standard output."`
	Force bool     `help:"Replace the file if it exists."`
	projectFlags
}

// target returns the project's directory and the file to write. Without --force it returns an error if the file exists. It
// accepts special files such as devices, which admin.WriteFile does not replace.
func (o *outputFlags) target() (dir, file string, err error) {
	if dir, file, err = splitDir(o.Args, "FILE"); err != nil || file == "-" || o.Force {
		return dir, file, err
	}
	if there, err := os.Stat(file); err == nil && there.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is there already; take another name, or replace it with --force", file)
	}
	return dir, file, nil
}

// output calls write with the file to write; - is the standard output.
func (s *session) output(file string, write func(io.Writer) error) error {
	if file == "-" {
		return write(s.Stdout)
	}
	return admin.WriteFile(file, write)
}

type exportCommand struct {
	Strapi bool   `help:"Write an archive that strapi import takes, with the uploaded files."`
	Key    string `help:"Encrypt the archive of --strapi with this key." placeholder:"KEY"`
	outputFlags
}

func (c *exportCommand) Run(s *session) error {
	dir, file, err := c.target()
	if err != nil {
		return inCommand("export", err)
	}
	if c.Strapi {
		return c.strapi(s, dir, file)
	}
	if c.Key != "" {
		return inCommand("export", errors.New("--key encrypts the archive that --strapi writes; give both"))
	}
	return c.administer(s, dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		err := s.output(file, func(w io.Writer) error { return a.Export(s.ctx, p.countLines(w)) })
		if err != nil {
			return inCommand("export", err)
		}
		p.done("exported %s", count(max(0, p.lines-1), "version"))
		return sayMissing(s, p, a, func(n admin.Uploads) (int, string) {
			return n.Total, fmt.Sprintf("what they hold is not in an export; `%s backup` has it", s.Name)
		})
	})
}

// checkName returns an error if Strapi would not take an archive of this name: it tells by the name what is in a file.
func (c *exportCommand) checkName(file string) error {
	want := ".tar.gz"
	if c.Key != "" {
		want = ".tar.gz.enc"
	}
	if file == "-" || strings.HasSuffix(file, want) {
		return nil
	}
	stem := file
	for _, ext := range []string{".enc", ".gz", ".tar"} {
		stem = strings.TrimSuffix(stem, ext)
	}
	return fmt.Errorf("strapi import takes only a file whose name ends in %s; call it %s", want, display(stem+want))
}

// strapi writes an archive for Strapi.
func (c *exportCommand) strapi(s *session, dir, file string) error {
	if err := c.checkName(file); err != nil {
		return inCommand("export", err)
	}
	return c.administer(s, dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		err := s.output(file, func(w io.Writer) error { return a.ExportStrapi(s.ctx, p.countBytes(w), c.Key) })
		if err != nil {
			return inCommand("export", err)
		}
		p.done("exported %s", megabytes(p.bytes))
		return nil
	})
}

type importCommand struct {
	Args    []string `arg:"" name:"[dir] file" help:"Project directory (default: here) and the file to read; - is the standard input."`
	Partial bool     `help:"Import the valid lines even if others are invalid."`
	Keep    bool     `help:"Import values that break a rule of their attribute as long as it can hold them, such as one that an enumeration does not list. lectern check lists them."`
	projectFlags
}

func (c *importCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "FILE")
	if err != nil {
		return err
	}
	file, err := openImport(s.Stdin, name)
	if err != nil {
		return err
	}
	defer file.Close()
	return c.administer(s, dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		result, err := a.Import(s.ctx, file, documents.ImportOptions{Partial: c.Partial, Keep: c.Keep, KeepTaken: c.Keep, Progress: func(at documents.ImportProgress) {
			p.show("%s: %d of %d lines", at.Phase, at.Done, at.Total)
		}})
		p.clear()
		var wrong documents.LineProblems
		if err != nil && !errors.As(err, &wrong) {
			return fmt.Errorf("import %s: %w", name, err)
		}
		for _, l := range wrong {
			fmt.Fprintf(s.Stderr, "%s:%s\n", display(name), l)
		}
		if result.NewIDs > 0 {
			p.done("other documents have %s of the file; new ones were given instead", count(result.NewIDs, "id"))
		}
		switch {
		case err == nil:
			p.done("imported %s", count(result.Versions, "version"))
			return nil
		case c.Partial:
			p.done("imported %s; left out %s", count(result.Versions, "version"), count(result.Skipped, "line"))
		default:
			p.done("%s wrong; nothing was imported (--partial stores the others)", count(result.Skipped, "line"))
		}
		return errReported
	})
}

// openImport opens the file to import. It copies the standard input to a temporary file, since an import reads its input
// several times.
func openImport(stdin io.Reader, name string) (*os.File, error) {
	if name != "-" {
		if there, err := os.Stat(name); err == nil && there.IsDir() {
			return nil, fmt.Errorf("%s is a directory; name a file that export wrote", name)
		}
		return os.Open(name)
	}
	f, err := tempfile.New("")
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, stdin); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

type backupCommand struct {
	Args   []string `arg:"" optional:"" name:"[dir] file" help:"Project directory (default: here) and the file to write; - is the standard output. With --follow the directory alone."`
	Force  bool     `help:"Replace the file if it exists."`
	Follow string   `help:"Back up continuously into a directory or s3://BUCKET/PREFIX, until the command is stopped: each write a moment after it was made." placeholder:"PLACE"`
	Every  lifespan `help:"With --follow, take a new base so long after the last one (default: 24h)." default:"24h" placeholder:"TIME"`
	Keep   lifespan `help:"With --follow, keep what is needed to restore each moment of this time (default: 7d)." default:"7d" placeholder:"TIME"`
	projectFlags
}

func (c *backupCommand) Run(s *session) error {
	if c.Follow != "" {
		return inCommand("backup", c.follow(s))
	}
	out := outputFlags{c.Args, c.Force, c.projectFlags}
	dir, file, err := out.target()
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
			return n.Missing, "they have documents and are not in the directory of uploads; put them back there, or mount its disk, and take another backup"
		})
	})
}

type restoreCommand struct {
	Args []string `arg:"" name:"[dir] file" help:"Project directory (default: here) and the backup; - is the standard input. The place of a continuous backup, too."`
	At   string   `help:"Restore this moment from a continuous backup: a time such as 2026-01-02T15:04:05Z, or the number of an entry of the log." placeholder:"MOMENT"`
	projectFlags
}

func (c *restoreCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "FILE")
	if err != nil {
		return err
	}
	if c.At != "" || isPlace(name) {
		return inCommand("restore", c.at(s, dir, name))
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

// sayKept prints where a restore has put what was there before.
func sayKept(p *progress, kept string) {
	if kept != "" {
		p.done("what was there before is in %s; remove it when you are content", display(filepath.Clean(kept)))
	}
}

// sayMissing prints how many uploaded files are not in the export or backup.
func sayMissing(s *session, p *progress, a admin.Project, missing ...func(admin.Uploads) (int, string)) error {
	n, err := a.Uploads(s.ctx)
	if err != nil {
		return fmt.Errorf("count the uploaded files: %w", err)
	}
	for _, m := range missing {
		if files, why := m(n); files > 0 {
			p.done("without %s: %s", count(files, "uploaded file"), why)
		}
	}
	return nil
}
