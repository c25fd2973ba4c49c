package movein_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lectern/gateway"
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
			return movein.Options{Source: copied(t, "", archive.Metadata{Version: "4.25.1", CreatedAt: now}, nil)}
		}, "upgrade that project to Strapi 5"},
		"not there":      {func(t *testing.T) movein.Options { return movein.Options{Source: filepath.Join(t.TempDir(), "none")} }, "no such file"},
		"no definitions": {func(t *testing.T) movein.Options { return movein.Options{Source: t.TempDir()} }, "this is no Strapi project"},
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
	return copied(t, key, archive.Metadata{Version: "5.54.0", CreatedAt: now}, nil)
}

// copied returns the path of a copy of the kitchen's archive. change, unless nil, changes each row; it returns false for a row to leave out.
func copied(t *testing.T, key string, metadata archive.Metadata, change func(*archive.Entity) bool) string {
	t.Helper()
	from, err := archive.Open(t.Context(), kitchen, archive.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(t.TempDir(), "export.tar.gz.enc")
	if key == "" {
		path = strings.TrimSuffix(path, ".enc")
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	to, err := archive.NewWriter(file, key)
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{t: t, w: to}
	for s, err := range from.Schemas(t.Context()) {
		g.check(err)
		g.check(to.WriteSchema(s))
	}
	for e, err := range from.Entities(t.Context()) {
		g.check(err)
		if change == nil || change(&e) {
			g.check(to.WriteEntity(e))
		}
	}
	for l, err := range from.Links(t.Context()) {
		g.check(err)
		g.check(to.WriteLink(l))
	}
	for s, err := range from.Configuration(t.Context()) {
		g.check(err)
		g.check(to.WriteSetting(s))
	}
	g.check(from.Assets(t.Context(), to.WriteAsset))
	g.check(to.Close(metadata))
	return path
}

// TestVacant checks that nothing is moved into a directory with files, and that an empty one may be there already.
func TestVacant(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := movein.Move(t.Context(), movein.Options{Source: kitchen, Dir: dir, Project: gateway.Options{LogTo: t.Output()}})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("error %v", err)
	}
	move(t, movein.Options{Source: kitchen, Dir: t.TempDir()})
}

// TestDryRun checks that a dry run counts what a move would, and writes nothing.
func TestDryRun(t *testing.T) {
	beside := t.TempDir()
	_, report := move(t, movein.Options{Source: kitchen, Dir: filepath.Join(beside, "project"), DryRun: true})
	if left, _ := os.ReadDir(beside); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	_, moved := move(t, movein.Options{Source: kitchen})
	if len(report.Census.Versions) != len(moved.Census.Versions) || len(report.Notes) != len(moved.Notes) {
		t.Errorf("the dry run has %d groups of versions and %d notes, the move %d and %d",
			len(report.Census.Versions), len(report.Notes), len(moved.Census.Versions), len(moved.Notes))
	}
	for i, v := range moved.Census.Versions {
		if d := report.Census.Versions[i]; d.Source != v.Source || v.Arrived != v.Source {
			t.Errorf("%s %s %s: the dry run counts %d, and %d arrived", v.Type, v.Status, v.Locale, d.Source, v.Arrived)
		}
	}
}

// TestLeftOut checks that whatever cannot come along is counted and named, and that the rest arrives.
func TestLeftOut(t *testing.T) {
	source := copied(t, "", archive.Metadata{Version: "5.54.0", CreatedAt: now}, func(e *archive.Entity) bool {
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
	})
	_, report := move(t, movein.Options{Source: source})
	notes := map[string]int{}
	for _, n := range report.Notes {
		notes[n.What+": "+n.Why] = n.Count
	}
	const missing = "the row that they lead to is not in the archive, or does not come along"
	for what, count := range map[string]int{
		"links of api::person.person.avatar: " + missing:                                                              1,
		"links of api::restaurant.restaurant.gallery: " + missing:                                                     5,
		"links of blocks.slider.files: " + missing:                                                                    2,
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
