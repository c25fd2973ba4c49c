package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/store"
)

const (
	storyFile = "kind: collectionType\ninfo: {singularName: story, pluralName: stories, displayName: Story}\noptions: {draftAndPublish: true}\n" +
		"pluginOptions: {i18n: {localized: true}}\nattributes:\n  title: {type: string, pluginOptions: {i18n: {localized: true}}}\n" +
		"  writer: {type: relation, relation: manyToOne, target: 'api::writer.writer', inversedBy: stories}\n" +
		"  boxes: {type: component, repeatable: true, component: page.box}\n"
	writerFile = "kind: collectionType\ninfo: {singularName: writer, pluralName: writers, displayName: Writer}\nattributes:\n  name: {type: string}\n" +
		"  stories: {type: relation, relation: oneToMany, target: 'api::story.story', mappedBy: writer}\n" +
		"  boxes: {type: component, repeatable: true, component: page.box}\n"
	boxFile = "info: {displayName: Box}\nattributes:\n  text: {type: string}\n  writers: {type: relation, relation: oneToMany, target: 'api::writer.writer'}\n"
)

// newPublishing serves a project with stories, which have drafts and localizations, and their writers.
func newPublishing(t *testing.T) *publishing {
	p := &publishing{editing: &editing{T: t, dir: t.TempDir()}}
	p.write("content-types/story.yaml", storyFile)
	p.write("content-types/writer.yaml", writerFile)
	p.write("components/page/box.yaml", boxFile)
	p.write("config/plugins.yaml", "i18n: {config: {defaultLocale: en, locales: [en, fr, de]}}\n")
	p.serve(nil)
	return p
}

type publishing struct {
	*editing
	written int
	keys    int
	stories []string
}

// request sends a request that must succeed, and returns the documentId in the answer.
func (p *publishing) request(method, path, body string) (documentID string) {
	p.Helper()
	q, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	p.must(err)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+p.key)
	p.keys++
	q.Header.Set("Idempotency-Key", fmt.Sprint("key-", p.keys)) // so that the log holds the answer, too
	res, err := http.DefaultClient.Do(q)
	p.must(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if p.must(err); res.StatusCode >= 300 {
		p.Fatalf("%s %s %s: %d %s", method, path, body, res.StatusCode, answer)
	}
	_, rest, _ := strings.Cut(string(answer), `"documentId":"`)
	documentID, _, _ = strings.Cut(rest, `"`)
	return documentID
}

// change writes documents, of which each version has a text of its own kind, and deletes and unpublishes some.
func (p *publishing) change() {
	p.Helper()
	for range 3 {
		p.written++
		n := p.written
		writer := p.request("POST", "/api/writers",
			fmt.Sprintf(`{"data":{"name":"text-of-writer %d","boxes":[{"text":"text-of-writer box"}]}}`, n))
		story := p.request("POST", "/api/stories",
			fmt.Sprintf(`{"data":{"title":"text-of-english %d","writer":"%s","boxes":[{"text":"text-of-box %d","writers":["%s"]}]}}`, n, writer, n, writer))
		p.request("PUT", "/api/stories/"+story+"?locale=fr",
			fmt.Sprintf(`{"data":{"title":"text-of-french %d","writer":"%s"}}`, n, writer))
		p.request("PUT", "/api/stories/"+story+"?status=draft", fmt.Sprintf(`{"data":{"title":"text-of-draft %d"}}`, n))
		p.request("POST", "/api/stories?status=draft", fmt.Sprintf(`{"data":{"title":"text-of-draft %d"}}`, n))
		p.request("PUT", "/api/writers/"+writer, fmt.Sprintf(`{"data":{"name":"text-of-writer changed %d"}}`, n))
		p.stories = append(p.stories, story)
	}
	p.request("POST", "/api/stories/"+p.stories[0]+"/actions/unpublish", "{}")
	p.request("DELETE", "/api/stories/"+p.stories[1], "")
	p.request("POST", "/api/stories/"+p.stories[2]+"/actions/publish?locale=fr", "{}")
	p.stories = p.stories[2:]
}

// partCase is a part that a replica may have.
type partCase struct {
	part    store.Part
	same    []string // reads that are answered as by the origin
	refused []string // reads that the replica refuses
	has     []string // texts in its file
	lacks   []string // texts that are not in its file
}

