package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"lectern/media"
	"lectern/strapi/archive"
	"lectern/strapi/moveout"
)

// ExportStrapi implements Project. Uploaded files that are deleted meanwhile are in the archive, as their documents
// are.
func (l *Local) ExportStrapi(ctx context.Context, w io.Writer, key string) error {
	reserve, release, err := l.Reserve(ctx)
	if err != nil {
		return err
	}
	defer release()
	return l.View(ctx, func(c Content) error {
		source := moveout.Source{
			Model: c.Definition.Model, Store: c.Store, DefaultLocale: c.Definition.Settings.I18n.DefaultLocale,
			Dir: l.Data.Path, Reserve: reserve,
		}
		if c.Media != nil {
			if err := c.Media.Recover(ctx); err != nil {
				return err
			}
			defer c.Media.Pin()()
			source.Open = func(ctx context.Context, name string) (
				moveout.File, error) {
				return openUpload(ctx, c.Media, name)
			}
		}
		out, err := archive.NewWriter(w, key)
		if err != nil {
			return err
		}
		return moveout.Write(ctx, out, source)
	})
}

func openUpload(ctx context.Context, library *media.Library, name string) (moveout.File, error) {
	o, err := library.OpenFile(ctx, name)
	if err != nil {
		return moveout.File{}, err
	}
	return moveout.File{ReadCloser: o.Content, Size: o.Size}, nil
}

// A strapiExport is the body of a request for an archive. A key is in no path or header, which might be logged.
type strapiExport struct {
	Key string `json:"key,omitempty"`
}

func (c *Control) exportStrapi(w http.ResponseWriter, r *http.Request) {
	var asked strapiExport
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxJSON)).Decode(&asked); err != nil {
		writeError(w, err)
		return
	}
	c.download(w, r, func(ctx context.Context, w io.Writer) error { return c.Project.ExportStrapi(ctx, w, asked.Key) })
}

func (r *remote) ExportStrapi(ctx context.Context, w io.Writer, key string) error {
	body, err := json.Marshal(strapiExport{key})
	if err != nil {
		return err
	}
	return r.do(ctx, http.MethodPost, "/export/strapi", bytes.NewReader(body), copyTo(w))
}
