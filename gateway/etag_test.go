package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/documents"
	"lectern/gateway"
)

// tagged are the requests of TestETagsIdentifyAnswers. %s is the id of some document.
var tagged = []string{
	"/api/pages", "/api/pages?status=draft", "/api/pages?populate=*",
	"/api/pages?status=draft&populate[topics][populate]=pages",
	"/api/pages?filters[topics][name][$contains]=1&status=draft", "/api/pages?sort=topics.name&status=draft",
	"/api/pages?populate[topics][count]=true",
	"/api/pages?locale=fr", "/api/pages?populate=localizations", "/api/topics", "/api/topics?populate=pages",
	"/api/topics?populate[pages][sort]=title&status=draft",
	"/api/topics?filters[pages][id][$null]=true", "/api/home", "/api/articles?populate=*",
	"/api/articles?populate[parts][populate]=reader",
	"/api/pages/%s?status=draft", "/api/pages/%s?populate=*", "/api/pages/%s?publicationFilter=modified",
	"/api/pages/%s",
	byGET("{pages(status:DRAFT){documentId title topics{name pages{title}}}}"),
	byGET("{topics(sort:\"pages.title\"){name}home{heading}}"),
	byGET("{pages_connection(filters:{topics:{name:{contains:\"1\"}}}){pageInfo{total}nodes{title localizations{title}}}}"),
	byGET("{articles{title author{username} parts{label reader{username}}}}"),
	byGET("{page(documentId:\"%s\"){title parts{label}}}"),
	byGET("query Q($n:Int!){topics(pagination:{limit:$n}){name}}") + "&variables=" + url.QueryEscape(`{"n":2}`),
}

// byGET returns the path of a GraphQL query.
func byGET(query string) string {
	return "/graphql?query=" + strings.ReplaceAll(url.QueryEscape(query), "%25s", "%s")
}

// TestETagsIdentifyAnswers makes random changes of content, permissions and definitions, and compares, after each,
// answers with all earlier ones: the same ETag must stand for the same bytes, whoever asks for whatever, and a request
// with If-None-Match is answered 304 only if it has the ETag of the full answer.
func TestETagsIdentifyAnswers(t *testing.T) {
	dir, reloaded := writeProject(t, with(historyFiles)), make(chan error)
	ready, _ := run(t, dir, gateway.Options{Ephemeral: true, Reloaded: func(err error) { reloaded <- err }}, nil)
	a := newAPI(t, ready)
	rnd := rand.New(rand.NewPCG(13, 1))
	steps := 60
	if os.Getenv("LECTERN_LONG") != "" {
		steps = 3000
	}
	jwt, user := a.register("ada")
	callers := []string{"", jwt, "full"}
	changed := &changer{api: a, rnd: rnd, user: user, dir: dir, reloaded: reloaded}
	bodies, before := map[string]string{}, []string{""}
	matched := 0
	for range steps {
		changed.something()
		for range 6 {
			path, as := tagged[rnd.IntN(len(tagged))], callers[rnd.IntN(len(callers))]
			path = strings.Replace(path, "%s", changed.some(changed.pages), 1)
			full := a.do("GET", path, as, nil, preflight...)
			tag := full.header.Get("ETag")
			if ok := full.status == http.StatusOK && full.at("errors") == nil; ok != (tag != "") {
				t.Fatalf("GET %s: %d with ETag %q: %s", path, full.status, tag, full.text)
			}
			if tag == "" {
				continue
			}
			if earlier, ok := bodies[tag]; ok && earlier != full.text {
				t.Fatalf("GET %s: ETag %s stood for\n%s\nand stands for\n%s", path, tag, earlier, full.text)
			}
			for _, known := range []string{tag, before[rnd.IntN(len(before))], `"other", W/` + tag} {
				r := a.do("GET", path, as, nil, append(preflight, "If-None-Match", known)...)
				if got, want := r.status == http.StatusNotModified, strings.Contains(known, tag); got != want || got &&
					(r.text != "" || r.header.Get("ETag") != tag) {
					t.Fatalf("GET %s with If-None-Match %s: %d %q, ETag %q; the full answer has %s", path, known,
						r.status, r.text, r.header.Get("ETag"), tag)
				}
				if r.status == http.StatusNotModified {
					a.want(304, "GET", path, as, nil,
						append(preflight, "If-None-Match", known)...) // now it may be repeated
					matched++
				}
			}
			if _, ok := bodies[tag]; !ok {
				bodies[tag], before = full.text, append(before, tag)
			}
		}
	}
	if len(bodies) < steps || matched < steps || changed.edits == 0 {
		t.Fatalf("%d ETags, %d matches and %d edits: too few to compare", len(bodies), matched, changed.edits)
	}
}

