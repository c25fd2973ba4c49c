package repository

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openMuseum serves examples/museum with its content, and logs in one user for each role that it declares but public:
// moderator, author and editor, and another author, who is called other.
func openMuseum(t *testing.T) *client {
	t.Helper()
	dir := copyExample(t, "museum")
	program := filepath.Join(t.TempDir(), "lectern")
	run(t, exec.Command("go", "build", "-o", program, "."))
	run(t, exec.Command(program, "import", dir, filepath.Join(dir, "content", "museum.jsonl")))
	run(t, exec.Command(program, "check", dir))
	c := &client{base: "http://" + serve(t, dir, program, dir).addr, keys: map[string]string{}}
	c.keys["full"] = strings.TrimSpace(run(t, exec.Command(program, "token", "create", dir, "all", "--type", "full-access")))
	for name, role := range map[string]string{
		"moderator": "moderator", "author": "author", "other": "author", "editor": "editor"} {
		create := exec.Command(program, "user", "create", dir, name, "--email", name+"@example.org", "--role", role)
		create.Stdin = strings.NewReader("correct horse\n")
		run(t, create)
		_, text := c.do(t, "", "POST", "/api/auth/local", `{"identifier":"`+name+`","password":"correct horse"}`)
		var answer struct{ JWT string }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.JWT == "" {
			t.Fatal(text)
		}
		c.keys[name] = answer.JWT
	}
	return c
}

