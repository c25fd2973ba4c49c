package moveout_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/definitions"
	"lectern/strapi/movein"
)

// kitchen is an archive that Strapi 5.54.0 made of the kitchen project.
const kitchen = "../movein/testdata/kitchen.tar.gz"

// content is what an archive holds, in an order that does not matter to Strapi.
type content struct {
	entities, links, assets map[string]string
	versions                map[string]string // status and locale of each entity
	schemas                 []string
	settings                []string
}

// read reads the parts of an archive that come from a project's content. It leaves out positions, of which only the
// order counts, but keeps the order of links in each list.
func read(t *testing.T, path, key string) (c content, a *archive.Archive) {
	t.Helper()
	ctx := context.Background()
	a, err := archive.Open(ctx, path, archive.Options{Key: key, Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	c = content{entities: map[string]string{}, versions: map[string]string{}, assets: map[string]string{}}
	for s, err := range a.Schemas(ctx) {
		must(t, err)
		c.schemas = append(c.schemas, s.UID)
	}
	for e, err := range a.Entities(ctx) {
		must(t, err)
		name := fmt.Sprintf("%s %06d", e.Type, e.ID)
		c.entities[name] = canonical(e.Data)
		c.versions[name] = fmt.Sprint(e.Data.Value("publishedAt") == nil, e.Data.Value("locale"))
	}
	c.links = readLinks(t, a, c)
	for s, err := range a.Configuration(ctx) {
		must(t, err)
		c.settings = append(c.settings, canonical(s.Value))
	}
	must(t, a.Assets(ctx, func(x archive.Asset) error {
		sum := sha256.New()
		_, err := io.Copy(sum, x.Content)
		c.assets[x.Name] = fmt.Sprintf("%x %s", sum.Sum(nil), canonical(x.Sidecar))
		return err
	}))
	return c, a
}

// readLinks returns the ends of all links. The value of a link is its rank in the list of either end, among the links
// to rows of the same status and locale.
func readLinks(t *testing.T, a *archive.Archive, c content) map[string]string {
	name := func(e archive.End) string { return fmt.Sprintf("%s %06d%s %s", e.Type, e.ID, e.DocumentID, e.Field) }
	list := func(of, other archive.End) string {
		return name(of) + " " + c.versions[fmt.Sprintf("%s %06d", other.Type, other.ID)]
	}
	var all []archive.Link
	positions := map[string][]float64{}
	for l, err := range a.Links(context.Background()) {
		must(t, err)
		all = append(all, l)
		for key, pos := range map[string]float64{list(l.Left, l.Right): l.Left.Pos,
			list(l.Right, l.Left): l.Right.Pos} {
			positions[key] = append(positions[key], pos)
		}
	}
	rank := func(of, other archive.End) string {
		if of.Pos == 0 {
			return "-"
		}
		p := positions[list(of, other)]
		slices.Sort(p)
		return fmt.Sprint(slices.Index(slices.Compact(slices.Clone(p)), of.Pos))
	}
	links := map[string]string{}
	for _, l := range all {
		links[l.Kind+" "+l.Relation+" "+name(l.Left)+" -> "+name(l.Right)] = rank(l.Left, l.Right) + " " +
			rank(l.Right, l.Left)
	}
	return links
}

// canonical returns JSON text with sorted keys.
func canonical(v any) string {
	o, ok := v.(*jsontree.Object)
	if !ok || o == nil {
		return string(jsontree.Append(nil, v))
	}
	sorted := jsontree.NewObject()
	for _, key := range slices.Sorted(slices.Values(o.Keys)) {
		sorted.Set(key, o.Value(key))
	}
	return string(jsontree.Append(nil, sorted))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// moved moves an archive into a new project, and returns its directory.
func moved(t *testing.T, source string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	_, err := movein.Move(
		t.Context(), movein.Options{Source: source, Dir: dir, Project: gateway.Options{LogTo: t.Output()}})
	must(t, err)
	return dir
}

// isMade reports whether rows of a type are made anew in each project, so that they get other ids: those that come from
// the configuration, and the folders of files, of which Lectern keeps the paths alone.
func isMade(uid string) bool {
	return slices.ContainsFunc([]string{"plugin::users-permissions.permission", "plugin::users-permissions.role",
		"plugin::i18n.locale"}, func(made string) bool {
		return strings.Contains(uid, made)
	}) || strings.Contains(uid, "plugin::upload.folder") && !strings.Contains(uid, "plugin::upload.file ")
}

// TestThereAndBack moves an archive of Strapi in and out again: everything that the project keeps comes back as Strapi
// wrote it.
func TestThereAndBack(t *testing.T) {
	dir := moved(t, kitchen)
	out := filepath.Join(t.TempDir(), "out.tar.gz.enc")
	export(t, dir, out, "a key")

	want, _ := read(t, kitchen, "")
	got, _ := read(t, out, "a key")
	for name, parts := range map[string][2]map[string]string{
		"entities": {want.entities, got.entities}, "links": {want.links, got.links},
		"assets": {want.assets, got.assets},
	} {
		for _, part := range parts {
			for key := range part {
				if isMade(key) {
					delete(part, key)
				}
			}
		}
		if len(parts[0]) < 8 {
			t.Errorf("the archive has only %d %s", len(parts[0]), name)
		}
		if diff := cmp.Diff(parts[0], parts[1]); diff != "" {
			t.Errorf("%s (-Strapi +ours): %s", name, diff)
		}
	}
	if want := []string{`{"environment":null,"id":1,"key":"plugin_i18n_default_locale","tag":null,"type":"string","value":"en"}`}; !slices.Equal(got.settings, want) {
		t.Errorf("settings %s, want %s", got.settings, want)
	}
}

// TestDefinitionsComeBack makes a project of the definitions in an archive of ours, and compares it with the one that
// was exported.
func TestDefinitionsComeBack(t *testing.T) {
	dir := moved(t, kitchen)
	must(t, os.WriteFile(filepath.Join(dir, "content-types", "user.yaml"), []byte(usersOfTheProject), 0o600))
	out := filepath.Join(t.TempDir(), "out.tar.gz")
	export(t, dir, out, "")
	_, a := read(t, out, "")
	again, err := definitions.Convert(definitions.Source{Archive: func(line func([]byte) error) error {
		for s, err := range a.Schemas(t.Context()) {
			if err != nil {
				return err
			}
			if err := line(jsontree.Append(nil, s.Data)); err != nil {
				return err
			}
		}
		return nil
	}})
	must(t, err)
	other := filepath.Join(t.TempDir(), "again")
	must(t, again.Write(other))
	for _, part := range []string{"content-types", "components"} {
		want, got := files(t, filepath.Join(dir, part)), files(t, filepath.Join(other, part))
		if len(want) == 0 {
			t.Errorf("no %s", part)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-before +after): %s", part, diff)
		}
	}
}

// usersOfTheProject are attributes that a project adds to users, and rules that it adds to theirs.
const usersOfTheProject = `# Made from plugin::users-permissions.user in an archive of a Strapi project: attributes of users beside the built-in ones.
uid: plugin::users-permissions.user
attributes:
  username:
    maxLength: 20
  email:
    private: true
  nickname:
    type: string
    required: true
    private: true
    maxLength: 30
    default: nobody
  mood:
    type: enumeration
    enum: [calm, loud]
  avatar:
    type: media
    multiple: false
    allowedTypes: [images]
  friends:
    type: relation
    relation: manyToMany
    target: plugin::users-permissions.user
    inversedBy: friendsOf
  friendsOf:
    type: relation
    relation: manyToMany
    target: plugin::users-permissions.user
    mappedBy: friends
  home:
    type: relation
    relation: manyToOne
    target: api::restaurant.restaurant
`

// TestUsersComeBack moves a project out and in again that adds attributes to users: their definitions and values come
// back.
func TestUsersComeBack(t *testing.T) {
	dir := moved(t, kitchen)
	must(t, os.WriteFile(filepath.Join(dir, "content-types", "user.yaml"), []byte(usersOfTheProject), 0o600))
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output(), NoWatch: true})
	must(t, err)
	const user = `{"type":"plugin::users-permissions.user","documentId":"ada","data":{"username":"ada","email":"ada@example.org","provider":"local",
"confirmed":true,"blocked":false,"nickname":"Countess","mood":"calm","friends":["ada"],"role":"authenticated"}}`
	_, err = p.Import(t.Context(), strings.NewReader(strings.ReplaceAll(user, "\n", "")), transfer.ImportOptions{})
	must(t, err)
	must(t, p.Close())
	out := filepath.Join(t.TempDir(), "out.tar.gz")
	export(t, dir, out, "")
	again := moved(t, out)
	want, got := lines(t, dir), lines(t, again)
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(strings.Join(want, ""), "Countess") {
		t.Errorf("(-before +after): %s", diff)
	}
	third := filepath.Join(t.TempDir(), "out.tar.gz")
	export(t, again, third, "")
	if diff := cmp.Diff(userSchema(t, out), userSchema(t, third)); diff != "" {
		t.Errorf("(-before +after): %s", diff)
	}
}

