package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"lectern/internal/servertest"
)

var noteFiles = map[string]string{"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  name: {type: string}
  text: {type: text}
`}

// An answer is a response of the server.
type answer struct {
	status int
	body   string
}

// is reports whether the response is an error with this status and name.
func (a answer) is(status int, name string) bool {
	return a.status == status &&
		strings.HasPrefix(a.body, fmt.Sprintf(`{"data":null,"error":{"status":%d,"name":%q,"message":"`, status, name))
}

// do sends a request with the full-access token. A missing response fails the test.
func (s *server) do(t *testing.T, method, path, contentType string, body []byte) answer {
	t.Helper()
	r, err := http.NewRequest(method, s.base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return answer{res.StatusCode, string(text)}
}

func (s *server) upload(t *testing.T, size int) (a answer, id int, url string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("files", "file.txt")
	if err == nil {
		_, err = part.Write(bytes.Repeat([]byte("x"), size))
	}
	if err := errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	a = s.do(t, "POST", "/api/upload", form.FormDataContentType(), body.Bytes())
	if a.status == 201 {
		var files []struct {
			ID  int
			URL string
		}
		if err := json.Unmarshal([]byte(a.body), &files); err != nil {
			t.Fatal(err)
		}
		id, url = files[0].ID, files[0].URL
	}
	return a, id, url
}

// notes records the acknowledged notes of a type, by documentId.
type notes struct {
	mu     sync.Mutex
	server *server
	names  map[string]string
	count  int
}

// add creates a note of the given size.
func (n *notes) add(t *testing.T, size int) answer {
	t.Helper()
	n.mu.Lock()
	n.count++
	name := fmt.Sprintf("note %d", n.count)
	n.mu.Unlock()
	a := n.server.do(t, "POST", "/api/notes", "application/json",
		fmt.Appendf(nil, `{"data":{"name":%q,"text":%q}}`, name, strings.Repeat("x", size)))
	if a.status != 201 {
		return a
	}
	var created struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal([]byte(a.body), &created); err != nil {
		t.Error(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[created.Data.DocumentID] = name
	return a
}

// addSome adds notes, which must succeed.
func (n *notes) addSome(t *testing.T, count int) {
	t.Helper()
	for range count {
		if a := n.add(t, 2000); a.status != 201 {
			t.Fatalf("a write on a healthy server: %d %s", a.status, a.body)
		}
	}
}

// addUntilFull has several writers add notes until each gets the response that the disk is full.
func (n *notes) addUntilFull(t *testing.T, size int) {
	t.Helper()
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 2000 {
				if a := n.add(t, size); a.is(507, "InsufficientStorageError") {
					return
				} else if a.status != 201 {
					t.Errorf("a write on a disk that fills up: %d %.200s", a.status, a.body)
					return
				}
			}
			t.Error("the disk was never full")
		})
	}
	writers.Wait()
}

// verify checks that exactly the acknowledged notes are present.
func (n *notes) verify(t *testing.T) {
	t.Helper()
	for id, name := range n.names {
		if a := n.server.do(t, "GET", "/api/notes/"+id+"?fields=name", "", nil); a.status != 200 ||
			!strings.Contains(a.body, fmt.Sprintf(`"name":%q`, name)) {
			t.Errorf("%s, which was acknowledged: %d %.200s", name, a.status, a.body)
		}
	}
	if a := n.server.do(t, "GET", "/api/notes?fields=name&pagination[pageSize]=1", "", nil); !strings.Contains(
		a.body, fmt.Sprintf(`"total":%d}`, len(n.names))) {
		t.Errorf("%d notes were acknowledged, and there are %s", len(n.names), a.body)
	}
}

// remove deletes some of the notes: as many as most, or all if there are fewer.
func (n *notes) remove(t *testing.T, most int) {
	t.Helper()
	for id := range n.names {
		if most--; most < 0 {
			return
		}
		if a := n.server.do(t, "DELETE", "/api/notes/"+id, "", nil); a.status != 204 {
			t.Errorf("a deletion: %d %.200s", a.status, a.body)
			return
		}
		delete(n.names, id)
	}
}

// health checks the state that GET /_health reports; "" stands for a healthy server.
func (s *server) health(t *testing.T, state string) {
	t.Helper()
	a := s.do(t, "GET", "/_health", "", nil)
	if state == "" && a.status == 204 {
		return
	}
	if state == "" || a.status != 503 || !strings.Contains(a.body, fmt.Sprintf(`"state":%q`, state)) ||
		!strings.Contains(a.body, `"action":"`) {
		t.Errorf("health: %d %s, want %q", a.status, a.body, state)
	}
}

// becomesWell waits until GET /_health reports a healthy server.
func (s *server) becomesWell(t *testing.T) {
	t.Helper()
	servertest.Until(t, "the server becomes well by itself",
		func() bool { return s.do(t, "GET", "/_health", "", nil).status == 204 })
}

var fileSystem = flag.String("filesystem", "tmpfs",
	"file system of the disks that are filled; others than tmpfs need loop devices and mkfs")

// A smallDisk is a small file system that a test can fill.
type smallDisk struct {
	*testing.T
	dir string
}

func newSmallDisk(t *testing.T, megabytes int) smallDisk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a file system")
	}
	if *fileSystem != "tmpfs" {
		return smallDisk{t, newImage(t, *fileSystem, megabytes).dir}
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return smallDisk{t, dir}
}

// fill uses up all blocks of the disk until free is called.
func (d smallDisk) fill() (free func()) {
	d.Helper()
	path := filepath.Join(d.dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			d.Fatal(err)
		}
	}
}