var partCases = map[string]partCase{
	"types": {
		store.Part{Types: []string{"api::story.story"}},
		[]string{"/api/stories?populate=boxes&sort=title", "/api/stories?status=draft&sort=id&locale=fr",
			"/api/stories?locale=*&sort=id&populate=localizations",
			"/api/stories?filters[boxes][text][$contains]=2", "/api/stories?publicationFilter=modified",
			"/api/i18n/locales", "/api/users-permissions/roles"},
		[]string{"/api/writers", "/api/writers/x", "/api/writers/x/_history", "/api/stories?filters[writer][name]=x",
			"/api/stories?filters[$or][0][boxes][writers][name]=x",
			"/api/stories?sort=writer.name", "/api/_changes?types=api::writer.writer", "/api/upload/files?unused=true"},
		[]string{"text-of-english", "text-of-draft", "text-of-french", "text-of-box"}, []string{"text-of-writer"},
	},
	"published": {
		store.Part{Published: true},
		[]string{"/api/stories?populate=*&sort=id", "/api/stories?locale=fr&populate=writer",
			"/api/writers?populate=boxes&sort=name", "/api/stories?filters[writer][name][$contains]=2"},
		[]string{"/api/stories?status=draft", "/api/writers?status=draft", "/api/stories?publicationFilter=modified",
			"/api/_changes?status=draft", "/api/upload/files/count?unused=true"},
		[]string{"text-of-english", "text-of-french", "text-of-writer"}, []string{"text-of-draft"},
	},
	"locales": {
		store.Part{Locales: []string{"en", "de"}},
		[]string{"/api/stories?populate[0]=writer&populate[1]=boxes&sort=id", "/api/stories?locale=de",
			"/api/stories?status=draft&populate=writer", "/api/writers?populate=boxes&sort=name"},
		[]string{"/api/stories?locale=fr", "/api/stories/x?locale=fr", "/api/_changes?locale=fr", "/api/upload/files?unused=true"},
		[]string{"text-of-english", "text-of-draft", "text-of-writer"}, []string{"text-of-french"},
	},
	"all three": {
		store.Part{Types: []string{"api::story.story"}, Locales: []string{"fr"}, Published: true},
		[]string{"/api/stories?locale=fr&sort=id", "/api/stories?locale=fr&filters[title][$contains]=2&populate=boxes"},
		[]string{"/api/writers", "/api/stories", "/api/stories?locale=fr&status=draft"},
		[]string{"text-of-french"}, []string{"text-of-writer", "text-of-english", "text-of-draft"},
	},
}

// TestPartialReplicaFollowsItsPart follows parts of a server while its content and its definitions change.
func TestPartialReplicaFollowsItsPart(t *testing.T) {
	p := newPublishing(t)
	p.change()
	_, key, err := p.project.CreateToken(
		t.Context(), auth.Declaration{Name: "edge", Kind: auth.Custom, Permissions: []string{auth.FollowAction}})
	p.must(err)
	replicas := map[string]*replica{}
	for name, c := range partCases {
		replicas[name] = serveReplica(
			t, t.TempDir(), gateway.Options{Follow: &gateway.Follow{URL: p.base, Token: key, Part: c.part}})
	}
	everywhere := func() {
		t.Helper()
		for name, c := range partCases {
			t.Log(name)
			replicas[name].equals(p.base, p.key, c.same...)
		}
	}
	everywhere()
	p.change()
	everywhere()
	for name, c := range partCases {
		replicas[name].refuses(p.base, p.key, c.refused)
		if status, answer := get(t, replicas[name].base+"/api/_replica/position", p.key); status != 409 ||
			!strings.Contains(answer, "cannot be followed") {
			t.Errorf("%s: following a partial replica: %d %s", name, status, answer)
		}
	}
	absent := `{"title":"text-of-english 5","writer":null}`
	if _, answer := send(t, http.MethodPost, replicas["types"].base+"/graphql", p.key,
		`{"query":"{stories(sort:\"title\"){title,writer{name}}}"}`); !strings.Contains(answer, absent) {
		t.Errorf("what is left out and populated: %s", answer)
	}
	if _, answer := send(t, http.MethodPost, replicas["types"].base+"/graphql", p.key,
		`{"query":"{writers{name}}"}`); !strings.Contains(answer, "ask "+p.base) {
		t.Errorf("GraphQL of what is left out: %s", answer)
	}
	p.expect("a new attribute", func() {
		p.write("content-types/story.yaml", storyFile+"  rank: {type: integer, default: 7}\n")
	}, "/api/stories?fields[0]=rank", 200)
	p.change()
	everywhere()
	if tag, other := replicas["published"].tag("/api/writers", p.key),
		replicas["locales"].tag("/api/writers", p.key); tag == other || tag == "" {
		t.Errorf("two parts have one ETag: %s", tag)
	}
	for name, c := range partCases {
		replicas[name].equals(p.base, p.key, strings.Replace(c.same[0], "?", "?filters[rank]=7&", 1))
		replicas[name].stop()
		replicas[name].holds(c.has, c.lacks)
	}
}

