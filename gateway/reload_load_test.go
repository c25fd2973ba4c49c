package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/yamlfile"
	"lectern/store/evolve"
)

// TestEditsUnderLoad edits the definitions of a project fifty times while clients read and write it over REST and GraphQL. No request
// fails, no acknowledged write is lost, and each edit is either served or refused with a reason while the former definitions stay in
// service. The test logs how long the edits took to be served: less than a second on an idle machine.
func TestEditsUnderLoad(t *testing.T) {
	cycles := 5
	if testing.Short() || raceDetector {
		cycles = 1
	}
	e := newEditing(t)
	load := e.startLoad()
	slow := e.startSlowRequests()
	var took []time.Duration
	for n := range cycles {
		for _, edit := range editsOf(n) {
			took = append(took, e.carryOut(edit))
		}
	}
	slow.finish()
	load.stop()
	if t.Failed() {
		return
	}
	load.check()
	slices.Sort(took)
	longest, most := took[len(took)-1], took[len(took)*8/10]
	t.Logf("%d edits were visible after %v at most, eight of ten after %v; %d writes, %d reads", len(took),
		longest.Round(time.Millisecond), most.Round(time.Millisecond), load.writes.Load(), load.reads.Load())
}

const noteHead = "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\npluginOptions: {}\nattributes:\n"

// noteFile is the definition of the type that all clients read and write.
func noteFile(attributes ...string) string {
	return noteHead + "  title: {type: string, required: true}\n  body: {type: text}\n  " + strings.Join(attributes, "\n  ") + "\n"
}

func typeFile(singular string) string {
	return fmt.Sprintf("kind: collectionType\ninfo: {singularName: %s, pluralName: %ss, displayName: T}\nattributes: {name: {type: string}}\n", singular, singular)
}

// An edit is a change of a file with its expected effect.
type edit struct {
	what, file string
	text       string         // "" removes the file
	shows      map[string]int // statuses of requests by path, once the edit is served
	refused    string         // part of the error, if the edit is refused
}

// editsOf returns ten edits. Together they change only the type of the attribute rank.
func editsOf(n int) []edit {
	const integer, big = "rank: {type: integer}", "rank: {type: biginteger}"
	before, after := integer, big
	if n%2 == 1 {
		before, after = big, integer
	}
	extra, renamed, topic := fmt.Sprintf("extra%d", n), fmt.Sprintf("renamed%d", n), fmt.Sprintf("topic%d", n)
	const note = "content-types/note.yaml"
	field := func(name string) string { return "/api/notes?pagination[limit]=1&fields[0]=" + name }
	return []edit{
		{"add", note, noteFile(before, extra+": {type: string}"), map[string]int{field(extra): 200, field("body"): 200}, ""},
		{"retype", note, noteFile(after, extra+": {type: string}"), map[string]int{field("rank"): 200}, ""},
		{"new type", "content-types/" + topic + ".yaml", typeFile(topic), map[string]int{"/api/" + topic + "s": 200}, ""},
		{"broken", "content-types/broken.yaml", "kind: [", map[string]int{field(extra): 200}, "content-types/broken.yaml:2: "},
		{"repaired", "content-types/broken.yaml", "", map[string]int{field(extra): 200}, ""},
		{"rename", note, noteFile(after, renamed+": {type: string}"), map[string]int{field(extra): 400, field(renamed): 200}, ""},
		{"remove with content", note, strings.Replace(noteFile(after, renamed+": {type: string}"), "  body: {type: text}\n", "", 1),
			map[string]int{field("body"): 200}, "lectern migrate DIR drop-attribute api::note.note.body"},
		{"taken back", note, noteFile(after, renamed+": {type: string}"), map[string]int{field("body"): 200}, ""},
		{"remove without content", note, noteFile(after), map[string]int{field(renamed): 400}, ""},
		{"remove a type", "content-types/" + topic + ".yaml", "", map[string]int{"/api/" + topic + "s": 404}, ""},
	}
}

