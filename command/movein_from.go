package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lectern/gateway/admin"
	"lectern/jsontree"
	"lectern/strapi/definitions"
	"lectern/strapi/movein"
	"lectern/strapi/remote"
)

// A reading is what was read from a running server, in a directory beside that of the new project.
type reading struct {
	lock  *admin.DataDir // nil if nothing was read
	notes []movein.Note
}

// end gives the directory up, and removes it if it is not needed any more.
func (r reading) end(remove bool) error {
	switch {
	case r.lock == nil:
		return nil
	case remove:
		return errors.Join(os.RemoveAll(r.lock.Path), r.lock.Release())
	}
	return r.lock.Release()
}

// read reads the server of --from, if there is one, to an archive, and makes that the source.
func (c *moveInCommand) read(s *session, p *progress) (r reading, err error) {
	if c.from != "" && c.dir == "" {
		c.source, c.dir = "", c.source
	}
	switch {
	case c.dir == "":
		return r, usageError("the directory of the new project is missing after the source")
	case c.from == "" && len(c.without) > 0:
		return r, usageError("--without is for --from")
	case c.from == "":
		return r, nil
	case c.archive != "":
		return r, usageError("the content comes from --archive or from --from, not from both")
	}
	dir := filepath.Join(filepath.Dir(c.dir), "."+filepath.Base(c.dir)+".reading")
	r.lock, err = admin.Lock(dir)
	if errors.Is(err, admin.ErrBusy) {
		return r, fmt.Errorf("another move-in into %s is at work; wait until it has ended", display(c.dir))
	}
	if err != nil {
		return r, err
	}
	report, err := c.readServer(s, p, dir)
	if err != nil {
		return r, errors.Join(err, r.end(false))
	}
	for _, n := range report.Notes {
		r.notes = append(r.notes, movein.Note{What: n.About, Why: n.Text})
	}
	c.setSource(remote.Archive(dir))
	p.done("read %d rows and %d files from %s", report.Total(), report.Files, c.from)
	return r, nil
}

// setSource makes an archive the source of the content. A Strapi project stays the source of the configuration.
func (c *moveInCommand) setSource(archive string) {
	if c.source == "" {
		c.source = archive
		return
	}
	c.archive = pathFlag(archive)
}

func (c *moveInCommand) readServer(s *session, p *progress, dir string) (*remote.Report, error) {
	var schemas []*jsontree.Object
	if c.source != "" {
		var err error
		if schemas, err = definitions.TreeSchemas(os.DirFS(c.source)); err != nil {
			return nil, fmt.Errorf("%s: %w", c.source, err)
		}
	}
	return remote.Read(s.ctx, dir, remote.Options{
		URL: c.from, Token: c.token, Schemas: schemas, Without: c.without, Rate: c.rate,
		Progress: func(at remote.Progress) {
			p.show("reading: %d rows, %d files with %d MB, %d requests", at.Rows, at.Files, at.FileBytes>>20,
				at.Requests)
		},
	})
}
