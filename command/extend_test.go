package command_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/command"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// TestProgramShowsItsOwnName runs a program with a name of its own. Usage, errors and proposed calls must show that
// name.
func TestProgramShowsItsOwnName(t *testing.T) {
	dir := t.TempDir()
	article := filepath.Join(dir, "blog/content-types/article.yaml")
	for _, c := range []struct {
		args   string
		code   int
		prints string
	}{
		{"--help", 0, "Usage: magazine <command>"},
		{"sreve", 2, "Run \"magazine --help\" or \"magazine COMMAND --help\""},
		{"check nowhere", 1, "magazine: there is no directory"},
		{"init " + dir + "/blog", 0, "serve it:  magazine serve "},
		{"token list " + dir + "/blog", 0, "`magazine token create " + dir + "/blog NAME`"},
		{"migrate " + dir + "/blog nothing", 2, "\"magazine migrate --help\""},
		{"serve --addr 127.0.0.1:0 " + dir + "/blog", 1, "magazine migrate " + dir + "/blog "},
	} {
		if strings.HasPrefix(
			c.args, "serve") { // rename an attribute that has content, so that serve suggests a migration
			text, err := os.ReadFile(article)
			if err == nil {
				err = os.WriteFile(article, bytes.ReplaceAll(text, []byte("summary:"), []byte("teaser:")), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		code := command.Main(t.Context(), strings.Fields(c.args),
			command.Program{Name: "magazine", Stdout: &out, Stderr: &out})
		if code != c.code || !strings.Contains(out.String(), c.prints) {
			t.Errorf("%s: exit code %d, want %d\n%swant %s", c.args, code, c.code, out.String(), c.prints)
		}
	}
}

// TestEveryCommandKnowsTheExtensions runs commands of a program with extensions. All of them must know the extensions,
// not only serve.
func TestEveryCommandKnowsTheExtensions(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes: {text: {type: string}}\n",
		"config/permissions.yaml": "roles: {public: {api::note.note: [shout]}}\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shout := func(x *gateway.Extensions) error {
		x.Handle(gateway.Route{Method: "GET", Path: "/shout", Action: "api::note.note.shout",
			Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error { return nil }})
		x.GraphQL().Use(schema.Extension{TypeDefs: "extend type Query { loudest: Note }", Resolvers: schema.Resolvers{
			"Query": {"loudest": func(graphql.ResolveParams) (any, error) { return nil, nil }}}})
		return nil
	}
	unanswered := func(x *gateway.Extensions) error {
		x.GraphQL().Use(schema.Extension{TypeDefs: "extend type Query { quietest: Note }"})
		return shout(x)
	}
	misfit := func(x *gateway.Extensions) error {
		x.Hooks(documents.Hooks{}, "api::nothing.nothing")
		return shout(x)
	}
	failing := func(*gateway.Extensions) error { return errors.New("no key for the search engine in the environment") }
	for _, c := range []struct {
		what   string
		extend func(*gateway.Extensions) error
		args   string
		code   int
		prints string
	}{
		{"a permission that nobody brings", nil, "check", 1, `api::note.note has no action "shout"`},
		{"one that the program brings", shout, "check", 0, "are fine"},
		{"its schema", shout, "schema", 0, "loudest: Note"},
		{"a token for it", shout, "token create shouter --type custom --permission api::note.note.shout", 0, ""},
		{"what does not fit", misfit, "check", 1, `extensions: hooks: there is no content-type "api::nothing.nothing"`},
		{"what does not fit, served", misfit, "serve", 1,
			`extensions: hooks: there is no content-type "api::nothing.nothing"`},
		{"a field that nothing answers", unanswered, "check", 1,
			"extensions: Query.quietest: nothing answers this field"},
		{"a field that nothing answers, served", unanswered, "serve", 1,
			"extensions: Query.quietest: nothing answers this field"},
		{"a program that cannot say what it adds", failing, "check", 1, "no key for the search engine"},
	} {
		var out bytes.Buffer
		words := strings.Fields(c.args)
		args := append([]string{words[0]}, dir)
		if words[0] == "token" {
			args = append([]string{"token", "create", dir}, words[2:]...)
		}
		code := command.Main(t.Context(), args, command.Program{Extend: c.extend, Stdout: &out, Stderr: &out})
		if code != c.code || !strings.Contains(out.String(), c.prints) {
			t.Errorf("%s: exit code %d, want %d\n%swant %s", c.what, code, c.code, out.String(), c.prints)
		}
	}
}