// An editing is a project that is edited while it is served.
type editing struct {
	*testing.T
	dir, base, key string
	project        *gateway.Project
	client         *http.Client
	reloaded       chan error
	log            func() string
	close          func()
}

func newEditing(t *testing.T) *editing { return newEditingWith(t, nil) }

func newEditingWith(t *testing.T, x *gateway.Extensions) *editing {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/permissions.yaml", "roles: {authenticated: {api::note.note: [find]}}\n")
	e.serve(x)
	return e
}

// newEditingAt serves an existing project.
func newEditingAt(t *testing.T, dir string) *editing {
	e := &editing{T: t, dir: dir}
	e.serve(nil)
	return e
}

func (e *editing) serve(x *gateway.Extensions) {
	t := e.T
	e.reloaded = make(chan error)
	e.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 30 * time.Second}
	var log logged
	e.log = log.String
	var ready gateway.Ready
	ready, e.close = run(t, e.dir, gateway.Options{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Extensions: x,
		Reloaded: e.reload,
	}, func(p *gateway.Project) {
		var err error
		e.project = p
		if _, e.key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "all", Kind: auth.FullAccess}); err != nil {
			t.Fatal(err)
		}
	})
	e.base = ready.Base
	t.Cleanup(func() {
		e.client.CloseIdleConnections()
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

// awaitLog waits until the log contains all the wanted texts.
func (e *editing) awaitLog(want ...string) {
	e.Helper()
	for late := time.After(20 * time.Second); ; {
		text := e.log()
		missing := slices.IndexFunc(want, func(w string) bool { return !strings.Contains(text, w) })
		if missing < 0 {
			return
		}
		select {
		case <-late:
			e.Fatalf("the log has no %s", want[missing])
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// logged is a log that can be read while it is being written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// write replaces a file as editors do: it writes a new file and renames it.
func (e *editing) write(name, text string) {
	e.Helper()
	path := filepath.Join(e.dir, filepath.FromSlash(name))
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".swp")
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(temp, []byte(text), 0o644)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		e.Fatal(err)
	}
}

// carryOut makes an edit, waits for its effect and returns how long that took.
func (e *editing) carryOut(edit edit) time.Duration {
	e.Helper()
	began := time.Now()
	if edit.text != "" {
		e.write(edit.file, edit.text)
	} else if err := os.Remove(filepath.Join(e.dir, filepath.FromSlash(edit.file))); err != nil {
		e.Fatal(err)
	}
	err := e.awaitReload()
	for path, want := range edit.shows {
		if status, body := e.do(e.Context(), "GET", path, nil); status != want {
			e.Errorf("%s: GET %s: %d %s, want %d", edit.what, path, status, body, want)
		}
	}
	took := time.Since(began)
	said := ""
	var problems yamlfile.Problems
	var refused *evolve.DefinitionError
	switch {
	case errors.As(err, &problems):
		said = problems.Error()
	case errors.As(err, &refused):
		said = strings.Replace(refused.Error(), e.dir, "DIR", 1)
	case err != nil:
		e.Errorf("%s: %v", edit.what, err)
	}
	if edit.refused == "" && said != "" || !strings.Contains(said, edit.refused) {
		e.Errorf("%s: refused with %q, want %q", edit.what, said, edit.refused)
	}
	return took
}

// reload is called after each reload; it blocks until awaitReload receives the result.
func (e *editing) reload(err error) {
	select {
	case e.reloaded <- err:
	case <-e.Context().Done():
	}
}

// awaitReload waits until the project has read its changed files.
func (e *editing) awaitReload() error {
	e.Helper()
	select {
	case err := <-e.reloaded:
		return err
	case <-time.After(20 * time.Second):
		e.Fatal("a change of files was not noticed")
		return nil
	}
}

// do sends a request; status is 0 if there is no answer.
func (e *editing) do(ctx context.Context, method, path string, body any) (status int, answer []byte) {
	var sent io.Reader
	kind := "application/json"
	switch body := body.(type) {
	case nil:
	case *form:
		sent, kind = body, body.kind
	case io.Reader:
		sent = body
	default:
		text, err := json.Marshal(body)
		if err != nil {
			e.Error(err)
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, e.base+path, sent)
	if err != nil {
		e.Error(err)
		return 0, nil
	}
	if e.key != "" {
		r.Header.Set("Authorization", "Bearer "+e.key)
	}
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	res, err := e.client.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return res.StatusCode, answer
}

// A load is a client that reads and writes notes until it is stopped.
type load struct {
	*editing
	done          chan struct{}
	all           sync.WaitGroup
	writes, reads atomic.Int64
	mu            sync.Mutex
	titles        map[string]string // the last acknowledged write, by documentId
}

func (e *editing) startLoad() *load {
	l := &load{editing: e, done: make(chan struct{}), titles: map[string]string{}}
	for n := range 2 {
		l.all.Go(func() { l.until(n, l.create) })
		l.all.Go(func() { l.until(n, l.mutate) })
		l.all.Go(func() { l.until(n, l.list) })
		l.all.Go(func() { l.until(n, l.query) })
	}
	l.all.Go(func() { l.until(0, l.topics) })
	return l
}

func (l *load) until(worker int, f func(name string)) {
	for n := 0; ; n++ {
		select {
		case <-l.done:
			return
		default:
			f(fmt.Sprintf("%d-%d", worker, n))
		}
	}
}

func (l *load) stop() {
	close(l.done)
	l.all.Wait()
}

func (l *load) note(id, title string) {
	l.writes.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.titles[id] = title
}

// create creates a note over REST and changes it.
func (l *load) create(name string) {
	var made struct{ Data struct{ DocumentID string } }
	title := "rest " + name
	status, body := l.do(context.Background(), "POST", "/api/notes", object{"data": object{"title": title, "body": "text", "rank": 5}})
	if err := json.Unmarshal(body, &made); status != 201 || err != nil {
		l.Errorf("create: %d %s", status, body)
		return
	}
	l.note(made.Data.DocumentID, title)
	title += " changed"
	status, body = l.do(context.Background(), "PUT", "/api/notes/"+made.Data.DocumentID, object{"data": object{"title": title}})
	if status != 200 {
		l.Errorf("update: %d %s", status, body)
		return
	}
	l.note(made.Data.DocumentID, title)
}

// mutate creates two notes in one GraphQL operation.
func (l *load) mutate(name string) {
	status, body := l.do(context.Background(), "POST", "/graphql", object{
		"query": "mutation($t: String!) { a: createNote(data: {title: $t, body: \"a\"}) { documentId title } " +
			"b: createNote(data: {title: $t, body: \"b\"}) { documentId title } }",
		"variables": object{"t": "graphql " + name},
	})
	var made struct {
		Errors []any
		Data   map[string]struct{ DocumentID, Title string }
	}
	if err := json.Unmarshal(body, &made); status != 200 || err != nil || len(made.Errors) > 0 || len(made.Data) != 2 {
		l.Errorf("mutation: %d %s", status, body)
		return
	}
	for _, note := range made.Data {
		l.note(note.DocumentID, note.Title)
	}
}

// list reads notes over REST and checks the permanent attributes. All values of rank in an answer must have the same type.
func (l *load) list(string) {
	status, body := l.do(context.Background(), "GET", "/api/notes?pagination[limit]=20&sort=rank", nil)
	var got struct {
		Data []struct {
			Title, Body *string
			Rank        any
		}
	}
	if err := json.Unmarshal(body, &got); status != 200 || err != nil {
		l.Errorf("list: %d %s", status, body)
		return
	}
	l.reads.Add(1)
	forms := map[string]bool{}
	for _, note := range got.Data {
		if note.Title == nil || note.Body == nil {
			l.Errorf("an incomplete note in %s", body)
			return
		}
		if note.Rank != nil {
			forms[fmt.Sprintf("%T", note.Rank)] = true
		}
	}
	if len(forms) > 1 {
		l.Errorf("ranks of two types in %s", body)
	}
}

func (l *load) query(string) {
	status, body := l.do(context.Background(), "POST", "/graphql", object{"query": "{ notes_connection(pagination: {limit: 10}) { nodes { title body } pageInfo { total } } }"})
	if status != 200 || bytes.Contains(body, []byte(`"errors"`)) || !bytes.Contains(body, []byte(`"total"`)) {
		l.Errorf("query: %d %s", status, body)
	}
	l.reads.Add(1)
}

// topics reads a type that the edits add and remove.
func (l *load) topics(string) {
	if status, body := l.do(context.Background(), "GET", "/api/topic0s", nil); status != 200 && status != 404 {
		l.Errorf("topics: %d %s", status, body)
	}
	l.reads.Add(1)
}

// check expects every acknowledged write in the store, and no other document.
func (l *load) check() {
	l.Helper()
	found := map[string]string{}
	for start := 0; ; start += 100 {
		status, body := l.do(l.Context(), "GET", fmt.Sprintf("/api/notes?fields[0]=title&sort=id&pagination[limit]=100&pagination[start]=%d", start), nil)
		var page struct {
			Data []struct{ DocumentID, Title string }
		}
		if err := json.Unmarshal(body, &page); status != 200 || err != nil {
			l.Fatalf("%d %s", status, body)
		}
		for _, note := range page.Data {
			found[note.DocumentID] = note.Title
		}
		if len(page.Data) == 0 {
			break
		}
	}
	for id, title := range l.titles {
		if found[id] != title {
			l.Errorf("note %s has title %q, want %q", id, found[id], title)
		}
		delete(found, id)
	}
	for id, title := range found {
		if !strings.HasPrefix(title, "slow") {
			l.Errorf("note %s, %q: nobody was told of it", id, title)
		}
	}
}

// A form is a multipart body.
type form struct {
	io.Reader
	kind string
}

// slowRequests sends requests whose bodies begin before the edits and end after them.
type slowRequests struct {
	*editing
	go_ []chan struct{}
	all sync.WaitGroup
}

func (e *editing) startSlowRequests() *slowRequests {
	s := &slowRequests{editing: e}
	begun := make(chan struct{}, 2)
	slowly := func(first, rest []byte) io.Reader {
		r, w := io.Pipe()
		proceed := make(chan struct{})
		s.go_ = append(s.go_, proceed)
		go func() {
			w.Write(first)
			begun <- struct{}{}
			<-proceed
			w.Write(rest)
			w.Close()
		}()
		return r
	}
	text := []byte(`{"data": {"title": "slow", "body": "text", "rank": 7}}`)
	note := slowly(text[:20], text[20:])
	var parts bytes.Buffer
	m := multipart.NewWriter(&parts)
	for _, name := range []string{"a.txt", "b.txt"} {
		part, err := m.CreateFormFile("files", name)
		if err != nil {
			e.Fatal(err)
		}
		part.Write(bytes.Repeat([]byte("what is in the file "+name+"\n"), 5000))
	}
	m.Close()
	half := parts.Len() / 2
	files := &form{slowly(slices.Clone(parts.Bytes()[:half]), slices.Clone(parts.Bytes()[half:])), m.FormDataContentType()}
	for path, body := range map[string]any{"/api/notes": note, "/api/upload": files} {
		s.all.Go(func() {
			if status, answer := e.do(context.Background(), "POST", path, body); status != 201 {
				e.Errorf("slow POST %s: %d %s", path, status, answer)
			}
		})
	}
	<-begun
	<-begun
	return s
}

func (s *slowRequests) finish() {
	for _, proceed := range s.go_ {
		close(proceed)
	}
	s.all.Wait()
	if status, body := s.do(s.Context(), "GET", "/api/upload/files", nil); status != 200 || bytes.Count(body, []byte(`"documentId"`)) != 2 {
		s.Errorf("files after a slow upload: %d %s", status, body)
	}
}