// TestFullDisk fills the disk under a server. Writes must be answered 507, reads and deletions of documents and files
// must work, and the server must recover by itself. A kill at the end shows that no acknowledged write is lost.
func TestFullDisk(t *testing.T) {
	disk := newSmallDisk(t, 48)
	p := newProject(t, filepath.Join(disk.dir, "data"), noteFiles)
	s := p.serve()
	n := &notes{server: s, names: map[string]string{}}
	n.addSome(t, 50)
	var files []int
	var urls []string
	for range 5 {
		a, id, url := s.upload(t, 100_000)
		if a.status != 201 {
			t.Fatal(a)
		}
		files, urls = append(files, id), append(urls, url)
	}
	s.health(t, "")

	free := disk.fill()
	n.addUntilFull(t, 30_000)
	s.health(t, "full")
	n.verify(t)
	if a, _, _ := s.upload(t, 100_000); !a.is(507, "InsufficientStorageError") {
		t.Errorf("an upload on a full disk: %d %s", a.status, a.body)
	}
	mutation := fmt.Sprintf(`{"query":"mutation { createNote(data: {text: \"%s\"}) { documentId } }"}`,
		strings.Repeat("x", 100_000))
	if a := s.do(t, "POST", "/graphql", "application/json", []byte(mutation)); !strings.Contains(
		a.body, `"name":"InsufficientStorageError"`) {
		t.Errorf("a mutation on a full disk: %d %.300s", a.status, a.body)
	}
	n.remove(t, 20)
	for i, id := range files {
		if a := s.do(t, "DELETE", fmt.Sprint("/api/upload/files/", id), "", nil); a.status != 200 {
			t.Errorf("deletion of a file on a full disk: %d %s", a.status, a.body)
		}
		if _, err := os.Stat(filepath.Join(p.data, urls[i])); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
	}

	free()
	if a := n.add(t, 30_000); a.status != 201 {
		t.Errorf("the first write once there is space: %d %s", a.status, a.body)
	}
	s.health(t, "")
	n.verify(t)

	free = disk.fill()
	n.addUntilFull(t, 30_000)
	free()
	s.becomesWell(t)
	if a := n.add(t, 30_000); a.status != 201 {
		t.Errorf("a write once all is well: %d %s", a.status, a.body)
	}

	free = disk.fill()
	n.addUntilFull(t, 30_000)
	s.kill()
	s = p.serve() // while the disk is full
	n.server = s
	n.verify(t)
	n.remove(t, 10)
	free()
	if a := n.add(t, 30_000); a.status != 201 {
		t.Errorf("a write once there is space: %d %s", a.status, a.body)
	}
	n.verify(t)
	s.stop(t)
}

// TestLostStore deletes the store's file under a server. No write may be acknowledged any more, reads must work, the
// next start must not begin with an empty store, and an earlier backup must restore everything.
func TestLostStore(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(path string) error
	}{
		{"removed", os.Remove},
		{"replaced", func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".other", text, 0o600), os.Rename(path+".other", path))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, "", noteFiles)
			s := p.serve()
			n := &notes{server: s, names: map[string]string{}}
			n.addSome(t, 20)
			if err := tt.lose(filepath.Join(p.data, "content.db")); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if a := n.add(t, 2000); !a.is(503, "ServiceUnavailableError") {
					t.Errorf("a write into nothing: %d %s", a.status, a.body)
				}
			}
			s.health(t, "lost")
			n.verify(t)
			backup := filepath.Join(p.dir, "backup.tar")
			if _, stderr, err := p.run("backup", "--data", p.data, p.dir, backup); err != nil {
				t.Fatalf("backup: %v\n%s", err, stderr)
			}
			s.kill()
			if tt.name == "removed" {
				if _, stderr, err := p.run("export", "--data", p.data, p.dir,
					filepath.Join(p.dir, "empty.jsonl")); err == nil || !strings.Contains(stderr, "content.db.id") {
					t.Errorf("a start without the file: %v\n%s", err, stderr)
				}
			}
			if _, stderr, err := p.run("restore", "--data", p.data, p.dir, backup); err != nil {
				t.Fatalf("restore: %v\n%s", err, stderr)
			}
			s = p.serve()
			n.server = s
			n.verify(t)
			if a := n.add(t, 2000); a.status != 201 {
				t.Errorf("a write after the restore: %d %s", a.status, a.body)
			}
			s.stop(t)
		})
	}
}

// TestLostStoreIsNoticed checks that a server without writes notices that its store's file is gone, and that it is
// back.
func TestLostStoreIsNoticed(t *testing.T) {
	p := newProject(t, "", noteFiles)
	s := p.serve()
	path := filepath.Join(p.data, "content.db")
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	servertest.Until(t, "the server notices", func() bool { return s.do(t, "GET", "/_health", "", nil).status != 204 })
	s.health(t, "lost")
	if err := os.Rename(path+".moved", path); err != nil {
		t.Fatal(err)
	}
	s.becomesWell(t)
	s.stop(t)
}
