package typescript_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/typescript"
)

var update = flag.Bool("update", false, "write what Write returns into the files of testdata/")

// withoutPlugins leaves out the types of plugins, which are the same for all projects.
var withoutPlugins = contenttypes.Options{WithoutUsersPermissions: true, WithoutUpload: true, WithoutI18N: true}

// model loads the definitions of a txtar archive.
func model(t *testing.T, path string, o contenttypes.Options) *contenttypes.Model {
	t.Helper()
	m, problems := contenttypes.LoadFS(storetest.Archive(t, path), o)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return m
}

// ownTypes returns the part of a module that differs between projects: the types of content.
func ownTypes(t *testing.T, module string) string {
	t.Helper()
	types, _, found := strings.Cut(module, "/** The code of a locale.")
	if !found {
		t.Fatal("the module has no type Locale")
	}
	return types
}

// TestTypes compares the types that are written for the definitions in testdata/ with the file want.ts of each archive.
// The tests of internal/clients compile such modules.
func TestTypes(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			m := model(t, path, withoutPlugins)
			got := ownTypes(t, string(typescript.Write(m, typescript.Options{})))
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			last := &archive.Files[len(archive.Files)-1]
			if *update {
				if last.Name != "want.ts" {
					archive.Files = append(archive.Files, txtar.File{Name: "want.ts"})
					last = &archive.Files[len(archive.Files)-1]
				}
				last.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(last.Data); got != want {
				t.Errorf("run the test with -update if this is meant:\n%s", cmp.Diff(want, got))
			}
			if again := ownTypes(t, string(typescript.Write(m, typescript.Options{}))); again != got {
				t.Error("the same definitions gave another text")
			}
		})
	}
}

// TestOptions checks what the options and the plugins add to a module.
func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name       string
		archive    string
		plugins    contenttypes.Options
		options    typescript.Options
		has, lacks []string
	}{
		{name: "types alone", archive: "attributes", plugins: withoutPlugins,
			has: []string{"export type Locale = (string & {})\n", "type CountedByDefault = false\n",
				"  | 'ValidationError'\n"},
			lacks: []string{"class Client", "interface UploadFile"}},
		{name: "locales", archive: "attributes", plugins: withoutPlugins,
			options: typescript.Options{Locales: []string{"en", "pt-BR"}},
			has:     []string{"export type Locale = 'en' | 'pt-BR' | (string & {})\n"}},
		{name: "lists are counted", archive: "attributes", plugins: withoutPlugins,
			options: typescript.Options{WithCount: true},
			has:     []string{"type CountedByDefault = true\n"}},
		{name: "a client", archive: "attributes", plugins: withoutPlugins,
			options: typescript.Options{Client: true, Prefix: "/content's"},
			has: []string{"export class Client {", `const defaultPrefix = '/content\'s'`, "  samples: '/samples',\n",
				"  note: '/note',\n",
				"  readonly schedules: LecternSchedules\n"},
			lacks: []string{"readonly files:", "readonly auth:"}},
		{name: "a client without anything to publish", archive: "names", plugins: withoutPlugins,
			options: typescript.Options{Client: true},
			lacks:   []string{"readonly schedules:", "class LecternSchedules"}},
		{name: "a client with all plugins", archive: "names", options: typescript.Options{Client: true},
			has: []string{"  readonly files: Files\n", "  readonly auth: Auth\n", "export interface UploadFile {",
				"export interface UsersPermissionsUserInput {"},
			lacks: []string{"export interface UploadFileInput"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := string(typescript.Write(model(t, "testdata/"+tt.archive+".txtar", tt.plugins), tt.options))
			for _, text := range tt.has {
				if strings.Count(got, text) != 1 {
					t.Errorf("%q is there %d times", text, strings.Count(got, text))
				}
			}
			for _, text := range tt.lacks {
				if strings.Contains(got, text) {
					t.Errorf("%q is there", text)
				}
			}
		})
	}
}

// TestAccess checks what the types for callers of limited access have and lack.
func TestAccess(t *testing.T) {
	m := model(t, "testdata/access/blog.txtar", withoutPlugins)
	limited := func(action, rule string) *permission.Rule {
		parsed, err := jsontree.Parse([]byte(rule), jsontree.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		r, err := permission.ReadRule(m, action, parsed.(*jsontree.Object), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const post, author, memo = "api::post.post.", "api::author.author.", "api::memo.memo."
	for _, tt := range []struct {
		name       string
		access     *permission.Access
		has, lacks []string
	}{
		{"nothing", permission.NewAccess(nil),
			[]string{"export interface ContentTypes {\n}\n"}, []string{"Post", "Author", "Memo"}},
		{"reads posts", permission.NewAccess([]string{post + "find"}),
			[]string{"export interface Post {", "  title: string\n", "  posts: 'api::post.post'\n",
				"    input: never\n", "      tags: Many<'parts.tag'>\n",
				"export interface ComponentPartsTag {"},
			[]string{"Author", "author", "Memo", "PostInput", "secret"}},
		{"reads posts and authors", permission.NewAccess([]string{post + "find", author + "find"}),
			[]string{"      author: One<'api::author.author'>\n", "  author?: RelationFilter<AuthorFiltersInput>"},
			[]string{"Memo", "AuthorInput"}},
		{"reads by one id", permission.NewAccess([]string{memo + "findOne"}),
			[]string{"export interface Memo {"}, []string{"Post", "MemoInput"}},
		{"reads two fields, one of them private",
			permission.NewAccess([]string{post + "find"}, limited(post+"find", `{"fields": ["title", "secret"]}`)),
			[]string{"  title: string\n", "  secret: string | null\n", "  secret?: TextFilter\n"},
			[]string{"summary", "tags", "ComponentPartsTag"}},
		{"writes what a rule leaves", permission.NewAccess([]string{post + "create"},
			limited(post+"create", `{"fields": ["title", "summary", "rating"], "set": {"rating": 1}}`)),
			[]string{"export interface PostInput {\n  title: string\n  summary?: string | null\n}\n"}, nil},
		{"creates and changes other fields", permission.NewAccess([]string{post + "create", post + "update"},
			limited(post+"create", `{"fields": ["summary"]}`), limited(post+"update", `{"fields": ["title"]}`)),
			[]string{"export interface PostInput {\n  title?: string\n  summary?: string | null\n}\n"}, nil},
		{"creates without links to what it may not find", permission.NewAccess([]string{post + "create"}),
			[]string{"  tags: readonly ComponentInput<ComponentPartsTagInput>[]\n", "    requiredLists: 'tags'\n"},
			[]string{"author"}},
		{"everything", permission.FullAccess,
			[]string{"  author?: RelationInput", "export interface MemoInput {", "  secret?: string | null\n"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ownTypes(t, string(typescript.Write(m, typescript.Options{Access: tt.access})))
			for _, text := range tt.has {
				if !strings.Contains(got, text) {
					t.Errorf("%q is not there", text)
				}
			}
			for _, text := range tt.lacks {
				if strings.Contains(got, text) {
					t.Errorf("%q is there", text)
				}
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}
