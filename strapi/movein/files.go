package movein

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lectern/internal/durable"
	"lectern/internal/within"
	"lectern/jsontree"
	"lectern/strapi/archive"
)

// files collects which files the documents of plugin::upload.file name: the uploads themselves and the formats of
// images.
type files struct {
	wanted map[string]fileSize
	notes  *notes
	has    map[string]bool // what the archive has, if there are files elsewhere that may come along
}

// A fileSize is what a document says about the size of a file. Either part may be missing.
type fileSize struct {
	Bytes     int64   `json:"bytes,omitempty"` // 0: the document does not say
	Kilobytes float64 `json:"kB"`              // of 1000 bytes, to two decimals
}

func (s fileSize) fits(bytes int64) bool {
	if s.Bytes > 0 {
		return s.Bytes == bytes
	}
	return math.Abs(s.Kilobytes-float64(bytes)/1000) <= 0.01
}

const uploadsPath = "/uploads/"

// take notes the files of a row of plugin::upload.file. A file of another provider than local comes along too if the
// source has it; then the row gets the url that the file has here.
func (f *files) take(data *jsontree.Object) {
	moved := f.takeOne(data)
	formats, _ := data.Value("formats").(*jsontree.Object)
	if formats != nil {
		for _, name := range formats.Keys {
			if format, ok := formats.Value(name).(*jsontree.Object); ok {
				f.takeOne(format)
			}
		}
	}
	if moved {
		data.Set("provider", "local")
		data.Set("provider_metadata", nil)
	}
}

// isElsewhere reports whether a row of plugin::upload.file says that the file is not on the server itself.
func isElsewhere(data *jsontree.Object) bool {
	return !strings.HasPrefix(data.Text("url"), uploadsPath)
}

// takeOne notes one file. It reports whether the file changed its url.
func (f *files) takeOne(data *jsontree.Object) (moved bool) {
	url := data.Text("url")
	name, local := strings.CutPrefix(url, uploadsPath)
	if !local {
		if name = data.Text("hash") + data.Text("ext"); !f.has[name] || !validName(name) {
			f.notes.add("uploaded files elsewhere", "the source does not have them; their documents keep the url "+
				host(url))
			return false
		}
		data.Set("url", uploadsPath+name)
	}
	if !validName(name) {
		f.notes.say("uploaded file "+url, "its name is no name of a file here")
		return !local
	}
	size := fileSize{Kilobytes: number(data.Value("size")).Float(),
		Bytes: int64(number(data.Value("sizeInBytes")).Float())}
	f.wanted[strings.Clone(name)] = size
	return !local
}

// host returns the beginning of a url, for people.
func host(url string) string {
	if i := strings.Index(url, "://"); i >= 0 {
		if j := strings.IndexByte(url[i+3:], '/'); j >= 0 {
			return url[:i+3+j]
		}
	}
	return path.Dir(url)
}

// validName reports whether a file may have this name in the directory of uploads.
func validName(name string) bool {
	return within.IsFileName(name) && !strings.Contains(name, "/")
}

// copyFiles copies the files that documents name to the directory of uploads. A dry run compares them with those that
// are there, and copies none.
func (m *move) copyFiles() error {
	dir := m.uploads()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	missing, unnamed := maps.Clone(m.staging.journal.Files), 0
	done := 0
	err = m.eachAsset(func(a archive.Asset) error {
		size, wanted := m.staging.journal.Files[a.Name]
		if !wanted {
			unnamed++
			return nil
		}
		if err := m.copyFile(root, a.Name, a.Size, a.Content); err != nil {
			return err
		}
		m.checkSize(a.Name, size, a.Size)
		delete(missing, a.Name)
		done++
		m.o.Progress(Progress{"copying files", done, len(m.staging.journal.Files)})
		return nil
	})
	if err != nil {
		return err
	}
	if err := m.copyFromTree(root, missing); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		m.notes.say("uploaded file "+name, "the source does not have it")
	}
	if unnamed > 0 {
		m.notes.say(fmt.Sprintf("%d files in the archive", unnamed), "no document names them")
	}
	m.counter.files = FileCount{Source: len(m.staging.journal.Files), Missing: len(missing)}
	return durable.SyncDir(dir)
}

func (m *move) eachAsset(do func(archive.Asset) error) error {
	if m.source.archive == nil {
		return nil
	}
	return m.source.archive.Assets(m.ctx, do)
}

// copyFromTree copies files that the archive lacks from the uploads of the Strapi project, if it was given.
func (m *move) copyFromTree(root *os.Root, missing map[string]fileSize) error {
	if m.source.tree == "" {
		return nil
	}
	uploads, err := os.OpenRoot(filepath.Join(m.source.tree, "public", "uploads"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer uploads.Close()
	for name, size := range missing {
		info, err := uploads.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := uploads.Open(name)
		if err != nil {
			return err
		}
		err = errors.Join(m.copyFile(root, name, info.Size(), f), f.Close())
		if err != nil {
			return err
		}
		m.checkSize(name, size, info.Size())
		delete(missing, name)
	}
	return nil
}

// checkSize notes a file whose size is not what its document says.
func (m *move) checkSize(name string, want fileSize, got int64) {
	if !want.fits(got) {
		m.notes.say("uploaded file "+name, "it has %d bytes in the source, which is not the size that its document has",
			got)
	}
}

// copyFile writes a file under another name and renames it at the end, so that a file that is there is complete. It
// never replaces a file whose content differs.
func (m *move) copyFile(root *os.Root, name string, size int64, content io.Reader) error {
	switch info, err := root.Lstat(name); {
	case err == nil && info.Size() == size:
		return compareFile(root, name, content)
	case err == nil:
		return &Difference{[]string{fmt.Sprintf("the project has another uploaded file %s, of %d bytes instead of %d",
			name, info.Size(), size)}}
	case m.o.DryRun:
		return nil
	}
	const part = ".move-in.part"
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("copy file %s: %w", name, err)
	}
	if n != size {
		return fmt.Errorf("copy file %s: the source has %d bytes of %d", name, n, size)
	}
	return root.Rename(part, name)
}

// compareFile returns a Difference if a file that is there has another content than the source.
func compareFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	here, there := sha256.New(), sha256.New()
	if _, err := io.Copy(here, f); err != nil {
		return err
	}
	if _, err := io.Copy(there, content); err != nil {
		return fmt.Errorf("compare file %s: %w", name, err)
	}
	if !bytes.Equal(here.Sum(nil), there.Sum(nil)) {
		return &Difference{[]string{fmt.Sprintf("the project has another uploaded file %s, of the same size", name)}}
	}
	return nil
}
