package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/jsontree"
	"lectern/strapi/archive"
)

// An entry is a file of an archive.
type entry struct{ name, content string }

// small is an archive with something in every part.
var small = []entry{
	{"schemas/schemas_00001.jsonl", `{"uid":"api::article.article","modelType":"contentType"}` + "\n" +
		`{"uid":"blocks.slider","modelType":"component"}` + "\n"},
	{"entities/entities_00001.jsonl", `{"type":"api::article.article","id":1,"data":{"documentId":"a","title":"One"}}` +
		"\n"},
	{"entities/entities_00002.jsonl",
		`{"type":"api::article.article","id":"2","data":{"documentId":"b","big":12345678901234567890}}`},
	{"assets/metadata/pic_1.png.json", `{"id":7,"hash":"pic_1"}`},
	{"assets/uploads/pic_1.png", "picture"},
	{"assets/uploads/old.png", ""},
	{"links/links_00001.jsonl",
		`{"kind":"relation.morph","relation":"morphToMany","left":{"type":"plugin::upload.file","ref":7,"field":"related"},"right":{"type":"blocks.slider","ref":2,"field":"files","pos":1.5}}
{"kind":"relation.circular","relation":"oneToMany","left":{"type":"api::article.article","ref":1,"field":"localizations"},"right":{"type":"api::article.article","ref":"a"}}
`},
	{"configuration/configuration_00001.jsonl",
		"\n" + `{"type":"core-store","value":{"key":"plugin_i18n_default_locale","value":"en"}}` + "\n"},
	{"metadata.json", `{"createdAt":"2026-11-22T13:13:49.524Z","strapi":{"version":"5.54.0"}}`},
}

// tarOf returns a tar file with the entries.
func tarOf(t testing.TB, entries []entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t testing.TB, content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write writes a file into a new directory and returns its path.
func write(t testing.TB, name string, content []byte) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeDirectory writes the entries as files and returns their directory.
func writeDirectory(t testing.TB, entries []entry) string {
	dir := t.TempDir()
	for _, e := range entries {
		path := filepath.Join(dir, e.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(e.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// contents is everything that an archive holds.
type contents struct {
	Metadata archive.Metadata
	Schemas  []string
	Entities []string
	Links    []archive.Link
	Settings []string
	Assets   map[string][2]string // content and sidecar
}

func textOf(o *jsontree.Object) string {
	if o == nil {
		return ""
	}
	return string(jsontree.Append(nil, o))
}

// readAll returns everything that an archive holds, or the first error.
func readAll(a *archive.Archive) (c contents, err error) {
	ctx := context.Background()
	c = contents{Metadata: a.Metadata, Assets: map[string][2]string{}}
	for s, err := range a.Schemas(ctx) {
		if err != nil {
			return c, err
		}
		c.Schemas = append(c.Schemas, s.UID)
	}
	for e, err := range a.Entities(ctx) {
		if err != nil {
			return c, err
		}
		c.Entities = append(c.Entities, string(jsontree.Append([]byte(e.Type+" "), int64(e.ID)))+" "+textOf(e.Data))
	}
	for l, err := range a.Links(ctx) {
		if err != nil {
			return c, err
		}
		c.Links = append(c.Links, l)
	}
	for s, err := range a.Configuration(ctx) {
		if err != nil {
			return c, err
		}
		c.Settings = append(c.Settings, s.Type+" "+textOf(s.Value))
	}
	err = a.Assets(ctx, func(x archive.Asset) error {
		content, err := io.ReadAll(x.Content)
		c.Assets[x.Name] = [2]string{string(content), textOf(x.Sidecar)}
		return err
	})
	return c, err
}

// smallContents is what the archive small holds.
var smallContents = contents{
	Metadata: archive.Metadata{CreatedAt: "2026-11-22T13:13:49.524Z", Version: "5.54.0"},
	Schemas:  []string{"api::article.article", "blocks.slider"},
	Entities: []string{
		`api::article.article 1 {"documentId":"a","title":"One"}`,
		`api::article.article 2 {"documentId":"b","big":12345678901234567890}`,
	},
	Links: []archive.Link{
		{Kind: "relation.morph", Relation: "morphToMany",
			Left:  archive.End{Type: "plugin::upload.file", Field: "related", ID: 7},
			Right: archive.End{Type: "blocks.slider", Field: "files", ID: 2, Pos: 1.5}},
		{Kind: "relation.circular", Relation: "oneToMany",
			Left:  archive.End{Type: "api::article.article", Field: "localizations", ID: 1},
			Right: archive.End{Type: "api::article.article", DocumentID: "a"}},
	},
	Settings: []string{`core-store {"key":"plugin_i18n_default_locale","value":"en"}`},
	Assets:   map[string][2]string{"pic_1.png": {"picture", `{"id":7,"hash":"pic_1"}`}, "old.png": {"", ""}},
}

func TestArchiveIsRead(t *testing.T) {
	packed := tarOf(t, small)
	for name, path := range map[string]string{
		"directory":      writeDirectory(t, small),
		"tar":            write(t, "a.tar", packed),
		"compressed":     write(t, "a.tar.gz", gzipOf(t, packed)),
		"any other name": write(t, "export", gzipOf(t, packed)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a, err := archive.Open(context.Background(), path, archive.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // streams can be read again
				got, err := readAll(a)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(smallContents, got); diff != "" {
					t.Error(diff)
				}
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("the closed archive left %v in its directory (%v)", left, err)
			}
		})
	}
}

// TestUnusualArchives reads what early releases, other systems and people who packed an archive anew have made.
func TestUnusualArchives(t *testing.T) {
	var numbered []entry
	for _, n := range []string{"10", "2", "1"} {
		numbered = append(numbered, entry{"entities/entities_" + n + ".jsonl", `{"type":"a","id":` + n + `,"data":{}}`})
	}
	tests := []struct {
		name     string
		entries  []entry
		entities int
		ignored  []string
	}{
		{"backslashes of Windows", []entry{{`entities\entities_00001.jsonl`, small[1].content}}, 1, nil},
		{"leading ./", []entry{{"./entities/entities_00001.jsonl", small[1].content}}, 1, nil},
		{"carriage returns",
			[]entry{{"entities/entities_00001.jsonl", "{\"type\":\"a\",\"id\":1,\"data\":{}}\r\n\r\n"}}, 1, nil},
		{"order of numbers", numbered, 3, nil},
		{"other files", []entry{{"README", "x"}, {"entities/.DS_Store", "x"}}, 0,
			[]string{"README", "entities/.DS_Store"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := open(t, write(t, "a.tar", tarOf(t, append(test.entries, small[len(small)-1]))), "")
			got, err := readAll(a)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Entities) != test.entities || !slices.Equal(a.Ignored, test.ignored) {
				t.Errorf("got %d entities, ignored %q", len(got.Entities), a.Ignored)
			}
			for i, e := range got.Entities {
				if test.entities == 3 && !strings.HasPrefix(e, "a "+[]string{"1 ", "2 ", "10 "}[i]) {
					t.Errorf("entity %d is %s", i, e)
				}
			}
		})
	}
}

// parseEntity returns an entity with the given JSON as data.
func parseEntity(t testing.TB, data string, id uint64) archive.Entity {
	t.Helper()
	v, err := jsontree.Parse([]byte(data), jsontree.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return archive.Entity{Type: "api::article.article", ID: id, Data: v.(*jsontree.Object)}
}