// preflight are the headers without which a GraphQL query by GET is refused. They have no effect on other requests.
var preflight = []string{"Apollo-Require-Preflight", "yes"}

// A changer makes random changes of content.
type changer struct {
	*api
	rnd           *rand.Rand
	pages, topics []string
	user          int
	n             int

	dir      string
	reloaded chan error
	edits    int
}

// edit changes the definition of topics, and waits until the server serves it.
func (c *changer) edit() {
	c.edits++
	text := strings.Replace(historyFiles["content-types/topic.yaml"], "  name: {type: string, unique: true}\n",
		fmt.Sprintf("  name: {type: string, unique: true, private: %v}\n", c.edits%2 == 1)+
			strings.Repeat("  more: {type: string}\n", c.edits/2%2), 1)
	if err := os.WriteFile(filepath.Join(c.dir, "content-types/topic.yaml"), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	select {
	case err := <-c.reloaded:
		if err != nil {
			c.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		c.t.Fatal("the server does not notice changed definitions")
	}
}

func (c *changer) some(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return ids[c.rnd.IntN(len(ids))]
}

func (c *changer) something() {
	c.n++
	topics, name := []any{}, fmt.Sprintf("text %d", c.n%7)
	for range c.rnd.IntN(3) {
		if len(c.topics) > 0 {
			topics = append(topics, c.some(c.topics))
		}
	}
	page := "/api/pages/" + c.some(c.pages)
	if id, ok := c.do("POST", "/api/pages?status=draft", "full",
		object{"data": object{"title": name, "topics": topics}}).at("data.documentId").(string); ok && c.n%5 == 1 {
		c.pages = append(c.pages, id)
	}
	switch c.rnd.IntN(13) {
	case 0:
		if id, ok := c.do("POST", "/api/topics", "full", object{"data": object{"name": fmt.Sprint("topic ", c.n)}}).at(
			"data.documentId").(string); ok {
			c.topics = append(c.topics, id)
		}
	case 1:
		c.do("PUT", "/api/topics/"+c.some(c.topics), "full",
			object{"data": object{"pages": object{"connect": []any{c.some(c.pages)}}}})
	case 2:
		c.do("DELETE", "/api/topics/"+c.some(c.topics), "full", nil)
	case 3:
		c.do("PUT", page+"?status=draft", "full", object{"data": object{"topics": topics}})
	case 4:
		c.do("PUT", page+"?locale=fr", "full",
			object{"data": object{"title": name, "parts": []any{object{"label": name}}}})
	case 5:
		c.do("POST", page+"/actions/publish", "full", nil)
	case 6:
		c.do("POST", page+"/actions/unpublish", "full", nil)
	case 7:
		c.do("DELETE", page, "full", nil)
	case 8:
		c.do("PUT", "/api/home", "full", object{"data": object{"heading": name}})
	case 9:
		c.do("POST", "/api/articles", "full",
			object{"data": object{"title": name, "author": c.user,
				"parts": []any{object{"label": name, "reader": c.user}}}})
	case 11:
		actions := object{}
		for _, action := range []string{"find", "findOne"} {
			actions[action] = object{"enabled": c.rnd.IntN(3) > 0}
		}
		c.want(200, "PUT", fmt.Sprint("/api/users-permissions/roles/", c.roleID("authenticated")), "full",
			object{"permissions": object{
				"api::topic": object{"controllers": object{"topic": actions}},
				"api::page": object{"controllers": object{"page": object{"find": object{"enabled": true},
					"findOne": object{"enabled": true}}}},
			}})
	case 12:
		if c.n%3 == 0 { // edits take longer than writes
			c.edit()
		}
	case 10:
		c.do("PUT", userPath(c.user), "full", object{"username": name})
	}
}

// TestNotModifiedReadsNoRows counts the rows that requests with the ETag of the answer read.
func TestNotModifiedReadsNoRows(t *testing.T) {
	var project *gateway.Project
	ready, _ := run(t, writeProject(t, with(historyFiles)), gateway.Options{Ephemeral: true},
		func(p *gateway.Project) { project = p })
	a := newAPI(t, ready)
	id := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
	for _, path := range []string{"/api/topics", "/api/topics/" + id, "/api/topics?populate=pages&sort=pages.title"} {
		tag := a.want(200, "GET", path, "", nil).header.Get("ETag")
		before := project.Store().Stats().Rows
		for _, known := range []string{tag, strings.TrimSuffix(tag, `"`) + `-gzip"`} {
			r := a.want(304, "GET", path, "", nil, "If-None-Match", known)
			if got := r.header.Get("ETag"); got != known {
				t.Errorf("GET %s with If-None-Match %s: ETag %s", path, known, got)
			}
			if got := r.header.Get(
				"Vary"); got != "Origin, Authorization, Accept, Strapi-Response-Format, Accept-Encoding" {
				t.Errorf("GET %s: Vary: %s", path, got)
			}
		}
		if read := project.Store().Stats().Rows - before; read != 0 {
			t.Errorf("GET %s: %d rows read for 304", path, read)
		}
		a.want(304, "GET", path, "", nil, "If-None-Match", "*")
		a.want(200, "GET", path, "", nil, "If-None-Match", `"other"`)
	}
	if tag := a.want(404, "GET", "/api/topics/none", "", nil, "If-None-Match", "*").header.Get("ETag"); tag != "" {
		t.Errorf("a 404 has the ETag %s", tag)
	}
}

// TestReadsObeyIfMatch reads with the header If-Match: only the answer that it names comes, and errors come before 412.
func TestReadsObeyIfMatch(t *testing.T) {
	a := serve(t, historyFiles)
	id := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
	for _, path := range []string{"/api/topics", "/api/topics/" + id, "/api/_schedules", "/api/_openapi.json",
		byGET("{topics{name}}")} {
		ask := func(status int, method string, headers ...string) {
			t.Helper()
			r := a.want(status, method, path, "full", nil, append(preflight, headers...)...)
			if status == 412 && (r.header.Get("ETag") != "" ||
				!strings.Contains(strings.Join(r.header["Vary"], ","), "Accept")) {
				t.Errorf("%s %s: a 412 with %v", method, path, r.header)
			}
			if message, _ := r.at("error.message").(string); status == 412 && r.text != "" &&
				!strings.Contains(message+fmt.Sprint(r.at("errors")), "If-Match") {
				t.Errorf("%s %s: %s", method, path, r.text)
			}
		}
		tag := a.want(200, "GET", path, "full", nil, append(preflight, "Accept-Encoding", "identity")...).header.Get(
			"ETag")
		ask(200, "GET", "If-Match", tag)
		ask(200, "GET", "If-Match", `"other", `+strings.TrimSuffix(tag, `"`)+`-gzip"`, "Accept-Encoding", "gzip")
		ask(200, "GET", "If-Match", "*")
		ask(304, "GET", "If-Match", tag, "If-None-Match", tag)
		ask(412, "GET", "If-Match", "W/"+tag)
		ask(412, "GET", "If-Match", `"other"`)
		for range 2 { // the second time, the dependencies are kept
			ask(412, "GET", "If-Match", `"other"`, "If-None-Match", tag)
			ask(412, "GET", "If-Match", `"other"`, "If-None-Match", "*")
		}
		if !strings.HasPrefix(path, "/graphql") { // which has no HEAD
			ask(200, "HEAD", "If-Match", tag)
			ask(412, "HEAD", "If-Match", `"other"`)
		}
	}
	a.want(404, "GET", "/api/topics/none", "full", nil, "If-Match", `"other"`)
	a.want(403, "GET", "/api/pages/none/_history", "", nil, "If-Match", `"other"`)
	a.want(400, "GET", byGET("{nope}"), "full", nil, append(preflight, "If-Match", `"other"`)...)
}

// TestETagsDifferByEncoding asks for a list in each encoding, and for its header alone: a strong ETag identifies the
// bytes that are sent.
func TestETagsDifferByEncoding(t *testing.T) {
	a := serve(t, historyFiles)
	for i := range 20 { // longer than what is not compressed
		a.want(201, "POST", "/api/topics", "full",
			object{"data": object{"name": fmt.Sprint(i, strings.Repeat(" long", 40))}})
	}
	const path = "/api/topics"
	plain := a.want(200, "GET", path, "full", nil, "Accept-Encoding", "identity").header.Get("ETag")
	if h := a.want(200, "HEAD", path, "full", nil, "Accept-Encoding", "identity"); h.header.Get("ETag") != plain ||
		h.text != "" {
		t.Errorf("HEAD: ETag %s of %d bytes, want %s", h.header.Get("ETag"), len(h.text), plain)
	}
	for _, encoding := range []string{"identity", "gzip", "zstd"} {
		suffix := "-" + encoding
		if encoding == "identity" {
			suffix = ""
		}
		want := strings.TrimSuffix(plain, `"`) + suffix + `"`
		r := a.want(200, "GET", path, "full", nil, "Accept-Encoding", encoding)
		if tag := r.header.Get("ETag"); tag != want || r.header.Get("Content-Encoding") != strings.TrimPrefix(
			suffix, "-") {
			t.Errorf("%s: ETag %s of an answer in %q, want %s", encoding, tag, r.header.Get("Content-Encoding"), want)
		}
		if tag := a.want(304, "GET", path, "full", nil, "Accept-Encoding", encoding, "If-None-Match", want).header.Get(
			"ETag"); tag != want {
			t.Errorf("%s: a 304 with the ETag %s, want %s", encoding, tag, want)
		}
		a.want(304, "HEAD", path, "full", nil, "Accept-Encoding", encoding, "If-None-Match", want)
		a.want(200, "GET", path, "full", nil, "Accept-Encoding", encoding, "If-None-Match", `"other`+suffix+`"`)
		for accepted, status := range map[string]int{
			"identity": 200, "br": 200, "*": 200, encoding + ";q=0": 200, "gzip, deflate, zstd": 304,
			"br, " + encoding + ";q=0.5": 304,
		} {
			if encoding == "identity" { // which all clients accept
				status = 304
			}
			for _, method := range []string{"GET", "HEAD"} {
				r := a.want(status, method, path, "full", nil, "Accept-Encoding", accepted, "If-None-Match", want)
				if tag := r.header.Get("ETag"); status == 304 && tag != want {
					t.Errorf("%s of %s accepting %q: a 304 with the ETag %s, want %s", method, encoding, accepted, tag,
						want)
				}
			}
		}
	}
}

// TestGraphQLQueriesHaveETags asks which answers of GraphQL have an ETag.
func TestGraphQLQueriesHaveETags(t *testing.T) {
	a := serve(t, historyFiles)
	jwt, _ := a.register("ada")
	a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}})
	for _, c := range []struct {
		query, as string
		tagged    bool
	}{
		{"{topics{name}}", "full", true},
		{"{topics{name pages{title}}__typename}", "full", true},
		{"{__typename}", "", true},
		{"{me{username}}", jwt, false},
		{"{topics{name}articles{title author{username}}}", "", false}, // an error: the public may not see users
		{"{nope}", "full", false},
	} {
		r := a.do("GET", byGET(c.query), c.as, nil, preflight...)
		tag := r.header.Get("ETag")
		if (tag != "") != c.tagged {
			t.Errorf("%s: %d %s with ETag %q", c.query, r.status, r.text, tag)
		}
		if tag == "" {
			continue
		}
		if got := r.header.Get("Vary"); !strings.Contains(got, "Authorization") {
			t.Errorf("%s: Vary %s", c.query, got)
		}
		if r := a.do("GET", byGET(c.query), c.as, nil,
			append(preflight, "Accept", "application/graphql-response+json")...); r.header.Get("ETag") == tag ||
			r.header.Get("ETag") == "" {
			t.Errorf("%s: the answer of another type has the ETag %q, too", c.query, r.header.Get("ETag"))
		}
		for _, known := range []string{tag, "W/" + tag, "*"} {
			if r := a.do("GET", byGET(c.query), c.as, nil, append(preflight, "If-None-Match",
				known)...); r.status != 304 || r.text != "" || r.header.Get("ETag") != tag {
				t.Errorf("%s with If-None-Match %s: %d %s", c.query, known, r.status, r.text)
			}
		}
		if r := a.do("POST", "/graphql", c.as, object{"query": c.query}, "If-None-Match", tag); r.status != 200 ||
			r.header.Get("ETag") != "" {
			t.Errorf("%s by POST: %d with ETag %q", c.query, r.status, r.header.Get("ETag"))
		}
	}
}

