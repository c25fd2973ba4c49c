package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"lectern/documents/transfer"
	"lectern/gateway/admin"
	"lectern/internal/tempfile"
)

type importCommand struct {
	partial bool
	keep    bool
	projectFlags
}

func newImport(s *session) *cobra.Command {
	var i importCommand
	c := &cobra.Command{
		Use:   "import [DIR] FILE",
		Short: "Import content from a file that export wrote.",
		Long:  "FILE is the file to read; - is the standard input. " + dirArgument,
		RunE:  func(_ *cobra.Command, args []string) error { return i.run(s, args) },
	}
	c.Flags().BoolVar(&i.partial, "partial", false, "Import the valid lines even if others are invalid.")
	c.Flags().BoolVar(&i.keep, "keep", false,
		"Import values that break a rule of their attribute as long as it can hold them, "+
			"such as one that an enumeration does not list. "+s.Name+" check lists them.")
	i.add(c)
	return c
}

func (c *importCommand) run(s *session, args []string) error {
	dir, name, err := splitDir(args, "FILE")
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
		result, err := a.Import(s.ctx, file, transfer.ImportOptions{
			Partial: c.partial, Keep: c.keep, KeepTaken: c.keep,
			Progress: func(at transfer.ImportProgress) { p.show("%s: %d of %d lines", at.Phase, at.Done, at.Total) },
		})
		p.clear()
		var wrong transfer.LineProblems
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
		case c.partial:
			p.done("imported %s; left out %s", count(result.Versions, "version"), count(result.Skipped, "line"))
		default:
			p.done("%s wrong; nothing was imported (--partial stores the others)", count(result.Skipped, "line"))
		}
		return errReported
	})
}

// openImport opens the file to import. It copies the standard input to a temporary file, since an import reads its
// input several times.
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
