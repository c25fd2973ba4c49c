package archive_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"lectern/strapi/archive"
)

// FuzzArchive opens any bytes as an archive without encryption, whose key takes most of the time to make. A file that
// can be read must be the same after it was written and read again, and nothing may be written outside of the temporary
// directory.
func FuzzArchive(f *testing.F) {
	packed := tarOf(f, small)
	for _, seed := range [][]byte{packed, gzipOf(f, packed), packed[:1536],
		tarOf(f, []entry{{"../x", "x"}, small[len(small)-1]})} {
		f.Add(seed)
	}
	root := f.TempDir()
	path, temp := filepath.Join(root, "archive"), filepath.Join(root, "temp")
	must(f, os.Mkdir(temp, 0o700))
	f.Fuzz(func(t *testing.T, content []byte) {
		must(t, os.WriteFile(path, content, 0o600))
		a, err := archive.Open(context.Background(), path, archive.Options{Dir: temp})
		if err == nil {
			if _, err = readAll(a); err == nil {
				writeAgain(t, a)
			}
			must(t, a.Close())
		}
		for dir, files := range map[string]int{root: 2, temp: 0} {
			if there, err := os.ReadDir(dir); err != nil || len(there) != files {
				t.Fatalf("%s has %v (%v)", dir, there, err)
			}
		}
	})
}

// writeAgain writes the lines of a into another archive and compares the two.
func writeAgain(t *testing.T, a *archive.Archive) {
	ctx := context.Background()
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, "")
	must(t, err)
	for v, err := range a.Entities(ctx) {
		must(t, err, w.WriteEntity(v))
	}
	for v, err := range a.Links(ctx) {
		must(t, err, w.WriteLink(v))
	}
	must(t, w.Close(a.Metadata))
	again, err := archive.Open(ctx, write(t, "a", b.Bytes()), archive.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, again.Close()) })
	first, err := readAll(a)
	must(t, err)
	second, err := readAll(again)
	must(t, err)
	if len(first.Entities) != len(second.Entities) || len(first.Links) != len(second.Links) {
		t.Fatalf("%d entities and %d links became %d and %d", len(first.Entities), len(first.Links),
			len(second.Entities), len(second.Links))
	}
	for i := range first.Entities {
		if first.Entities[i] != second.Entities[i] {
			t.Fatalf("%s became %s", first.Entities[i], second.Entities[i])
		}
	}
	for i := range first.Links {
		if first.Links[i] != second.Links[i] {
			t.Fatalf("%+v became %+v", first.Links[i], second.Links[i])
		}
	}
}