// TestAnswersVaryByCaller expects caches to be told of answers that depend on who asks, also of those without an ETag
// and of refusals.
func TestAnswersVaryByCaller(t *testing.T) {
	a := serve(t, historyFiles)
	page := "/api/pages/" + a.create("pages", "a")
	for _, c := range []struct {
		path, as string
		status   int
		varies   bool
	}{
		{"/api/users", "full", 200, true}, {"/api/users", "", 403, true}, {"/api/upload/files", "full", 200, true},
		{page + "/_history", "full", 200, true},
		{page + "?filters[nope]=1", "full", 400, true}, {"/api/pages/nope", "full", 404, true},
		{"/uploads/none.png", "", 404, false}, {"/nowhere", "", 404, false},
	} {
		r := a.want(c.status, "GET", c.path, c.as, nil, preflight...)
		if got := strings.Join(r.header["Vary"], ", "); strings.Contains(got, "Authorization") != c.varies ||
			!strings.HasPrefix(got, "Origin") {
			t.Errorf("%s as %q: Vary %s", c.path, c.as, got)
		}
	}
}

// TestRoutesWithMiddlewaresHaveNoETags asks a route to which a program has added a middleware, and one without. The
// first gives no ETag, because the middleware may change its answers.
func TestRoutesWithMiddlewaresHaveNoETags(t *testing.T) {
	const schedules, topics = "/api/_schedules", "/api/topics"
	for _, c := range []struct{ route, with, without string }{
		{"", schedules, ""}, {"", topics, ""}, {"api::topic.topic.find", schedules, topics},
		{"GET /api/_schedules", topics, schedules},
	} {
		x := &gateway.Extensions{}
		x.Hooks(documents.Hooks{}) // they have no part in reads
		if c.route != "" {
			x.Route(c.route, gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Func: func(next http.Handler) http.Handler { return next }}}})
		}
		ready, _ := run(t, writeProject(t, with(historyFiles)), gateway.Options{Ephemeral: true, Extensions: x}, nil)
		a := newAPI(t, ready)
		for _, path := range []string{c.with, c.without} {
			if path == "" {
				continue
			}
			tag := a.want(200, "GET", path, "full", nil).header.Get("ETag")
			if (tag != "") != (path == c.with) {
				t.Errorf("%q is configured: GET %s has the ETag %q", c.route, path, tag)
			}
		}
	}
}

