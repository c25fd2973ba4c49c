package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"lectern/internal/durable"
	"lectern/internal/jsonlines"
	"lectern/jsontree"
)

// A staging is a directory that keeps what has been read, so that a run that was interrupted goes on where it ended:
//
//	server, definitions     what is read: a URL, and a hash
//	listings/NAME/000001.jsonl pages of a listing, in the order in which they were read: a header, then one row in each line
//	files/NAME              uploaded files
//
// A file appears under its name when it is complete. Names come from the server that is read, so all files are opened
// below root.
type staging struct{ root *os.Root }

// A header is the first line of a page.
type header struct {
	rows   int
	total  int64    // rows of the listing as the server counted them, -1 if it did not say
	again  bool     // the rows were read again because they had changed; the pages before were read to their end
	gone   []uint64 // rows that are there no more
	cursor uint64   // the last id of the page
}

// end reports whether the header is that of the empty page at the end of a listing.
func (h header) end() bool { return h.rows == 0 && !h.again }

func (h header) object() *jsontree.Object {
	o := jsontree.NewObject()
	o.Set("rows", int64(h.rows))
	o.Set("total", h.total)
	o.Set("again", h.again)
	o.Set("cursor", int64(h.cursor))
	gone := []any{}
	for _, id := range h.gone {
		gone = append(gone, int64(id))
	}
	o.Set("gone", gone)
	return o
}

func parseHeader(o *jsontree.Object) header {
	number := func(v any) float64 {
		n, _ := v.(jsontree.Number)
		return n.Float()
	}
	h := header{rows: int(number(o.Value("rows"))), total: int64(number(o.Value("total"))),
		again: o.Value("again") == true, cursor: uint64(number(o.Value("cursor")))}
	for _, id := range list(o, "gone") {
		h.gone = append(h.gone, uint64(number(id)))
	}
	return h
}

func (s staging) pageFile(l *listing, n int) string {
	return path.Join("listings", l.name, fmt.Sprintf("%06d.jsonl", n))
}

// addPage stores the n-th page of a listing.
func (s staging) addPage(l *listing, n int, h header, rows []*jsontree.Object) error {
	h.rows = len(rows)
	b := append(jsontree.Append(nil, h.object()), '\n')
	for _, row := range rows {
		b = append(jsontree.Append(b, row), '\n')
	}
	return s.writeFile(s.pageFile(l, n), bytes.NewReader(b))
}

// readPage calls row with each row of the n-th page of a listing, and returns its header. The page is missing if ok is
// false. row may be nil.
func (s staging) readPage(l *listing, n int, row func(*jsontree.Object) error) (h header, ok bool, err error) {
	f, err := s.root.Open(s.pageFile(l, n))
	if errors.Is(err, fs.ErrNotExist) {
		return header{}, false, nil
	}
	if err != nil {
		return header{}, false, err
	}
	defer f.Close()
	in := jsonlines.NewReader(f, math.MaxInt)
	first, err := in.Next()
	if err != nil {
		return header{}, false, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	h = parseHeader(first)
	for i := 0; i < h.rows && row != nil; i++ {
		o, err := in.Next()
		if err == nil {
			err = row(o)
		}
		if err != nil {
			return h, true, fmt.Errorf("read %s: %w", f.Name(), err)
		}
	}
	return h, true, nil
}

// eachRow calls row with each row of a listing that was read, in the order of reading, and gone with the ids of rows
// that are there no more.
func (s staging) eachRow(l *listing, row func(*jsontree.Object) error, gone func(id uint64)) (pages int, err error) {
	for n := 1; ; n++ {
		h, ok, err := s.readPage(l, n, row)
		if err != nil || !ok {
			return n - 1, err
		}
		for _, id := range h.gone {
			gone(id)
		}
	}
}

// writeFile writes a file that appears when it is complete and on disk.
func (s staging) writeFile(name string, content io.Reader) error {
	return durable.WriteIn(s.root, name, 0o700, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}

// check makes sure that the directory was not used for another source before: a server, or its definitions.
func (s staging) check(name, source string) error {
	before, err := s.root.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && string(before) != source:
		return fmt.Errorf("%s holds what was read from another server, or under other definitions; "+
			"remove it to begin anew", s.root.Name())
	}
	return err
}

// use notes what the directory is used for from now on.
func (s staging) use(name, source string) error {
	return s.writeFile(name, strings.NewReader(source))
}
