package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/strapi/archive"
)

// refuses checks that opening or reading the archive at path ends in an error with the given text, and that nothing is
// left in the directory for temporary files.
func refuses(t *testing.T, path, key, message string) {
	t.Helper()
	dir := t.TempDir()
	a, err := archive.Open(context.Background(), path, archive.Options{Key: key, Dir: dir})
	if err == nil {
		_, err = readAll(a)
		must(t, a.Close())
	}
	if err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v; want an error with %q", err, message)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v in its directory (%v)", left, err)
	}
}

// with returns the archive small with one file replaced or added before the metadata.
func with(name, content string) []entry {
	entries := slices.Clone(small)
	if i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name }); i >= 0 {
		entries[i].content = content
		return entries
	}
	return slices.Insert(entries, len(entries)-1, entry{name, content})
}

func TestWrongFilesAreNamed(t *testing.T) {
	long := `{"type":"` + strings.Repeat("x", 64<<20) + `"}`
	tests := []struct{ name, file, content, message string }{
		{"no JSON", "entities/entities_00002.jsonl", "{}\n", `entities_00002.jsonl:1: no text under "type"`},
		{"cut line", "entities/entities_00002.jsonl", `{"type":"a","id":1,"data":{"x":`, "entities_00002.jsonl:1: "},
		{"binary", "links/links_00001.jsonl", "\n\x00\xff", "links_00001.jsonl:2: "},
		{"a list", "links/links_00001.jsonl", "[]", "links_00001.jsonl:1: not a JSON object"},
		{"deep", "links/links_00001.jsonl", strings.Repeat("[", 100_000), "links_00001.jsonl:1: "},
		{"no id", "entities/entities_00001.jsonl", `{"type":"a","id":-1,"data":{}}`, `no id of a row under "id"`},
		{"no data", "entities/entities_00001.jsonl", `{"type":"a","id":1,"data":[]}`, `no object under "data"`},
		{"no end", "links/links_00001.jsonl",
			`{"kind":"relation.basic","relation":"oneToOne","left":{"type":"a","ref":1}}`, `no object under "right"`},
		{"no type of an end", "links/links_00001.jsonl", `{"kind":"k","relation":"r","left":{"ref":1},"right":{}}`,
			`left: no text under "type"`},
		{"no uid", "schemas/schemas_00001.jsonl", `{"attributes":{}}`, `schemas_00001.jsonl:1: no text under "uid"`},
		{"sidecar", "assets/metadata/pic_1.png.json", `{`, "assets/metadata/pic_1.png.json: "},
		{"metadata", "metadata.json", `{`, "metadata.json: "},
		{"version", "metadata.json", `{}`, "which Strapi"},
		{"long line", "entities/entities_00002.jsonl", long, "entities_00002.jsonl:1: longer than 64 MB"},
		{"long sidecar", "assets/metadata/pic_1.png.json", long, "pic_1.png.json: longer than 64 MB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			refuses(t, write(t, "a.tar", tarOf(t, with(test.file, test.content))), "", test.message)
		})
	}
}

// hostileUIDs would lead out of a directory, or to a hidden file, if a file were named after them.
var hostileUIDs = []string{
	"x./../../../name", "../name.x", "x.../name", "/tmp/x.name", `x.\..\..\name`, "api::../../x.name", "api::x/y.z",
	"x.na\x00me", "x.name\n",
	".x", "x.", "x..y", "::x.y", "a::b::c", "x.c:name", " . ", strings.Repeat("x", 300),
}

func TestHostileUIDsAreRefused(t *testing.T) {
	for _, uid := range hostileUIDs {
		text, err := json.Marshal(uid)
		must(t, err)
		for file, line := range map[string]string{
			"schemas/schemas_00001.jsonl":   `{"uid":%s,"modelType":"component","attributes":{}}`,
			"entities/entities_00001.jsonl": `{"type":%s,"id":1,"data":{}}`,
			"links/links_00001.jsonl":       `{"kind":"k","relation":"r","left":{"type":"a","ref":1},"right":{"type":%s,"ref":1}}`,
		} {
			t.Run(uid+" in "+file, func(t *testing.T) {
				refuses(t, write(t, "a.tar", tarOf(t, with(file, fmt.Sprintf(line, text)))), "",
					"cannot be the uid of a content-type or component")
			})
		}
	}
	for _, uid := range []string{
		"a", "api::blog-post.blog_post", "plugin::users-permissions.user", "strapi::core-store", "admin::api-token",
		"blocks.hero banner", "Größe.Maß", "a.b.c",
	} {
		if err := archive.CheckUID(uid); err != nil {
			t.Error(err)
		}
	}
}

func TestEscapesAreRefused(t *testing.T) {
	for _, name := range []string{
		"../escaped", "entities/../../escaped", "/tmp/escaped", "assets/uploads/../../../escaped.png", `..\escaped`,
		`entities\..\..\escaped`,
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, write(t, "a.tar", tarOf(t, with(name, "x"))), "", "leads out of the archive")
		})
	}
}

