package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"lectern/strapi/archive"
)

// strapiVersion is what the archive names as the version of Strapi: the content API does not tell it.
const strapiVersion = "unknown"

// An output writes lines of an archive. It keeps the first error, and writes nothing after it.
type output struct {
	*archive.Directory
	err error
}

func (w *output) schema(s *schema) {
	if w.err == nil {
		w.err = w.WriteSchema(archive.Schema{UID: s.uid, Data: s.data})
	}
}

func (w *output) entity(e archive.Entity) {
	if w.err == nil {
		w.err = w.WriteEntity(e)
	}
}

func (w *output) link(l archive.Link) {
	if w.err == nil {
		w.err = w.WriteLink(l)
	}
}

func (w *output) setting(s archive.Setting) {
	if w.err == nil {
		w.err = w.WriteSetting(s)
	}
}

// write makes the archive of what is staged.
func (r *reader) write(ctx context.Context, listings []*listing, a *accounts, assets []asset) error {
	if err := r.staging.root.RemoveAll(archiveName); err != nil { // lines of a run that was interrupted
		return err
	}
	d, err := archive.CreateDirectory(Archive(r.staging.root.Name()))
	if err != nil {
		return err
	}
	out := &output{Directory: d}
	for _, s := range r.definitions.list {
		out.schema(s)
	}
	j := newJoiner(r, out)
	err = j.addAccounts(a)
	if err == nil {
		err = j.index(ctx, listings)
	}
	if err == nil {
		err = cmp.Or(j.write(ctx, listings), out.err)
	}
	if err == nil {
		err = r.writeAssets(d, assets)
	}
	if err == nil {
		r.describe(j)
		r.report.Requests = r.state.Requests
		err = r.staging.writeReport(&r.report)
	}
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return d.Close(archive.Metadata{CreatedAt: r.o.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		Version: strapiVersion})
}

func (r *reader) writeAssets(d *archive.Directory, assets []asset) error {
	for _, a := range assets {
		err := d.LinkAsset(archive.Asset{Name: a.name, Sidecar: a.sidecar}, r.staging.root, stagedFile(a.name),
			archiveName)
		switch {
		case errors.Is(err, fs.ErrNotExist): // noted when it could not be downloaded
		case err != nil:
			return err
		default:
			r.report.Files++
		}
	}
	return nil
}

// writeReport keeps the report for calls that find the archive complete.
func (s staging) writeReport(report *Report) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return s.writeFile("report.json", bytes.NewReader(text))
}

// readReport returns the report of an archive that is complete, and nil if there is none.
func (s staging) readReport(ctx context.Context) (*Report, error) {
	a, err := archive.Open(ctx, Archive(s.root.Name()), archive.Options{})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, archive.ErrIncomplete) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := s.root.ReadFile("report.json")
	if err = errors.Join(err, a.Close()); err != nil {
		return nil, err
	}
	report := &Report{}
	return report, json.Unmarshal(text, report)
}