// TestAnswersVaryByForm asks for answers, with an ETag and without, in the form of Strapi 4 and in that of Strapi 5.
func TestAnswersVaryByForm(t *testing.T) {
	a := serve(t, historyFiles)
	page := "/api/pages/" + a.create("pages", "a")
	seq := a.want(200, "GET", page+"/_history", "full", nil).at("data").([]any)[0].(object)["seq"].(string)
	for _, path := range []string{"/api/pages", page, page + "?asOf=" + seq} {
		v5, v4 := a.want(200, "GET", path, "full", nil), a.want(200, "GET", path, "full", nil, "Strapi-Response-Format",
			"v4")
		if v4.text == v5.text {
			t.Errorf("GET %s: the form makes no difference", path)
		}
		for _, r := range []reply{v4, v5} {
			if vary := strings.Join(r.header["Vary"], ", "); !strings.Contains(vary, "Strapi-Response-Format") ||
				!strings.Contains(vary, "Authorization") {
				t.Errorf("GET %s: Vary %s", path, vary)
			}
		}
	}
}

// TestCacheControlFollowsTheSettings asks for answers as several callers, where config/api.yaml says how they may be
// cached.
func TestCacheControlFollowsTheSettings(t *testing.T) {
	files := with(historyFiles)
	files["config/api.yaml"] = "cache:\n  api::topic.topic: {public: \"public, max-age=60\", authenticated: \"private, max-age=5\"}\n"
	a := serve(t, files)
	jwt, _ := a.register("ada")
	for _, c := range []struct{ path, as, want string }{
		{"/api/topics", "", "public, max-age=60"}, {"/api/topics", jwt, "private, max-age=5"},
		{"/api/topics", "full", ""},
		{"/api/topics/none", "", ""}, {"/api/pages", "", ""},
	} {
		r := a.do("GET", c.path, c.as, nil)
		if got := r.header.Get("Cache-Control"); got != c.want {
			t.Errorf("GET %s as %.5q: Cache-Control %q, want %q", c.path, c.as, got, c.want)
		}
		if c.want != "" && !strings.Contains(r.header.Get("Vary"), "Authorization") {
			t.Errorf("GET %s: Vary %s", c.path, r.header.Get("Vary"))
		}
		if r = a.do("GET", c.path, c.as, nil, "If-None-Match", r.header.Get("ETag")); r.header.Get(
			"Cache-Control") != c.want {
			t.Errorf("GET %s as %.5q: %d with Cache-Control %q, want %q", c.path, c.as, r.status,
				r.header.Get("Cache-Control"), c.want)
		}
	}
	if got := a.want(200, "PUT", "/api/home", "full", object{"data": object{"heading": "h"}}).header.Get(
		"Cache-Control"); got != "" {
		t.Errorf("a write: Cache-Control %s", got)
	}
}

// TestWrongCacheSettingsAreNamed reads settings of cache that cannot work.
func TestWrongCacheSettingsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{api::nope.nope: {public: no-cache}}":                            `config/api.yaml:2: cache: there is no content-type "api::nope.nope"`,
		"{plugin::users-permissions.user: {public: no-cache}}":            "is built in",
		"{api::topic.topic: no-cache}":                                    "by role, a header Cache-Control",
		"{api::topic.topic: {nobody: no-cache}}":                          "there is no role nobody",
		"{api::topic.topic: {public: \"public, max-age=soon\"}}":          `"max-age=soon" is no directive`,
		"{api::topic.topic: {public: \"publik\"}}":                        `"publik" is no directive`,
		"{api::topic.topic: {public: \"no-cache\\r\\nSet-Cookie: a=b\"}}": "is no directive",
		"no-cache": "cache says by content-type and role",
	} {
		files := with(historyFiles)
		files["config/api.yaml"] = "cache:\n  " + text + "\n"
		if _, err := gateway.Load(writeProject(t, files), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
