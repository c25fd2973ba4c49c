// Package webfile serves files for browsers that a build of the program holds, compressed by gzip. Their names change
// with their content, so browsers keep them for good.
package webfile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"lectern/internal/accept"
	"lectern/internal/etag"
)

// A File answers GET with itself, whatever the path of the request is.
type File struct {
	Name   string   // changes with the content
	kind   []string // header Content-Type
	packed []byte   // the content, compressed by gzip
}

// Read reads the files of a directory of files whose names end in .gz, in the order of their names; the names of the
// Files do not have that end. It returns an error if it does not know the Content-Type of one.
func Read(files fs.FS, dir string) ([]*File, error) {
	found, err := fs.Glob(files, dir+"/*.gz")
	if err != nil {
		return nil, err
	}
	var all []*File
	for _, name := range found {
		packed, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		name = strings.TrimSuffix(path.Base(name), ".gz")
		kind, known := kinds[path.Ext(name)]
		if !known {
			return nil, fmt.Errorf("%s: no Content-Type is known for it", name)
		}
		all = append(all, &File{name, []string{kind}, packed})
	}
	return all, nil
}

var kinds = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".txt": "text/plain; charset=utf-8",
	".svg": "image/svg+xml",
}

var (
	forGood      = []string{"public, max-age=31536000, immutable"}
	gzipEncoding = []string{"gzip"}
	vary         = []string{"Origin, Accept-Encoding"}
)

// ServeHTTP implements http.Handler: it sends the compressed file, decompressed for clients that do not accept gzip.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	tag := `"` + f.Name + `"`
	header["Cache-Control"] = forGood
	header["Etag"] = []string{"W/" + tag}
	header["Vary"] = vary
	if known := r.Header["If-None-Match"]; etag.Lists(known, []byte(tag)) || etag.IsAny(known) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header["Content-Type"] = f.kind
	if accept.Gzip(r.Header.Get("Accept-Encoding")) {
		header["Content-Encoding"] = gzipEncoding
		header["Content-Length"] = []string{strconv.Itoa(len(f.packed))}
		_, _ = w.Write(f.packed) // it fails only if the client is gone
		return
	}
	if unpacked, err := gzip.NewReader(bytes.NewReader(f.packed)); err == nil { // the build made it
		_, _ = io.Copy(w, unpacked) // it fails only if the client is gone
	}
}
