package movein_test

import (
	"bytes"
	gocmp "cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

// TestRefused checks sources that cannot be moved in: the error says why, and nothing is left.
func TestRefused(t *testing.T) {
	whole, err := os.ReadFile(kitchen)
	if err != nil {
		t.Fatal(err)
	}
	file := func(t *testing.T, name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		options func(t *testing.T) movein.Options
		want    string
	}{
		"truncated": {func(t *testing.T) movein.Options {
			return movein.Options{Source: file(t, "export.tar.gz", whole[:len(whole)/2])}
		}, "truncated"},
		"damaged": {func(t *testing.T) movein.Options {
			broken := bytes.Clone(whole)
			for i := range 200 {
				broken[len(broken)/2+i] ^= 0x55
			}
			return movein.Options{Source: file(t, "export.tar.gz", broken)}
		}, "damaged"},
		"no archive": {func(t *testing.T) movein.Options {
			return movein.Options{Source: file(t, "export.tar.gz", []byte("hello"))}
		}, "archive"},
		"without the key": {func(t *testing.T) movein.Options {
			return movein.Options{Source: encrypted(t, "secret")}
		}, "needs the key"},
		"with another key": {func(t *testing.T) movein.Options {
			return movein.Options{Source: encrypted(t, "secret"), Key: "Secret"}
		}, "key is not the one"},
		"of Strapi 4": {func(t *testing.T) movein.Options {
			return movein.Options{Source: copied(t, copying{version: "4.25.1"})}
		}, "upgrade that project to Strapi 5"},
		"not there": {func(t *testing.T) movein.Options {
			return movein.Options{Source: filepath.Join(t.TempDir(),
				"none")}
		}, "no such file"},
		"no definitions": {func(t *testing.T) movein.Options { return movein.Options{Source: t.TempDir()} },
			"this is no Strapi project"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options(t)
			beside := t.TempDir()
			o.Dir, o.Project = filepath.Join(beside, "project"), gateway.Options{LogTo: t.Output()}
			_, err := movein.Move(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if left, _ := os.ReadDir(beside); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// encrypted returns the path of the kitchen's archive, encrypted with a key.
func encrypted(t *testing.T, key string) string {
	return copied(t, copying{key: key})
}

// copying says how a copy of an archive differs from the original.
type copying struct {
	source   string                     // the original; "" is the kitchen's
	key      string                     // encrypts the copy
	version  string                     // of Strapi; "" is 5.54.0
	change   func(*archive.Entity) bool // changes a row, or returns false to leave it out; nil changes none
	link     func(*archive.Link) bool   // says whether a link stays; nil: all do
	reverse  bool                       // links come in the reverse order
	noAssets bool
	schema   func(*archive.Schema) // changes a schema
}

// rewrite opens an archive to read, and one at path to write, which has the schemas of the first already. Both are
// closed at the end of the test. schema changes a schema; it may be nil.
func rewrite(t *testing.T, source, path, key string, schema func(*archive.Schema)) (*archive.Archive, *archive.Writer) {
	t.Helper()
	from, err := archive.Open(t.Context(), source, archive.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	to, err := archive.NewWriter(file, key)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range from.Schemas(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if schema != nil {
			schema(&s)
		}
		if err := to.WriteSchema(s); err != nil {
			t.Fatal(err)
		}
	}
	return from, to
}

// copied returns the path of a copy of an archive.
func copied(t *testing.T, c copying) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.tar.gz.enc")
	if c.key == "" {
		path = strings.TrimSuffix(path, ".enc")
	}
	from, to := rewrite(t, gocmp.Or(c.source, kitchen), path, c.key, c.schema)
	g := &generator{t: t, w: to}
	for e, err := range from.Entities(t.Context()) {
		g.check(err)
		if c.change == nil || c.change(&e) {
			g.check(to.WriteEntity(e))
		}
	}
	var links []archive.Link
	for l, err := range from.Links(t.Context()) {
		g.check(err)
		if c.link == nil || c.link(&l) {
			links = append(links, l)
		}
	}
	if c.reverse {
		slices.Reverse(links)
	}
	for _, l := range links {
		g.check(to.WriteLink(l))
	}
	for s, err := range from.Configuration(t.Context()) {
		g.check(err)
		g.check(to.WriteSetting(s))
	}
	if !c.noAssets {
		g.check(from.Assets(t.Context(), to.WriteAsset))
	}
	g.check(to.Close(archive.Metadata{Version: gocmp.Or(c.version, "5.54.0"), CreatedAt: now}))
	return path
}

// TestVacant checks that nothing is moved into a directory with files, and that an empty one may be there already.
func TestVacant(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := movein.Move(
		t.Context(), movein.Options{Source: kitchen, Dir: dir, Project: gateway.Options{LogTo: t.Output()}})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("error %v", err)
	}
	move(t, movein.Options{Source: kitchen, Dir: t.TempDir()})
}

// TestLeftOut checks that whatever cannot come along is counted and named, and that the rest arrives.
func TestLeftOut(t *testing.T) {
	source := copied(t, copying{change: func(e *archive.Entity) bool {
		switch {
		case e.Type == "plugin::upload.file" && e.ID == 2: // the file of many links
			return false
		case e.Type == "api::review.review" && e.ID == 2: // the same version as review 1
			e.Data.Set("documentId", "tpartbpy3bq00i77x197itrk")
		case e.Type == "api::person.person" && e.ID == 1:
			e.Data.Set("nickname", "Ace")
		case e.Type == "api::menu.menu": // its first component, which has links, is gone
			dishes := e.Data.Value("dishes").([]any)
			e.Data.Set("dishes", dishes[1:])
		}
		return true
	}})
	_, report := move(t, movein.Options{Source: source})
	notes := map[string]int{}
	for _, n := range report.Notes {
		notes[n.What+": "+n.Why] = n.Count
	}
	const missing = "the row that they lead to is not in the archive, or does not come along"
	for what, count := range map[string]int{
		"links of api::person.person.avatar: " +
			missing: 1,
		"links of api::restaurant.restaurant.gallery: " +
			missing: 5,
		"links of blocks.slider.files: " +
			missing: 2,
		"rows of api::review.review: another row is the same version of the same document":                            1,
		"links of api::review.review.restaurant: the row that has them is not in the archive, or does not come along": 2,
		"links of default.dish.categories: the component that has them is in no row that comes along":                 4,
		"values of api::person.person.nickname: there is no such attribute":                                           1,
	} {
		if notes[what] != count {
			t.Errorf("%d times %q, want %d", notes[what], what, count)
		}
	}
	for _, l := range report.Census.Links {
		want := map[string]movein.LinkCount{
			"api::restaurant.restaurant.gallery": {Source: 12, LeftOut: 5, Arrived: 7},
			"default.dish.categories":            {Source: 9, LeftOut: 4, Joined: 2, Arrived: 3},
			"api::review.review.restaurant":      {Source: 9, LeftOut: 2, Joined: 3, Arrived: 4},
		}
		if w, ok := want[l.Field]; ok {
			w.Field = l.Field
			if diff := cmp.Diff(w, l, cmpopts.IgnoreUnexported(l)); diff != "" {
				t.Error(diff)
			}
		}
	}
	if f := report.Census.Files; f.Source != 7 || f.Missing != 0 || f.Arrived != 7 {
		t.Errorf("files: %+v", f)
	}
}

// TestDifference checks that content which the store refuses is named, and that nothing is put in place.
func TestDifference(t *testing.T) {
	source := copied(t, copying{change: func(e *archive.Entity) bool {
		if e.Type == "api::category.category" {
			e.Data.Set("name", "Same")
		}
		return true
	}})
	dir := filepath.Join(t.TempDir(), "project")
	for range 2 { // the second run goes on, and finds the same
		_, err := movein.Move(
			t.Context(), movein.Options{Source: source, Dir: dir, Project: gateway.Options{LogTo: t.Output()}})
		var d *movein.Difference
		if !errors.As(err, &d) ||
			!strings.Contains(err.Error(),
				"api::category.category qeuux86h04ywnqid4j9xtqnm published: name: must be unique") {
			t.Fatalf("error %v", err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the project is there: %v", err)
		}
	}
	move(t, movein.Options{Source: kitchen, Dir: dir}) // another source begins anew
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

// TestTree moves a Strapi project in with an archive that lacks the uploaded files.
func TestTree(t *testing.T) {
	tree := t.TempDir()
	write := func(name string, text []byte) {
		path := filepath.Join(tree, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	from, err := archive.Open(t.Context(), kitchen, archive.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	for s, err := range from.Schemas(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(s.UID, "api::"); ok {
			_, name, _ = strings.Cut(name, ".")
			write("src/api/"+name+"/content-types/"+name+"/schema.json", jsontree.Append(nil, s.Data))
		} else if s.Data.Value("modelType") == "component" {
			write("src/components/"+strings.Replace(s.UID, ".", "/", 1)+".json", jsontree.Append(nil, s.Data))
		}
	}
	write("config/plugins.js",
		[]byte("module.exports = { 'users-permissions': { config: { jwtSecret: 'a secret of the tree' } } };\n"))
	write("package.json", []byte(`{"dependencies":{"@strapi/strapi":"5.54.0"}}`))
	write("public/uploads/notes_61299e30d1.txt", []byte("some notes\n"))

	dir, report := move(t, movein.Options{Source: tree, Archive: copied(t, copying{noAssets: true})})
	if f := report.Census.Files; f.Source != 8 || f.Missing != 7 || f.Arrived != 1 {
		t.Errorf("files: %+v", f)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config", "plugins.yaml"))
	if err != nil || !strings.Contains(string(text), "a secret of the tree") ||
		!strings.Contains(string(text), "default_role: authenticated") {
		t.Errorf("%s %v", text, err)
	}
	base, key := servertest.ServeStored(t, dir)
	if text := get(t, base+"/uploads/notes_61299e30d1.txt", key); text != "some notes\n" {
		t.Errorf("the file holds %q", text)
	}
	empty, report := move(t, movein.Options{Source: tree})
	if len(report.Census.Versions) > 0 {
		t.Errorf("without an archive there is %v", report.Census)
	}
	base, key = servertest.ServeStored(t, empty)
	if text := get(t, base+"/api/restaurants", key); !strings.Contains(text, `"data":[]`) {
		t.Errorf("the answer is %s", text)
	}
}

// TestElsewhere moves in a file that Strapi kept in a bucket: it comes along if the archive has it, and keeps its url
// otherwise.
func TestElsewhere(t *testing.T) {
	const bucket = "https://bucket.example.org/cms/"
	source := copied(t, copying{change: func(e *archive.Entity) bool {
		if e.Type != "plugin::upload.file" || e.ID < 3 {
			return true
		}
		files := []*jsontree.Object{e.Data}
		if formats, ok := e.Data.Value("formats").(*jsontree.Object); ok {
			files = append(files, formats.Value("thumbnail").(*jsontree.Object))
		}
		for _, o := range files {
			if e.ID == 3 {
				o.Set("hash", "not_in_the_archive")
			}
			o.Set("url", bucket+o.Value("hash").(string)+o.Value("ext").(string))
		}
		e.Data.Set("provider", "aws-s3")
		return true
	}})
	dir, report := move(t, movein.Options{Source: source})
	if f := report.Census.Files; f.Source != 7 || f.Arrived != 7 {
		t.Errorf("files: %+v", f)
	}
	base, key := servertest.ServeStored(t, dir)
	for path, want := range map[string]string{
		"/api/upload/files/3": `"url":"` + bucket +
			`not_in_the_archive.txt","previewUrl":null,"provider":"aws-s3"`,
		"/api/upload/files/4":                     `"url":"/uploads/green_0f3bb45dfa.png","previewUrl":null,"provider":"local"`,
		"/uploads/thumbnail_green_0f3bb45dfa.png": "PNG",
	} {
		if text := get(t, base+path, key); !strings.Contains(text, want) {
			t.Errorf("%s answers %s, want %s", path, text, want)
		}
	}
}
