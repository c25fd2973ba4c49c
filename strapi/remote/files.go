package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"lectern/internal/within"
	"lectern/jsontree"
	"lectern/strapi/archive"
)

// An asset is an uploaded file, or one of its formats, that is downloaded.
type asset struct {
	name    string           // hash and extension
	url     string           // absolute, or a path on the server
	sidecar *jsontree.Object // what the archive says about it
	size    float64          // bytes as the server counts them, at most 10 off; negative if it does not say
}

// errNoFile means that the server has a row for a file, but not its content.
var errNoFile = errors.New("the server does not have the file's content")

// download stages the content of all files and their formats.
func (r *reader) download(ctx context.Context, assets []asset) error {
	return r.each(ctx, len(assets), func(ctx context.Context, i int) error { return r.downloadOne(ctx, assets[i]) })
}

func (r *reader) downloadOne(ctx context.Context, a asset) error {
	name := stagedFile(a.name)
	info, err := r.staging.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		write := func(content io.Reader) error { return r.staging.writeFile(name, content) }
		if err = r.client.download(ctx, a.url, write); err == nil {
			info, err = r.staging.root.Stat(name)
		}
	}
	switch {
	case errors.Is(err, errNoFile):
		r.note("file "+a.name, "%s", err)
		return nil
	case err != nil:
		return fmt.Errorf("file %s: %w", a.name, err)
	}
	if off := float64(info.Size()) - a.size; a.size >= 0 && (off < -10 || off > 10) {
		r.note("file "+a.name, "it has %d bytes, and Strapi has noted a size of about %.0f", info.Size(), a.size)
	}
	r.progress(func(p *Progress) {
		p.Files++
		p.FileBytes += info.Size()
	})
	return nil
}

// stagedFile returns where the content of an uploaded file is staged.
func stagedFile(name string) string { return path.Join("files", name) }

// assets lists the files of the listing of files, with their formats.
func (r *reader) assets(listings []*listing) ([]asset, error) {
	var all []asset
	known := map[string]bool{}
	add := func(a asset) {
		switch {
		case !isFileName(a.name):
			r.note("file "+a.name, "left out: its hash and extension do not make a name of a file")
		case known[a.name]:
			r.note("file "+a.name, "left out: another file has the same hash and extension")
		default:
			known[a.name] = true
			all = append(all, a)
		}
	}
	for _, l := range listings {
		if l.schema.uid != fileUID {
			continue
		}
		if err := r.eachLive(l, func(row *jsontree.Object) error {
			addAssets(row, add)
			return nil
		}, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addAssets calls add for a file and for each of its formats.
func addAssets(row *jsontree.Object, add func(asset)) {
	add(asset{name: row.Text("hash") + row.Text("ext"), url: row.Text("url"), sidecar: fileRow(row),
		size: sizeInFile(row)})
	formats := object(row, "formats")
	for _, name := range formats.Keys {
		format, ok := formats.Value(name).(*jsontree.Object)
		if !ok {
			continue
		}
		sidecar := archive.FormatSidecar(row, name, format)
		add(asset{name: format.Text("hash") + format.Text("ext"), url: format.Text("url"), sidecar: sidecar,
			size: sizeInFile(format)})
	}
}

// fileRow returns the row of a file as an archive has it. The content API does not show folders.
func fileRow(row *jsontree.Object) *jsontree.Object {
	out := jsontree.NewObject()
	for _, key := range row.Keys {
		if key != "isUrlSigned" {
			out.Set(key, row.Value(key))
		}
	}
	out.Set("folderPath", "/")
	out.Set("locale", nil)
	return out
}

// sizeInFile returns the size that Strapi notes in kilobytes, in bytes.
func sizeInFile(o *jsontree.Object) float64 {
	if n, ok := o.Value("size").(jsontree.Number); ok {
		return n.Float() * 1000
	}
	return -1
}

// isFileName reports whether a name is that of a file within a directory, on every system, and not too long.
func isFileName(name string) bool {
	return within.IsFileName(name) && !strings.Contains(name, "/") && len(name) <= 200
}

// download gives write the content of a file. It never sends the token.
func (c *client) download(ctx context.Context, from string, write func(io.Reader) error) error {
	target, err := c.resolve(from)
	if err != nil {
		return err
	}
	return c.retry(ctx, func() error { return c.downloadOnce(ctx, target, write) })
}

// resolve returns the URL of a file, which may be on another server.
func (c *client) resolve(from string) (*url.URL, error) {
	u, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("%w: its URL cannot be read", errNoFile)
	}
	if u.Host == "" && u.Scheme == "" && strings.HasPrefix(u.Path, "/") {
		target := *c.base
		target.Path, target.RawPath, target.RawQuery = c.base.Path+u.Path, "", u.RawQuery
		return &target, nil
	}
	u = c.base.ResolveReference(u)
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: its URL leads to no web server", errNoFile)
	}
	return u, nil
}

func (c *client) downloadOnce(ctx context.Context, from *url.URL, write func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.timeout, func() { cancel(context.DeadlineExceeded) })
	defer idle.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return err
	}
	resp, err := c.files.Do(r)
	if errors.Is(err, errPrivate) {
		return fmt.Errorf("%w: %w", errNoFile, errPrivate)
	}
	if err != nil {
		return failed(from.Path, cmp.Or(context.Cause(ctx), err))
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Errorf("%w: GET %s: %s", errNoFile, from.Path, resp.Status)
	default:
		return c.mayPass(&StatusError{Path: from.Path, Status: resp.StatusCode}, resp)
	}
	content := &boundedReader{r: resp.Body, left: c.maxFile, read: func() { idle.Reset(c.timeout) }}
	switch err := write(content); {
	case content.left < 0:
		return fmt.Errorf("GET %s: the file is larger than the limit of %d bytes", from.Path, c.maxFile)
	case content.failed:
		return failed(from.Path, cmp.Or(context.Cause(ctx), err))
	default:
		return err
	}
}

// A boundedReader fails when more than left bytes come.
type boundedReader struct {
	r      io.Reader
	left   int64
	read   func() // called whenever something arrives
	failed bool   // reading has failed, not writing
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.read()
	}
	b.left -= int64(n)
	b.failed = err != nil && err != io.EOF
	if b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
