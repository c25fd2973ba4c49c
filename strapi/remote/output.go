package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lectern/jsontree"
)

// An output writes an unpacked archive. Its first error is kept, and returned by close.
type output struct {
	dir      string
	entities *bufio.Writer
	links    *bufio.Writer
	open     []*os.File
	err      error
	buffer   []byte
}

func newOutput(dir string) *output {
	w := &output{dir: dir}
	w.entities = w.part("entities")
	w.links = w.part("links")
	return w
}

func (w *output) part(name string) *bufio.Writer {
	dir := filepath.Join(w.dir, name)
	w.fail(os.MkdirAll(dir, 0o700))
	f, err := os.OpenFile(filepath.Join(dir, name+"_00001.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		w.fail(err)
		return bufio.NewWriter(io.Discard)
	}
	w.open = append(w.open, f)
	return bufio.NewWriterSize(f, 64<<10)
}

func (w *output) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *output) line(to *bufio.Writer, v any) {
	w.buffer = append(jsontree.Append(w.buffer[:0], v), '\n')
	_, err := to.Write(w.buffer)
	w.fail(err)
}

func (w *output) lines(part string, values []*jsontree.Object) {
	to := w.part(part)
	for _, v := range values {
		w.line(to, v)
	}
	w.fail(to.Flush())
}

func (w *output) entity(uid string, id uint64, data *jsontree.Object) {
	w.line(w.entities, record("type", uid, "id", int64(id), "data", data))
}

func (w *output) link(l *jsontree.Object) { w.line(w.links, l) }

// asset adds a staged file, under a second name where the file system can.
func (w *output) asset(name, staged string, sidecar *jsontree.Object) {
	target := filepath.Join(w.dir, "assets", "uploads", name)
	w.fail(os.MkdirAll(filepath.Dir(target), 0o700))
	if os.Link(staged, target) != nil {
		f, err := os.Open(staged)
		if err != nil {
			w.fail(err)
			return
		}
		defer f.Close()
		w.fail(writeFile(target, f))
	}
	w.fail(writeFile(filepath.Join(w.dir, "assets", "metadata", name+".json"), bytes.NewReader(jsontree.Append(nil, sidecar))))
}

// close writes the metadata, which say that the archive is complete.
func (w *output) close(createdAt string) error {
	w.fail(w.entities.Flush())
	w.fail(w.links.Flush())
	for _, f := range w.open {
		w.fail(f.Close())
	}
	if w.err != nil {
		return fmt.Errorf("write archive: %w", w.err)
	}
	metadata := record("createdAt", createdAt, "strapi", record("version", "5.0.0"))
	return writeFile(filepath.Join(w.dir, "metadata.json"), bytes.NewReader(jsontree.Append(nil, metadata)))
}

// record returns an object of keys and values in turn.
func record(pairs ...any) *jsontree.Object {
	o := jsontree.NewObjectOf(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// write makes the archive of what is staged.
func (r *reader) write(ctx context.Context, lanes []*lane, a *accounts, assets []asset) error {
	if err := r.removeArchive(); err != nil {
		return err
	}
	out := newOutput(Archive(r.staging.dir))
	var schemas []*jsontree.Object
	for _, s := range r.definitions.list {
		schemas = append(schemas, s.data)
	}
	out.lines("schemas", schemas)
	j := newJoiner(r, out)
	err := errors.Join(j.addAccounts(a), j.index(ctx, lanes))
	if err == nil {
		err = j.write(ctx, lanes)
	}
	if err == nil {
		r.writeFiles(out, assets)
	}
	if err != nil {
		return errors.Join(err, out.close(""), r.removeArchive())
	}
	r.describe(j)
	return out.close(r.o.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
}

func (r *reader) writeFiles(out *output, assets []asset) {
	for _, a := range assets {
		staged := r.staging.file(a.name)
		if _, err := os.Stat(staged); errors.Is(err, os.ErrNotExist) {
			continue // noted when it was not found
		}
		out.asset(a.name, staged, a.sidecar)
		r.report.Files++
	}
}