func TestOnlyPlainFilesAreTaken(t *testing.T) {
	for message, h := range map[string]tar.Header{
		"a symbolic link": {Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a hard link":     {Typeflag: tar.TypeLink, Linkname: "metadata.json"},
		"a device":        {Typeflag: tar.TypeChar},
		"a pipe":          {Typeflag: tar.TypeFifo},
	} {
		t.Run(message, func(t *testing.T) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			h.Name = "assets/uploads/link.png"
			must(t, w.WriteHeader(&h), w.Close())
			refuses(t, write(t, "a.tar", b.Bytes()), "", "assets/uploads/link.png is no plain file but "+message)
		})
	}
	t.Run("directory with a link", func(t *testing.T) {
		dir := writeDirectory(t, small)
		must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "assets/uploads/link.png")))
		refuses(t, dir, "", "assets/uploads/link.png is no plain file but a symbolic link")
	})
}

func TestTwiceTheSameFileIsRefused(t *testing.T) {
	refuses(t, write(t, "a.tar", tarOf(t, append(slices.Clone(small), small[0]))), "",
		"schemas_00001.jsonl is in the archive twice")
}

func TestDamageIsFound(t *testing.T) {
	packed := tarOf(t, small)
	compressed := gzipOf(t, packed)
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, "key")
	must(t, err)
	copyTo(t, writeDirectory(t, small), w, w.Close)
	encrypted := b.Bytes()
	flipped := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[at] ^= 0x10
		return b
	}
	tests := []struct {
		name    string
		content []byte
		key     string
		message string
	}{
		{"empty", nil, "", "the file is empty"},
		{"database", []byte("SQLite format 3\x00" + strings.Repeat("x", 4096)), "",
			"is an SQLite database; make an archive"},
		{"tar without its end", packed[:len(packed)-3*1024], "", "metadata.json"},
		{"tar cut in a file", packed[:1024+100], "", "truncated"},
		{"tar with a changed header", flipped(packed, 1024), "", ""},
		{"gzip cut", compressed[:len(compressed)/2], "", "truncated"},
		{"gzip without its checksum", compressed[:len(compressed)-8], "", "truncated"},
		{"gzip with a wrong checksum", flipped(compressed, len(compressed)-6), "", "damaged"},
		{"gzip with a changed byte", flipped(compressed, len(compressed)/2), "", ""},
		{"encrypted, cut", encrypted[:len(encrypted)-5], "key", "truncated"},
		{"encrypted, cut after a block", encrypted[:len(encrypted)/2&^15], "key", ""},
		{"encrypted, without the last block", encrypted[:len(encrypted)-16], "key", ""},
		{"encrypted, changed", flipped(encrypted, len(encrypted)/2), "key", ""},
		{"encrypted, wrong key", encrypted, "Key", archive.ErrKey.Error()},
		{"encrypted, no key", encrypted, "", archive.ErrKeyMissing.Error()},
		{"no archive", []byte("PK\x03\x04 a zip file"), "", archive.ErrKeyMissing.Error()},
		{"gzip of no tar", gzipOf(t, []byte("hello")), "", "truncated"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			refuses(t, write(t, "a", test.content), test.key, test.message)
		})
	}
}

// TestCutArchiveIsRefused cuts an archive at many lengths, and near its end at every one.
func TestCutArchiveIsRefused(t *testing.T) {
	compressed := gzipOf(t, tarOf(t, small))
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for n := 0; n < len(compressed); n++ {
		if n%16 != 0 && n < len(compressed)-32 {
			continue
		}
		must(t, os.WriteFile(path, compressed[:n], 0o600))
		a, err := archive.Open(context.Background(), path, archive.Options{Dir: dir})
		if err == nil {
			must(t, a.Close())
			t.Fatalf("opened the first %d of %d bytes", n, len(compressed))
		}
	}
}

func TestBombsAreRefused(t *testing.T) {
	t.Run("zeros", func(t *testing.T) {
		zeros := gzipOf(t, make([]byte, 1<<20))
		var b bytes.Buffer
		b.Write(gzipOf(t, headerOf(t, 1<<40)))
		for range 600 {
			b.Write(zeros)
		}
		refuses(t, write(t, "a", b.Bytes()), "", "expands to far more")
	})
	t.Run("entries", func(t *testing.T) {
		var b bytes.Buffer
		blocks := gzipOf(t, bytes.Repeat(headerOf(t, 0), 10_000))
		for range 20 {
			b.Write(blocks)
		}
		refuses(t, write(t, "a", b.Bytes()), "", "far more entries")
	})
	t.Run("holes", func(t *testing.T) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		must(t, w.WriteHeader(&tar.Header{Name: "assets/uploads/holes", Mode: 0o600, Size: 512, Format: tar.FormatPAX,
			PAXRecords: map[string]string{
				"LEC.sparse.major": "1", "LEC.sparse.minor": "0", "LEC.sparse.realsize": "1000000000000",
			}}))
		_, err := w.Write(append([]byte("0\n"), make([]byte, 510)...))
		must(t, err, w.Close())
		sparse := bytes.ReplaceAll(b.Bytes(), []byte("LEC.sparse"), []byte("GNU.sparse"))
		refuses(t, write(t, "a.tar", sparse), "", "a file with holes")
	})
}

// headerOf returns the header of an asset of size bytes.
func headerOf(t *testing.T, size int64) []byte {
	var b bytes.Buffer
	must(t, tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "assets/uploads/bomb", Mode: 0o600, Size: size}))
	return b.Bytes()
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, path := range map[string]string{"file": write(t, "a", gzipOf(t, tarOf(t, small))),
		"directory": writeDirectory(t, small)} {
		if _, err := archive.Open(ctx, path, archive.Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
