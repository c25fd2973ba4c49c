package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// buildExample builds a project of examples/, which is a module of its own. It uses only dependencies of the main
// module, so it needs no network.
func buildExample(t *testing.T, name string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("examples", name)
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build examples/%s: %v (when the dependencies of the main module have changed, run go mod tidy there)\n%s", name, err, out)
	}
	return program
}

// copyExample copies the project of an example to a directory of the test, without the content and the settings that
// somebody who tried it may have left there.
func copyExample(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	from := "examples/" + name + "/"
	files := map[string]string{}
	for _, file := range trackedFiles(t, from+"content-types/*", from+"config/*", from+"content/*") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(file, from)] = string(text)
	}
	writeFiles(t, dir, files)
	return dir
}

// A client sends requests to a served example.
type client struct {
	base string
	keys map[string]string // API tokens, and the tokens of users by name
	id   string            // replaces @id in paths and bodies
}

// serveEphemeral serves an example on an empty store until the test ends.
func serveEphemeral(t *testing.T, program, dir string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	serve := exec.CommandContext(ctx, program, "serve", dir, "--ephemeral", "--env", "production", "--addr",
		"127.0.0.1:0")
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	serve.Stderr = &log
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if serve.Wait(); serve.ProcessState.ExitCode() != 0 || strings.Contains(log.String(), `"level":"ERROR"`) {
			t.Errorf("serve: exit code %d\n%s", serve.ProcessState.ExitCode(), log.String())
		}
	})
	c := &client{}
	var ready struct {
		Base   string
		Tokens map[string]string
	}
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("the server does not say where it is: %v\n%s", err, log.String())
	}
	c.base, c.keys = ready.Base, ready.Tokens
	return c
}

// do sends a request and returns the response and its body.
func (c *client) do(t *testing.T, as, method, path, body string) (*http.Response, string) {
	t.Helper()
	fill := strings.NewReplacer("@id", c.id)
	req, err := http.NewRequest(method, c.base+fill.Replace(path), strings.NewReader(fill.Replace(body)))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+c.keys[as])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// register creates a user whose token later requests select by name.