// userSchema returns the definition of users in an archive.
func userSchema(t *testing.T, path string) string {
	_, a := read(t, path, "")
	for s, err := range a.Schemas(t.Context()) {
		must(t, err)
		if s.UID == "plugin::users-permissions.user" {
			return string(jsontree.Append(nil, s.Data))
		}
	}
	t.Fatal("the archive has no definition of users")
	return ""
}

// TestContentComesBack moves a project out and in again, and compares what Lectern exports of both: all rows with their
// ids, and links of every kind in their order.
func TestContentComesBack(t *testing.T) {
	for _, source := range []string{kitchen, "../movein/testdata/morph.tar.gz"} {
		t.Run(filepath.Base(source), func(t *testing.T) {
			first := moved(t, source)
			out := filepath.Join(t.TempDir(), "out.tar.gz")
			export(t, first, out, "")
			want, got := lines(t, first), lines(t, moved(t, out))
			if len(want) < 10 {
				t.Errorf("the project has only %d versions", len(want))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-before +after): %s", diff)
			}
		})
	}
}

// TestMissingFileIsNamed exports a project of whose uploads one is gone: an archive without it would be taken for
// complete.
func TestMissingFileIsNamed(t *testing.T) {
	dir := moved(t, kitchen)
	must(t, os.Remove(filepath.Join(dir, "data", "uploads", "thumbnail_red_b24a153d6b.png")))
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output(), NoWatch: true})
	must(t, err)
	out := filepath.Join(t.TempDir(), "out.tar.gz")
	f, err := os.Create(out)
	must(t, err)
	err = p.ExportStrapi(t.Context(), f, "")
	if err == nil || !strings.Contains(err.Error(), "export file red.png: format thumbnail: ") {
		t.Errorf("got %v; want an error that names the file", err)
	}
	must(t, f.Close())
	must(t, p.Close())
	if _, err := archive.Open(t.Context(), out, archive.Options{Dir: t.TempDir()}); err == nil {
		t.Error("what was written until then is taken for an archive")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "data", ".lectern-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v in the data directory (%v)", left, err)
	}
}

// lines returns what Lectern exports of a project in its own format.
func lines(t *testing.T, dir string) []string {
	t.Helper()
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output(), NoWatch: true})
	must(t, err)
	var out strings.Builder
	must(t, p.Export(t.Context(), &out))
	must(t, p.Close())
	return strings.Split(out.String(), "\n")
}

// files returns the files below dir.
func files(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(content)
		return err
	}))
	return all
}

// export writes the archive of the project in dir.
func export(t *testing.T, dir, out, key string) {
	t.Helper()
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output(), NoWatch: true})
	must(t, err)
	f, err := os.Create(out)
	must(t, err)
	must(t, p.ExportStrapi(t.Context(), f, key))
	must(t, f.Close())
	must(t, p.Close())
}
