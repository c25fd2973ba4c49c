package moveout

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"lectern/internal/ctxio"
	"lectern/internal/jsonlines"
	"lectern/jsontree"
	"lectern/strapi/archive"
)

// A File is an open uploaded file.
type File struct {
	io.ReadCloser
	Size int64
}

// A fileList keeps the rows of uploaded files on disk until they are copied.
type fileList struct {
	file *os.File
	w    *bufio.Writer
}

func newFileList(f *os.File) *fileList { return &fileList{f, bufio.NewWriter(f)} }

// add adds a row: its id and its JSON.
func (l *fileList) add(id uint64, row []byte) error {
	line := strconv.AppendUint([]byte(`{"id":`), id, 10)
	line = append(append(line, ','), row[1:]...)
	_, err := l.w.Write(append(line, '\n'))
	return err
}

// each calls do for every row.
func (l *fileList) each(do func(row *jsontree.Object) error) error {
	if err := l.w.Flush(); err != nil {
		return err
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for r := jsonlines.NewReader(l.file, math.MaxInt); ; {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(row); err != nil {
			return err
		}
	}
}

// assets copies all uploaded files with their formats.
func (e *exporter) assets() error {
	if e.Open == nil {
		return nil
	}
	return e.files.each(func(row *jsontree.Object) error {
		if err := e.asset(row); err != nil {
			return fmt.Errorf("export file %s: %w", row.Value("name"), err)
		}
		return nil
	})
}

// asset copies one file with its formats. The sidecar of a format also names its file.
func (e *exporter) asset(file *jsontree.Object) error {
	if err := e.copyAsset(file, file); err != nil {
		return err
	}
	formats, ok := file.Value("formats").(*jsontree.Object)
	if !ok {
		return nil
	}
	for _, name := range formats.Keys {
		format, ok := formats.Value(name).(*jsontree.Object)
		if !ok {
			continue
		}
		if err := e.copyAsset(format, archive.FormatSidecar(file, name, format)); err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
	}
	return nil
}

// copyAsset copies what a file or format describes. Strapi looks for it under hash and extension.
func (e *exporter) copyAsset(of, sidecar *jsontree.Object) error {
	hash := of.Text("hash")
	if hash == "" {
		return nil
	}
	content, err := e.Open(e.ctx, path.Base(strings.TrimSuffix(of.Text("url"), "/")))
	if err != nil {
		return err
	}
	defer content.Close()
	return e.w.WriteAsset(archive.Asset{Name: hash + of.Text("ext"), Size: content.Size, Sidecar: sidecar,
		Content: ctxio.NewReader(e.ctx, content)})
}