// tag returns the ETag of a read.
func (r *replica) tag(path, key string) string {
	r.Helper()
	q, err := http.NewRequest(http.MethodGet, r.base+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	answer.Body.Close()
	return answer.Header.Get("ETag")
}

// refuses expects a replica to answer reads with 409 and the address of its origin.
func (r *replica) refuses(origin, key string, paths []string) {
	r.Helper()
	for _, path := range paths {
		if status, answer := get(r.T, r.base+path, key); status != 409 || !strings.Contains(answer, "ask "+origin) {
			r.Errorf("GET %s: %d %.300s", path, status, answer)
		}
	}
}

// holds expects texts to be in the data directory of a replica that is stopped, and others not to be there.
func (r *replica) holds(has, lacks []string) {
	r.Helper()
	text := ""
	err := filepath.WalkDir(filepath.Join(r.dir, "data"), func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var raw []byte
			raw, err = os.ReadFile(path)
			text += string(raw)
		}
		return err
	})
	if err != nil {
		r.Error(err)
	}
	for _, want := range has {
		if !strings.Contains(text, want) {
			r.Errorf("%q is not in the data directory", want)
		}
	}
	for _, leftOut := range lacks {
		if strings.Contains(text, leftOut) {
			r.Errorf("%q is in the data directory", leftOut)
		}
	}
}

// TestPartialReplicaChangesPart restarts a replica with other parts, and promotes it.
func TestPartialReplicaChangesPart(t *testing.T) {
	p := newPublishing(t)
	p.change()
	dir := t.TempDir()
	serve := func(part store.Part) *replica {
		return serveReplica(t, dir, gateway.Options{Follow: &gateway.Follow{URL: p.base, Token: p.key, Part: part}})
	}
	all, types := partCases["all three"], partCases["types"]
	r := serve(all.part)
	r.equals(p.base, p.key, all.same...)
	r.stop()
	r = serve(types.part)
	r.equals(p.base, p.key, types.same...)
	r.stop()
	r = serve(store.Part{})
	r.equals(p.base, p.key, "/api/writers", "/api/stories?populate=*&status=draft")
	r.stop()
	r.holds([]string{"text-of-writer"}, nil)
	r = serve(types.part)
	r.equals(p.base, p.key, types.same...)
	for status := 0; status != 409; { // it serves all of the content until it has the copy of the part
		status, _ = get(t, r.base+"/api/writers", p.key)
	}
	p.change()
	r.equals(p.base, p.key, types.same...)
	r.stop()
	r.holds(types.has, types.lacks)

	if err := gateway.Promote(dir, gateway.Options{}, false); err == nil ||
		!strings.Contains(err.Error(), "--partial") {
		t.Errorf("promoted: %v", err)
	}
	p.must(gateway.Promote(dir, gateway.Options{}, true))
	made, _ := run(t, dir, gateway.Options{}, nil)
	if status, answer := get(t, made.Base+"/api/writers", p.key); status != 200 ||
		!strings.Contains(answer, `"data":[]`) {
		t.Errorf("the promoted replica: %d %s", status, answer)
	}
	if status, answer := send(t, http.MethodPost, made.Base+"/api/writers", p.key,
		`{"data":{"name":"new"}}`); status != 201 {
		t.Errorf("the promoted replica: %d %s", status, answer)
	}
}

// TestPartialReplicaRefusesAnUnknownType follows a type that there is not.
func TestPartialReplicaRefusesAnUnknownType(t *testing.T) {
	p := newPublishing(t)
	for uid, want := range map[string]string{"api::stroy.stroy": "there are api::story.story, api::writer.writer",
		"plugin::users-permissions.user": "built in"} {
		err := gateway.Serve(t.Context(), t.TempDir(), gateway.Options{
			Addr: "127.0.0.1:0", LogTo: &servertest.LogBuffer{},
			Follow: &gateway.Follow{URL: p.base, Token: p.key, Part: store.Part{Types: []string{uid}}},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uid, err)
		}
	}
}
