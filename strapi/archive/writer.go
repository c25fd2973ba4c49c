package archive

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"lectern/jsontree"
)

// A Writer writes an archive. The parts may be written in any order. A Writer keeps at most a few megabytes in memory.
type Writer struct {
	out    sink
	chunks map[part]*chunk
}

// A sink takes the files of an archive.
type sink interface {
	// write takes a file of size bytes. The file is complete or not there.
	write(name string, size int64, content io.Reader) error
	writeBytes(name string, content []byte) error
	close() error
}

// A chunk collects the lines of the next file of a part.
type chunk struct {
	files int // how many files of the part were written
	lines []byte
}

// chunkSize is the size from which the lines of a part become a file.
const chunkSize = 4 << 20

// lineParts lists the parts of lines in the order in which Strapi writes them.
var lineParts = []part{schemas, entities, links, configuration}

func newWriter(out sink) *Writer {
	w := &Writer{out: out, chunks: map[part]*chunk{}}
	for _, p := range lineParts {
		w.chunks[p] = &chunk{}
	}
	return w
}

// WriteSchema writes the definition of a content-type or component.
func (w *Writer) WriteSchema(s Schema) error { return w.line(schemas, s.Data) }

// WriteEntity writes a row. Links refer to it by its type and ID.
func (w *Writer) WriteEntity(e Entity) error {
	return w.WriteEntityJSON(e.Type, e.ID, jsontree.Append(nil, e.Data))
}

// WriteEntityJSON writes a row like WriteEntity; data is the JSON text of its Data, without line breaks.
func (w *Writer) WriteEntityJSON(typ string, id uint64, data []byte) error {
	c := w.chunks[entities]
	c.lines = jsontree.AppendString(append(c.lines, `{"type":`...), typ)
	c.lines = strconv.AppendUint(append(c.lines, `,"id":`...), id, 10)
	c.lines = append(append(c.lines, `,"data":`...), data...)
	c.lines = append(c.lines, "}\n"...)
	return w.flushFull(entities)
}

// WriteLink writes a relation.
func (w *Writer) WriteLink(l Link) error {
	o := jsontree.NewObjectOf(4)
	o.Set("kind", l.Kind)
	o.Set("relation", l.Relation)
	o.Set("left", l.Left.object())
	o.Set("right", l.Right.object())
	return w.line(links, o)
}

// WriteSetting writes a line of the part configuration.
func (w *Writer) WriteSetting(s Setting) error {
	o := jsontree.NewObjectOf(2)
	o.Set("type", s.Type)
	o.Set("value", s.Value)
	return w.line(configuration, o)
}

func (e End) object() *jsontree.Object {
	o := jsontree.NewObjectOf(4)
	o.Set("type", e.Type)
	if e.Field != "" {
		o.Set("field", e.Field)
	}
	if e.DocumentID != "" {
		o.Set("ref", e.DocumentID)
	} else {
		o.Set("ref", number(e.ID))
	}
	if e.Pos != 0 {
		o.Set("pos", jsontree.Number(jsontree.FormatNumber(e.Pos)))
	}
	return o
}

func number(n uint64) jsontree.Number { return jsontree.Number(strconv.FormatUint(n, 10)) }

// WriteAsset writes the sidecar and the content of an asset. It fails if the content is not asset.Size bytes long.
func (w *Writer) WriteAsset(asset Asset) error {
	name, err := cleanName(asset.Name)
	if err != nil {
		return err
	}
	if err := w.writeSidecar(name, asset.Sidecar); err != nil {
		return err
	}
	return w.out.write(assetName(name), asset.Size, asset.Content)
}

func (w *Writer) writeSidecar(name string, sidecar *jsontree.Object) error {
	if sidecar == nil {
		return nil
	}
	return w.out.writeBytes(sidecarName(name), jsontree.Append(nil, sidecar))
}

func assetName(name string) string   { return string(assets) + "/" + name }
func sidecarName(name string) string { return string(sidecars) + "/" + name + ".json" }

func (w *Writer) line(p part, o *jsontree.Object) error {
	c := w.chunks[p]
	c.lines = append(jsontree.Append(c.lines, o), '\n')
	return w.flushFull(p)
}

// flushFull writes the lines of a part that were collected if they are enough for a file.
func (w *Writer) flushFull(p part) error {
	if len(w.chunks[p].lines) < chunkSize {
		return nil
	}
	return w.flush(p)
}

// flush writes the lines of a part that were collected.
func (w *Writer) flush(p part) error {
	c := w.chunks[p]
	if len(c.lines) == 0 {
		return nil
	}
	if err := w.out.writeBytes(chunkName(p, c.files+1), c.lines); err != nil {
		return err
	}
	c.files++
	c.lines = c.lines[:0]
	return nil
}

// chunkName returns the name of the n-th file of a part.
func chunkName(p part, n int) string {
	return fmt.Sprintf("%s/%s_%05d.jsonl", p, p, n)
}

func (w *Writer) flushAll() error {
	for _, p := range lineParts {
		if err := w.flush(p); err != nil {
			return err
		}
	}
	return nil
}

// Close completes the archive. Without it, or after another method has failed, readers refuse the archive as
// incomplete.
func (w *Writer) Close(m Metadata) error {
	if err := w.flushAll(); err != nil {
		return errors.Join(err, w.out.close())
	}
	strapi := jsontree.NewObjectOf(1)
	strapi.Set("version", m.Version)
	o := jsontree.NewObjectOf(2)
	o.Set("createdAt", m.CreatedAt)
	o.Set("strapi", strapi)
	return errors.Join(w.out.writeBytes(metadataFile, jsontree.Append(nil, o)), w.out.close())
}

// checkSize returns an error if the content of a file was shorter or longer than announced.
func checkSize(name string, size, written int64) error {
	if written == size {
		return nil
	}
	return fmt.Errorf("%s has not the %d bytes that it should have", filepath.Base(name), size)
}
