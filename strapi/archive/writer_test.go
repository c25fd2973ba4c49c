package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/strapi/archive"
)

// copyTo writes everything that the archive at path holds to w, and completes it.
func copyTo(t testing.TB, path string, w *archive.Writer, done func(archive.Metadata) error) {
	ctx := context.Background()
	a := open(t, path, "")
	for v, err := range a.Schemas(ctx) {
		must(t, err, w.WriteSchema(v))
	}
	for v, err := range a.Entities(ctx) {
		must(t, err, w.WriteEntity(v))
	}
	must(t, a.Assets(ctx, w.WriteAsset))
	for v, err := range a.Links(ctx) {
		must(t, err, w.WriteLink(v))
	}
	for v, err := range a.Configuration(ctx) {
		must(t, err, w.WriteSetting(v))
	}
	must(t, done(a.Metadata))
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// open opens an archive that is closed at the end of the test.
func open(t testing.TB, path, key string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(context.Background(), path, archive.Options{Key: key, Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	return a
}

func TestWrittenArchiveIsRead(t *testing.T) {
	source := writeDirectory(t, small)
	for _, key := range []string{"", "a key"} {
		t.Run("key "+key, func(t *testing.T) {
			var b bytes.Buffer
			w, err := archive.NewWriter(&b, key)
			must(t, err)
			copyTo(t, source, w, w.Close)
			got, err := readAll(open(t, write(t, "a", b.Bytes()), key))
			must(t, err)
			if diff := cmp.Diff(smallContents, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("directory", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		w, err := archive.CreateDirectory(dir)
		must(t, err)
		copyTo(t, source, w.Writer, w.Close)
		a := open(t, dir, "")
		got, err := readAll(a)
		must(t, err)
		if diff := cmp.Diff(smallContents, got); diff != "" {
			t.Error(diff)
		}
		if len(a.Ignored) > 0 {
			t.Errorf("left %s in the directory", a.Ignored)
		}
		if _, err := archive.CreateDirectory(dir); err == nil {
			t.Error("a directory with an archive was taken for a new one")
		}
	})
}

// entityOf returns an entity with n bytes of text.
func entityOf(t testing.TB, id, n int) archive.Entity {
	return parseEntity(t, fmt.Sprintf(`{"documentId":"d%d","text":%q}`, id, strings.Repeat("x", n)), uint64(id))
}

func TestLinesAreSpreadOverFiles(t *testing.T) {
	dir := t.TempDir()
	w, err := archive.CreateDirectory(dir)
	must(t, err)
	for id := 1; id <= 5; id++ {
		must(t, w.WriteEntity(entityOf(t, id, 2<<20)))
	}
	must(t, w.Close(archive.Metadata{Version: "5.0.0"}))
	files, err := filepath.Glob(filepath.Join(dir, "entities", "entities_0000?.jsonl"))
	must(t, err)
	if len(files) != 3 {
		t.Errorf("10 MB lie in %d files; want 3", len(files))
	}
	next := uint64(0)
	for e, err := range open(t, dir, "").Entities(context.Background()) {
		must(t, err)
		if next++; e.ID != next {
			t.Fatalf("row %d comes as number %d", e.ID, next)
		}
	}
	if next != 5 {
		t.Errorf("read %d rows of 5", next)
	}
}

// TestDirectoryIsContinued kills a writer, in effect, after it has written lines that its caller does not know to be
// durable.
func TestDirectoryIsContinued(t *testing.T) {
	dir := t.TempDir()
	d, err := archive.CreateDirectory(dir)
	must(t, err)
	must(t, d.WriteEntity(entityOf(t, 1, 10)))
	must(t, d.WriteAsset(archive.Asset{Name: "a.txt", Size: 1, Content: strings.NewReader("a")}))
	at, err := d.Flush()
	must(t, err)
	kept, err := json.Marshal(at)
	must(t, err)
	for id := 2; id <= 4; id++ {
		must(t, d.WriteEntity(entityOf(t, id, 5<<20))) // becomes a file without Flush
	}

	at = nil
	must(t, json.Unmarshal(kept, &at))
	if d, err = archive.ContinueDirectory(dir, at); err != nil {
		t.Fatal(err)
	}
	must(t, d.WriteEntity(entityOf(t, 2, 20)))
	must(t, d.Close(archive.Metadata{Version: "5.0.0"}))
	got, err := readAll(open(t, dir, ""))
	must(t, err)
	if len(got.Assets) != 1 {
		t.Errorf("the continued archive has %d files; want the one of the first writer", len(got.Assets))
	}
	if len(got.Entities) != 2 || len(got.Entities[1]) > 200 {
		t.Errorf("the continued archive has %d rows; want the first one and the second of the second writer",
			len(got.Entities))
	}

	// An archive that is being continued is incomplete.
	_, err = archive.ContinueDirectory(dir, at)
	must(t, err)
	refuses(t, dir, "", "metadata.json")
}

func TestAssetsAreAsLongAsAnnounced(t *testing.T) {
	for _, content := range []string{"", "1", "333"} {
		var b bytes.Buffer
		packed, err := archive.NewWriter(&b, "")
		must(t, err)
		path := t.TempDir()
		dir, err := archive.CreateDirectory(path)
		must(t, err)
		for name, w := range map[string]*archive.Writer{"packed": packed, "directory": dir.Writer} {
			if err := w.WriteAsset(archive.Asset{Name: "a", Size: 2, Content: strings.NewReader(content)}); err == nil {
				t.Errorf("%s: took %d bytes for 2", name, len(content))
			}
		}
		if _, err := os.Lstat(filepath.Join(path, "assets/uploads/a")); !os.IsNotExist(err) {
			t.Error("a part of an asset lies in the directory")
		}
	}
}

func TestWriterRefusesEscapes(t *testing.T) {
	root := t.TempDir()
	dir, err := archive.CreateDirectory(filepath.Join(root, "archive"))
	must(t, err)
	for _, name := range []string{"../../../x", "/x", "a/../../../../x", "..", ""} {
		if err := dir.WriteAsset(archive.Asset{Name: name, Size: 1, Content: strings.NewReader("x")}); err == nil {
			t.Errorf("took an asset named %q", name)
		}
	}
	if there, err := os.ReadDir(root); err != nil || len(there) != 1 {
		t.Errorf("files beside the directory: %v (%v)", there, err)
	}
}