// create creates a document, which @id of the requests that follow names.
func (c *client) create(t *testing.T, as, path, data string) (text string) {
	t.Helper()
	res, text := c.do(t, as, "POST", path, `{"data":`+data+`}`)
	var answer struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || res.StatusCode != 201 {
		t.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
	c.id = answer.Data.DocumentID
	return text
}

// A glance is a request and what the answer must and must not say.
type glance struct {
	as, method, path, body string
	status                 int
	has, lacks             []string
}

func (c *client) glances(t *testing.T, list []glance) {
	t.Helper()
	for _, g := range list {
		res, text := c.do(t, g.as, g.method, g.path, g.body)
		if res.StatusCode != g.status {
			t.Errorf("%s: %s %s: %d %s, want %d", g.as, g.method, g.path, res.StatusCode, text, g.status)
		}
		for _, want := range g.has {
			if !strings.Contains(text, strings.ReplaceAll(want, "@id", c.id)) {
				t.Errorf("%s: %s %s %s: %s\nlacks %s", g.as, g.method, g.path, g.body, text, want)
			}
		}
		for _, hidden := range g.lacks {
			if strings.Contains(text, hidden) {
				t.Errorf("%s: %s %s %s: %s\nshows %s", g.as, g.method, g.path, g.body, text, hidden)
			}
		}
	}
}

func graphqlBody(query string) string {
	body, _ := json.Marshal(map[string]string{"query": query}) // strings always can be written
	return string(body)
}

const whale = "e4m0nq7bluewhale00000001"

// TestMuseumComments lets a visitor of examples/museum comment, and a moderator approve: until then no door shows the
// comment to the public, and none ever shows the address.
func TestMuseumComments(t *testing.T) {
	c := openMuseum(t)
	made := c.create(t, "", "/api/comments",
		`{"name":"Noor","text":"How old was it?","email":"noor@example.org","exhibit":"`+whale+`"}`)
	if strings.Contains(made, "noor@example.org") || strings.Contains(made, `"state"`) {
		t.Errorf("the answer shows what the public may not read: %s", made)
	}
	doors := func(as string) (list []glance) {
		for _, path := range []string{"/api/comments", "/api/comments?filters[name]=Noor", "/api/comments?_q=Noor",
			"/api/comments?sort=name:desc&pagination[pageSize]=10", "/api/exhibits?populate=comments",
			"/api/exhibits/" + whale + "?populate=*", "/api/rooms?populate[exhibits][populate]=comments", "/api/_changes?since=0&include=document"} {
			list = append(list, glance{as: as, method: "GET", path: path, status: 200})
		}
		for _, query := range []string{`{comments {name text}}`, `{exhibits {title comments {name}}}`,
			`{rooms {exhibits {comments {name}}}}`} {
			list = append(list, glance{as: as, method: "POST", path: "/graphql", body: graphqlBody(query), status: 200})
		}
		return append(list, glance{as: as, method: "GET", path: "/api/comments/@id", status: 200})
	}
	expect := func(as string, has, lacks []string) {
		t.Helper()
		list := doors(as)
		for i := range list {
			list[i].has, list[i].lacks = has, lacks
		}
		if has == nil {
			list[len(list)-1].status = 404
		}
		c.glances(t, list)
	}
	hidden := []string{"Noor", "noor@example.org", "Cheap watches", `"state"`, "iris@example.org"}
	expect("", nil, hidden)
	c.glances(t, []glance{
		{"", "GET", "/api/comments", "", 200, []string{`"total":1`}, nil},
		{"", "GET", "/api/exhibits?filters[comments][name]=Noor", "", 200, []string{`"total":0`}, nil},
		{"", "GET", "/api/exhibits/" + whale + "?populate[comments][count]=true", "", 200, []string{`"count":1`}, nil},
		{"", "GET", "/api/comments?filters[email]=noor@example.org", "", 400, []string{"Invalid key email"}, nil},
		{"", "GET", "/api/comments?filters[state]=pending", "", 400, []string{"Invalid key state"}, nil},
		{"", "GET", "/api/exhibits?filters[comments][state]=pending", "", 400, []string{"Invalid key state"}, nil},
		{"", "GET", "/api/comments?sort=email", "", 400, []string{"Invalid key email"}, nil},
		{"", "POST", "/api/comments", `{"data":{"name":"x","text":"x","state":"approved"}}`, 400,
			[]string{"Invalid key state"}, nil},
		{"", "PUT", "/api/comments/@id", `{"data":{"state":"approved"}}`, 403, nil, nil},
		{"author", "GET", "/api/comments", "", 403, nil, nil},
		{"moderator", "GET", "/api/comments?filters[state]=pending", "", 200,
			[]string{`"total":1`, `"email":"noor@example.org"`}, nil},
		{"moderator", "PUT", "/api/comments/@id", `{"data":{"text":"Nothing"}}`, 400, []string{"Invalid key text"}, nil},
		{"moderator", "DELETE", "/api/comments/@id", "", 403, nil, nil},
		{"moderator", "PUT", "/api/comments/@id", `{"data":{"state":"approved"}}`, 200, []string{"approved"}, nil},
	})
	expect("", []string{"Noor"}, []string{"noor@example.org", "Cheap watches", `"state"`})
	c.glances(t, []glance{{"", "GET", "/api/comments", "", 200, []string{`"total":2`}, nil}})
}

// TestMuseumAuthors lets an author of examples/museum write about an exhibit and an editor publish it. No door shows
// the draft to anybody else before.
func TestMuseumAuthors(t *testing.T) {
	c := openMuseum(t)
	c.create(t, "author", "/api/exhibits?status=draft", `{"title":"Narwhal","room":"r9wgq3zshallxkt0whalehal"}`)
	path := "/api/exhibits/" + c.id
	sees := func(as string, seen bool) (list []glance) {
		for _, p := range []string{"/api/exhibits?status=draft", "/api/exhibits?status=draft&filters[title]=Narwhal",
			path + "?status=draft", "/api/rooms?status=draft&populate=exhibits", "/api/_changes?since=0&include=document&status=draft"} {
			list = append(list, glance{as: as, method: "GET", path: p, status: 200, has: []string{"Narwhal"}})
		}
		for _, query := range []string{`{exhibits(status: DRAFT) {title}}`,
			`{exhibit(documentId: "` + c.id + `", status: DRAFT) {title}}`,
			`{rooms(status: DRAFT) {exhibits {title}}}`} {
			list = append(list, glance{as: as, method: "POST", path: "/graphql", body: graphqlBody(query), status: 200,
				has: []string{"Narwhal"}})
		}
		for i := range list {
			if !seen {
				list[i].has, list[i].lacks = nil, []string{"Narwhal", "Giant squid"}
				switch {
				case as == "" && strings.HasPrefix(list[i].path, "/api/exhibits"):
					list[i].status = 403
				case list[i].path == path+"?status=draft":
					list[i].status = 404
				}
			}
		}
		return list
	}
	put := func(as, query, data string, status int) glance {
		return glance{as: as, method: "PUT", path: path + query, body: `{"data":` + data + `}`, status: status}
	}
	c.glances(t, append(append(append(sees("", false), sees("other", false)...), sees("author", true)...),
		sees("editor", true)...))
	c.glances(t, []glance{
		put("author", "?status=draft", `{"text":"A tooth of 2 metres."}`, 200),
		put("author", "?status=draft", `{"featured":true}`, 400),
		put("author", "?status=draft", `{"author":null}`, 400),
		put("author", "", `{"text":"Published."}`, 403),
		put("other", "?status=draft", `{"text":"Mine."}`, 404),
		{"author", "PUT", "/api/exhibits/" + whale + "?status=draft", `{"data":{"text":"Mine."}}`, 403, nil, nil},
		{"author", "POST", "/api/exhibits", `{"data":{"title":"At once"}}`, 403, nil, nil},
		{"author", "POST", path + "/actions/publish", "", 403, nil, nil},
		{"moderator", "GET", "/api/exhibits?status=draft", "", 403, nil, nil},
		{"", "GET", path, "", 404, nil, nil},
		{"", "GET", "/api/exhibits?filters[author][username]=author", "", 400, []string{"Invalid key author"}, nil},
		{"editor", "POST", path + "/actions/publish", "", 200, nil, nil},
		{"", "GET", path, "", 200, []string{"Narwhal", "A tooth of 2 metres."}, []string{`"author"`}},
		{"other", "GET", path, "", 200, []string{"Narwhal"}, nil},
		put("author", "?status=draft", `{"text":"Two tusks."}`, 200),
		{"", "GET", path, "", 200, []string{"A tooth of 2 metres."}, nil},
		put("other", "?status=draft", `{"text":"Mine."}`, 403),
	})
	if t.Failed() {
		_, text := c.do(t, "full", "GET", fmt.Sprint(path, "?status=draft&populate=*"), "")
		t.Log(text)
	}
}