func (c *client) register(t *testing.T, name string) {
	t.Helper()
	_, text := c.do(t, "", "POST", "/api/auth/local/register", `{"username":"`+name+`","email":"`+name+
		`@example.org","password":"correct horse"}`)
	var answer struct{ JWT string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.JWT == "" {
		t.Fatal(text)
	}
	c.keys[name] = answer.JWT
}

// role returns the id of a role.
func (c *client) role(t *testing.T, kind string) string {
	t.Helper()
	_, text := c.do(t, "full", "GET", "/api/users-permissions/roles", "")
	var answer struct {
		Roles []struct {
			ID   int
			Type string
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(text)
	}
	for _, r := range answer.Roles {
		if r.Type == kind {
			return strconv.Itoa(r.ID)
		}
	}
	t.Fatalf("there is no role %s: %s", kind, text)
	return ""
}

// An exchange is a request by one client and the expected response.
type exchange struct {
	what, as, method, path, body string
	status                       int
	holds                        string
}

func (c *client) exchange(t *testing.T, list []exchange) {
	for _, x := range list {
		t.Run(x.what, func(t *testing.T) {
			res, text := c.do(t, x.as, x.method, x.path, x.body)
			if want := strings.ReplaceAll(x.holds, "@id", c.id); res.StatusCode != x.status ||
				!strings.Contains(text, want) {
				t.Errorf("%d %s\nwant %d with %s", res.StatusCode, text, x.status, want)
			}
		})
	}
}

// TestMagazine serves examples/magazine and tests everything that its code adds.
func TestMagazine(t *testing.T) {
	program, project := buildExample(t, "magazine"), copyExample(t, "magazine")
	c := serveEphemeral(t, program, project)
	c.register(t, "ada")
	c.register(t, "tom")
	const (
		failed    = `"error":{"status":403,"name":"PolicyError","message":"Policy Failed","details":{}}`
		forbidden = `"error":{"status":403,"name":"ForbiddenError","message":"Forbidden","details":{}}`
		long      = `Eleven guests came, and there was soup for eight. This is how it was made to do.`
	)
	_, text := c.do(t, "ada", "POST", "/api/articles", `{"data":{"title":"Soup for Eleven Guests!","text":"`+long+
		`","notes":"check the salt"}}`)
	var made struct {
		Data struct{ DocumentID, Slug string }
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.Data.Slug != "soup-for-eleven-guests" {
		t.Fatal(text)
	}
	c.id = made.Data.DocumentID

	graphql := func(query string) string {
		body, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	c.exchange(t, []exchange{
		{"a slug of one's own stays", "ada", "POST", "/api/articles?fields=slug",
			`{"data":{"title":"Seeds","slug":"sowing"}}`, 201, `"slug":"sowing"`},
		{"nobody else's article", "tom", "PUT", "/api/articles/@id", `{"data":{"title":"Mine"}}`, 403, failed},
		{"one's own article", "ada", "PUT", "/api/articles/@id?fields=notes", `{"data":{"notes":"salted"}}`, 200,
			`"notes":"salted"`},
		{"a token's write", "full", "PUT", "/api/articles/@id?fields=notes", `{"data":{"notes":"seen"}}`, 200,
			`"notes":"seen"`},
		{"the public may not feature", "", "POST", "/api/articles/@id/feature", "", 403, forbidden},
		{"nor who does not own it", "tom", "POST", "/api/articles/@id/feature", "", 403, failed},
		{"nor a token without leave", "auditor", "POST", "/api/articles/@id/feature", "", 403, forbidden},
		{"what is not there", "full", "POST", "/api/articles/nothing/feature", "", 404, `"name":"NotFoundError"`},
		{"feature", "ada", "POST", "/api/articles/@id/feature", "", 200,
			`{"data":{"documentId":"@id","featured":true}}`},
		{"featured", "", "GET", "/api/articles/@id?fields=featured", "", 200, `"featured":true`},
		{"the words of titles", "", "GET", "/api/statistics/words", "", 200,
			`{"data":[{"word":"eleven","count":1},{"word":"for","count":1},{"word":"guests","count":1}]}`},
		{"a hook refuses", "full", "DELETE", "/api/articles/@id", "", 409,
			`"error":{"status":409,"name":"ConflictError","message":"This article is on the front page","details":{}}`},

		{"GraphQL: a query of its own", "", "POST", "/graphql", graphql(`{ topWords(limit: 2) { word count } }`), 200,
			`{"data":{"topWords":[{"word":"eleven","count":1},{"word":"for","count":1}]}}`},
		{"GraphQL: a policy with a config", "", "POST", "/graphql", graphql(`{ topWords(limit: 11) { word } }`), 200,
			`"extensions":{"code":"FORBIDDEN","error":{"name":"PolicyError","message":"Policy Failed","details":{}}}`},
		{"GraphQL: a document by its slug, with a computed field", "", "POST", "/graphql",
			graphql(`{ articleBySlug(slug: "soup-for-eleven-guests") { documentId title readingTime } }`), 200,
			`{"data":{"articleBySlug":{"documentId":"@id","title":"Soup for Eleven Guests!","readingTime":1}}}`},
		{"GraphQL: no document", "", "POST", "/graphql", graphql(`{ articleBySlug(slug: "none") { title } }`), 200,
			`{"data":{"articleBySlug":null}}`},
		{"GraphQL: scopes", "auditor", "POST", "/graphql", graphql(`{ articleBySlug(slug: "none") { title } }`), 200,
			`"message":"Forbidden access"`},
		{"GraphQL: a middleware cuts texts", "", "POST", "/graphql",
			graphql(`{ article(documentId: "@id") { text readingTime } }`), 200,
			`{"data":{"article":{"text":"Eleven guests came, and there was soup f…","readingTime":1}}}`},
		{"GraphQL: but for users", "tom", "POST", "/graphql", graphql(`{ article(documentId: "@id") { text } }`), 200,
			`{"data":{"article":{"text":"` + long + `"}}}`},
		{"GraphQL: the policy of the route", "tom", "POST", "/graphql",
			graphql(`mutation { updateArticle(documentId: "@id", data: {title: "Mine"}) { title } }`), 200,
			`"name":"PolicyError"`},
		{"GraphQL: one's own article", "ada", "POST", "/graphql",
			graphql(`mutation { updateArticle(documentId: "@id", data: {title: "Soup"}) { title } }`), 200,
			`{"data":{"updateArticle":{"title":"Soup"}}}`},
		{"GraphQL: hooks", "ada", "POST", "/graphql",
			graphql(`mutation { createArticle(data: {title: "Bread, at last"}) { slug } }`), 200,
			`{"data":{"createArticle":{"slug":"bread-at-last"}}}`},
		{"GraphQL: a resolver that creates a document", "tom", "POST", "/graphql",
			graphql(`mutation { submitArticle(title: "Tea", text: "Hot.") { title text publishedAt readingTime } }`),
			200,
			`{"data":{"submitArticle":{"title":"Tea","text":"Hot.","publishedAt":null,"readingTime":1}}}`},
		{"GraphQL: who created it", "full", "GET", "/api/articles?status=draft&filters[slug]=tea&fields=notes", "", 200,
			`"notes":"handed in by tom"`},
		{"GraphQL: an error that is told", "ada", "POST", "/graphql",
			graphql(`mutation { submitArticle(title: "TEA", text: "Cold.") { title } }`), 200,
			`{"errors":[{"message":"There is an article of this title","path":["submitArticle"],"extensions":{"code":"STRAPI_CONFLICT_ERROR","error":{"name":"ConflictError","message":"There is an article of this title","details":{}}}}],"data":{"submitArticle":null}}`},
		{"GraphQL: a permission that a user lacks", "ada", "POST", "/graphql",
			graphql(`mutation { promoteArticle(documentId: "@id") { title } }`), 200, `"message":"Forbidden access"`},
		{"GraphQL: a permission that a token was granted", "desk", "POST", "/graphql",
			graphql(`mutation { promoteArticle(documentId: "@id") { title featured } }`), 200,
			`{"data":{"promoteArticle":{"title":"Soup","featured":true}}}`},
		{"GraphQL: a role that a user lacks", "ada", "POST", "/graphql",
			graphql(`mutation { retractArticle(documentId: "@id") { title } }`), 200, `"name":"PolicyError"`},
		{"GraphQL: nor has a token it", "full", "POST", "/graphql",
			graphql(`mutation { retractArticle(documentId: "@id") { title } }`), 200, `"name":"PolicyError"`},
		{"GraphQL: filters", "", "POST", "/graphql",
			graphql(`{ articlesOf(username: "ada", filters: {title: {startsWith: "B"}}) { title } }`), 200,
			`{"data":{"articlesOf":[{"title":"Bread, at last"}]}}`},
		{"GraphQL: without filters", "", "POST", "/graphql", graphql(`{ articlesOf(username: "ada") { title } }`), 200,
			`{"data":{"articlesOf":[{"title":"Soup"},{"title":"Bread, at last"},{"title":"Seeds"}]}}`},
		{"GraphQL: filters by what is hidden", "", "POST", "/graphql",
			graphql(`{ articlesOf(username: "ada", filters: {owner: {email: {startsWith: "a"}}}) { title } }`), 200,
			`"message":"Invalid key owner"`},
		{"GraphQL: a disabled type", "full", "POST", "/graphql", graphql(`{ auditEntries { title } }`), 400,
			`Cannot query field \"auditEntries\" on type \"Query\".`},
		{"GraphQL: a disabled field", "full", "POST", "/graphql", graphql(`{ articles { notes } }`), 400,
			`Cannot query field \"notes\" on type \"Article\".`},
		{"GraphQL: a disabled action", "full", "POST", "/graphql",
			graphql(`mutation { deleteArticle(documentId: "@id") { documentId } }`), 400,
			`Cannot query field \"deleteArticle\" on type \"Mutation\".`},

		{"the audit log is not for everybody", "ada", "GET", "/api/audit-entries", "", 403, forbidden},
		{"the audit log", "auditor", "GET",
			"/api/audit-entries?filters[title]=Bread,%20at%20last&fields[0]=action&fields[1]=by&sort=id", "", 200,
			`"action":"publish","by":1}]`},
		{"the audit log knows tokens from users", "auditor", "GET",
			"/api/audit-entries?filters[action]=update&filters[by][$null]=true&fields=article", "", 200,
			`"article":"@id"`},
	})
	c.exchange(t, []exchange{
		{"an editor", "full", "PUT", "/api/users/2", `{"role":` + c.role(t, "editor") + `}`, 200, `"username":"tom"`},
		{"GraphQL: the role of a user", "tom", "POST", "/graphql",
			graphql(`mutation { retractArticle(documentId: "@id") { title publishedAt } }`), 200,
			`{"data":{"retractArticle":{"title":"Soup","publishedAt":null}}}`},
		{"GraphQL: a permission that a role was granted", "tom", "POST", "/graphql",
			graphql(`mutation { promoteArticle(documentId: "@id") { featured } }`), 200,
			`{"data":{"promoteArticle":{"featured":true}}}`},
	})
	year := time.Now().UTC().Format("2006")
	c.exchange(t, []exchange{
		{"a mounted router", "", "GET", "/archive/" + year, "", 200, `"Bread, at last"`},
		{"a mounted router: another year", "full", "GET", "/archive/1999", "", 200, `{"data":[]}`},
		{"a mounted router: a permission", "auditor", "GET", "/archive/" + year, "", 403, forbidden},
		{"a mounted router: an expression", "", "GET", "/archive/99", "", 404, `"name":"NotFoundError"`},
		{"a mounted router: a method", "", "POST", "/archive/" + year, "", 405, ""},
		{"a mounted router: a plain handler", "", "GET", "/archive/latest", "", 200, `"title":"Bread, at last"`},
	})
	if res, _ := c.do(t, "", "GET", "/archive/1999", ""); res.Header.Get("X-Route") != "/archive/{year:[0-9]{4}}" {
		t.Errorf("a middleware made for mux is told of the route %q", res.Header.Get("X-Route"))
	}
	for path, want := range map[string]string{"/api/articles": "public, max-age=60",
		"/uploads/soup.jpg": "public, max-age=3600"} {
		if res, _ := c.do(t, "", "GET", path, ""); res.Header.Get("Cache-Control") != want {
			t.Errorf("the middleware of %s says %q, want %q", path, res.Header.Get("Cache-Control"), want)
		}
	}
	check := exec.Command(program, "check", project)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("check: %s", out)
	}
	lectern := exec.Command("go", "run", ".", "check", project)
	if out, err := lectern.CombinedOutput(); err == nil || !strings.Contains(string(out), `has no action "feature"`) {
		t.Errorf("a program without the extensions takes their permissions: %s", out)
	}
	schema, err := exec.Command(program, "schema", project).Output()
	if err != nil || !strings.Contains(string(schema), "articleBySlug(slug: String!): Article") {
		t.Errorf("schema: %v\n%s", err, schema)
	}
}

// TestHello creates a project with examples/hello and serves it.
func TestHello(t *testing.T) {
	program, dir := buildExample(t, "hello"), filepath.Join(t.TempDir(), "blog")
	if out, err := exec.Command(program, "init", dir).CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	serveEphemeral(t, program, dir).exchange(
		t, []exchange{{"the route", "", "GET", "/api/hello/Ada", "", 200, "Hello, Ada!"}})
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// indentation matches the tabs at the beginning of lines, which the guide omits.
var indentation = regexp.MustCompile(`(?m)^\t+`)

// guides lists the pages of docs/ whose Go code comes from the examples, with the least number of blocks of each.
var guides = map[string]int{"extending.md": 10, "coming-from-strapi.md": 8}

// TestExtendingGuide checks that every Go line of the guides occurs in an example, which is compiled and tested.
func TestExtendingGuide(t *testing.T) {
	var code []string
	for _, name := range trackedFiles(t, "examples/*/*.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, indentation.ReplaceAllString(string(text), ""))
	}
	for name, least := range guides {
		blocks := blocksOf(t, name, goBlock)
		if len(blocks) < least {
			t.Errorf("%s has %d blocks of Go", name, len(blocks))
		}
		for _, block := range blocks {
			if !slices.ContainsFunc(code,
				func(text string) bool { return strings.Contains(text, indentation.ReplaceAllString(block, "")) }) {
				t.Errorf("%s: no example has\n%s", name, block)
			}
		}
	}
}

// blocksOf returns the blocks of code in a page of docs/.
func blocksOf(t *testing.T, name string, pattern *regexp.Regexp) (blocks []string) {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join("docs", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range pattern.FindAllStringSubmatch(string(guide), -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// TestGenerateFromAnExample checks that the go generate command in docs/graphql.md also works in a module that uses
// Lectern.
func TestGenerateFromAnExample(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("docs", "graphql.md"))
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile("(?m)^go -C .* generate ./gateway$").FindString(string(guide))
	page, err := os.ReadFile(filepath.Join("gateway", "internal", "pages", "pages.go"))
	if err != nil || call == "" || !strings.Contains(string(page), call) {
		t.Fatalf("docs/graphql.md proposes %q, and pages do not: %v", call, err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{".", "examples/hello"} {
		c := exec.Command("bash", "-c", strings.Replace(call, "generate", "generate -n", 1))
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "npm") {
			t.Errorf("%s in %s: %v\n%s", call, dir, err, out)
		}
	}
}

// TestMagazineREADME runs the commands of the README of examples/magazine and compares their output with the README.
func TestMagazineREADME(t *testing.T) {
	dir := copyExample(t, "magazine")
	program := filepath.Join(dir, "magazine")
	if err := os.Rename(buildExample(t, "magazine"), program); err != nil {
		t.Fatal(err)
	}
	follow(t, filepath.Join("examples", "magazine", "README.md"), dir, serve(t, dir, program, "."))
}

// TestExamplesShipNoSecret checks that examples contain no secrets, which everybody would know: the server generates
// its own.
func TestExamplesShipNoSecret(t *testing.T) {
	files := trackedFiles(t, "examples/*/config/*")
	if len(files) == 0 {
		t.Fatal("no configuration of examples")
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(text)), "secret") {
			t.Errorf("%s names a secret", name)
		}
	}
}
