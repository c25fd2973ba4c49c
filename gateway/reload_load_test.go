package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestEditsUnderLoadFailNoRequest edits the definitions of a project fifty times while clients read and write it over
// REST and GraphQL. No request fails, no acknowledged write is lost, and each edit is either served or refused with a
// reason while the former definitions stay in service. The test logs how long the edits took to be served: less than a
// second on an idle machine.
func TestEditsUnderLoadFailNoRequest(t *testing.T) {
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
		{"add", note, noteFile(before, extra+": {type: string}"), map[string]int{field(extra): 200, field("body"): 200},
			""},
		{"retype", note, noteFile(after, extra+": {type: string}"), map[string]int{field("rank"): 200}, ""},
		{"new type", "content-types/" + topic + ".yaml", typeFile(topic), map[string]int{"/api/" + topic + "s": 200},
			""},
		{"broken", "content-types/broken.yaml", "kind: [", map[string]int{field(extra): 200},
			"content-types/broken.yaml:2: "},
		{"repaired", "content-types/broken.yaml", "", map[string]int{field(extra): 200}, ""},
		{"rename", note, noteFile(after, renamed+": {type: string}"),
			map[string]int{field(extra): 400, field(renamed): 200}, ""},
		{"remove with content", note, strings.Replace(noteFile(after, renamed+": {type: string}"),
			"  body: {type: text}\n", "", 1),
			map[string]int{field("body"): 200}, "lectern migrate DIR drop-attribute api::note.note.body"},
		{"taken back", note, noteFile(after, renamed+": {type: string}"), map[string]int{field("body"): 200}, ""},
		{"remove without content", note, noteFile(after), map[string]int{field(renamed): 400}, ""},
		{"remove a type", "content-types/" + topic + ".yaml", "", map[string]int{"/api/" + topic + "s": 404}, ""},
	}
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
	status, body := l.do(context.Background(), "POST", "/api/notes",
		object{"data": object{"title": title, "body": "text", "rank": 5}})
	if err := json.Unmarshal(body, &made); status != 201 || err != nil {
		l.Errorf("create: %d %s", status, body)
		return
	}
	l.note(made.Data.DocumentID, title)
	title += " changed"
	status, body = l.do(context.Background(), "PUT", "/api/notes/"+made.Data.DocumentID,
		object{"data": object{"title": title}})
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

// list reads notes over REST and checks the permanent attributes. All values of rank in an answer must have the same
// type.
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
	status, body := l.do(context.Background(), "POST", "/graphql",
		object{"query": "{ notes_connection(pagination: {limit: 10}) { nodes { title body } pageInfo { total } } }"})
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
		status, body := l.do(l.Context(), "GET",
			fmt.Sprintf("/api/notes?fields[0]=title&sort=id&pagination[limit]=100&pagination[start]=%d", start), nil)
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
	files := &form{slowly(slices.Clone(parts.Bytes()[:half]), slices.Clone(parts.Bytes()[half:])),
		m.FormDataContentType()}
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
	if status, body := s.do(s.Context(), "GET", "/api/upload/files", nil); status != 200 ||
		bytes.Count(body, []byte(`"documentId"`)) != 2 {
		s.Errorf("files after a slow upload: %d %s", status, body)
	}
}
