package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
)

type exportCommand struct {
	strapi bool
	key    string
	outputFlags
}

func newExport(s *session) *cobra.Command {
	var e exportCommand
	c := &cobra.Command{
		Use:   "export [DIR] FILE",
		Short: "Write all content as JSON Lines.",
		Long:  outputArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return e.run(s, args) },
	}
	c.Flags().BoolVar(&e.strapi, "strapi", false, "Write an archive that strapi import takes, with the uploaded files.")
	c.Flags().StringVar(&e.key, "key", "", "Encrypt the archive of --strapi with this `KEY`.")
	e.add(c)
	return c
}

func (c *exportCommand) run(s *session, args []string) error {
	dir, file, err := c.target(args)
	if err != nil {
		return inCommand("export", err)
	}
	if c.strapi {
		return c.writeStrapi(s, dir, file)
	}
	if c.key != "" {
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
	if c.key != "" {
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

// writeStrapi writes an archive for Strapi.
func (c *exportCommand) writeStrapi(s *session, dir, file string) error {
	if err := c.checkName(file); err != nil {
		return inCommand("export", err)
	}
	return c.administer(s, dir, func(a admin.Project) error {
		p := newProgress(s.Stderr)
		err := s.output(file, func(w io.Writer) error { return a.ExportStrapi(s.ctx, p.countBytes(w), c.key) })
		if err != nil {
			return inCommand("export", err)
		}
		p.done("exported %s", megabytes(p.bytes))
		return nil
	})
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
