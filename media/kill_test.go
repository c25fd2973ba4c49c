package media_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/gateway"
	"lectern/jsontree"
	"lectern/media"
	"lectern/store"
)

// serveDir is the environment variable that makes the test binary serve the project in that directory, as a process to
// be killed.
const serveDir = "MEDIA_TEST_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveDir); dir != "" {
		if err := serveUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveUntilKilled(dir string) error {
	p, err := gateway.Open(
		dir, gateway.Options{Addr: "127.0.0.1:0",
			Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
			Ready: func(r gateway.Ready) { fmt.Println(r.Base) }})
	if err != nil {
		return err
	}
	go func() { // the test process has ended
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return p.Run(context.Background())
}

// kills returns how often the server is killed: MEDIA_TEST_KILLS, or a few times.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("MEDIA_TEST_KILLS"))
	if err != nil {
		return 5
	}
	return n
}

// TestKilledServerLeavesFilesAndDocumentsWhole kills a server during uploads, replacements and deletions. After the
// next start there is no partial file, no document without its files, no file without its document, and every
// acknowledged change is there.
func TestKilledServerLeavesFilesAndDocumentsWhole(t *testing.T) {
	dir := writeProject(t, "")
	acknowledged := map[string]string{} // content by url; "" means deleted
	pngs := []string{pngOf(picture(600, 400)), pngOf(picture(300, 300)), pngOf(picture(30, 20))}
	for round := range kills(t) {
		base, kill := startToKill(t, dir)
		l := &killLoad{server: &server{T: t, base: base, dir: dir}, pngs: pngs, acknowledged: map[string]string{},
			uncertain: map[string]bool{}}
		var clients sync.WaitGroup
		for client := range 6 {
			clients.Go(func() { l.client(rand.New(rand.NewPCG(uint64(round), uint64(client)))) })
		}
		time.AfterFunc(time.Duration(30+rand.IntN(250))*time.Millisecond, kill)
		clients.Wait()
		kill()
		for url, content := range l.acknowledged {
			acknowledged[url] = content
		}
		for url := range l.uncertain {
			delete(acknowledged, url)
		}
		checkRecovered(t, dir, acknowledged)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d files acknowledged", len(acknowledged))
}

// startToKill starts a server in its own process.
func startToKill(t *testing.T, dir string) (base string, kill func()) {
	t.Helper()
	base, _, kill = startProcess(t, dir)
	return base, kill
}

// startWatched starts a server in its own process and stops it when the test ends.
func startWatched(t *testing.T, dir string) (base string, pid int) {
	t.Helper()
	base, pid, _ = startProcess(t, dir)
	return base, pid
}

func startProcess(t *testing.T, dir string) (base string, pid int, kill func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serveDir+"="+dir)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe() // open as long as this process lives
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		c.Process.Kill()
		c.Wait()
		stdin.Close()
	})
	t.Cleanup(kill)
	if _, err := fmt.Fscanln(stdout, &base); err != nil {
		t.Fatal("the server does not start: ", err)
	}
	return base, c.Process.Pid, kill
}

// killLoad sends the requests of a client until the server is gone, and records the answers.
type killLoad struct {
	*server
	pngs []string

	mu           sync.Mutex
	acknowledged map[string]string
	uncertain    map[string]bool // urls with a change that was not answered
}

func (l *killLoad) client(rng *rand.Rand) {
	type own struct {
		id      int
		url     string
		content string
	}
	var files []own
	for {
		content := l.pngs[rng.IntN(len(l.pngs))]
		switch {
		case len(files) == 0 || rng.IntN(3) > 0:
			body, contentType := form(file("a.png", "image/png", content),
				file("b.txt", "text/plain", strings.Repeat("text ", rng.IntN(100000))))
			answer, ok := l.send("POST", "/api/upload", contentType, body)
			var got []fileAnswer
			if !ok || json.Unmarshal(answer, &got) != nil || len(got) != 2 {
				return
			}
			files = append(files, own{got[0].ID, got[0].URL, content})
			l.tell(got[0].URL, content)
		case rng.IntN(2) == 0:
			f := &files[rng.IntN(len(files))]
			body, contentType := form(file("c.png", "image/png", content))
			if _, ok := l.send("POST", fmt.Sprint("/api/upload?id=", f.id), contentType, body); !ok {
				l.doubt(f.url)
				return
			}
			f.content = content
			l.tell(f.url, content)
		default:
			i := rng.IntN(len(files))
			f := files[i]
			files = append(files[:i], files[i+1:]...)
			if _, ok := l.send("DELETE", fmt.Sprint("/api/upload/files/", f.id), "", nil); !ok {
				l.doubt(f.url)
				return
			}
			l.tell(f.url, "")
		}
	}
}

func (l *killLoad) tell(url, content string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged[url] = content
}

func (l *killLoad) doubt(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uncertain[url] = true
}

// send sends a request; ok is false if the server is gone.
func (l *killLoad) send(method, path, contentType string, body []byte) (answer []byte, ok bool) {
	r, err := http.NewRequest(method, l.base+path, strings.NewReader(string(body)))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, false
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return nil, false
	}
	if res.StatusCode >= 300 {
		l.Errorf("%s %s: %d %s", method, path, res.StatusCode, answer)
		return nil, false
	}
	return answer, true
}

// openLibrary opens store and library of a project that is not being served.
func openLibrary(t *testing.T, dir string) (*store.Store, *media.Library) {
	t.Helper()
	model, problems := contenttypes.LoadFS(os.DirFS(dir), contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	st, err := store.Open(filepath.Join(dir, "data/content.db"), model, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := media.Open(media.Options{Dir: filepath.Join(dir, "data/uploads"), Store: st,
		Documents: documents.NewService(st, model, "en"),
		Model:     model, Settings: media.DefaultSettings, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return st, l
}

// checkRecovered opens the project of a killed server, recovers it and compares documents with files.
func checkRecovered(t *testing.T, dir string, acknowledged map[string]string) {
	t.Helper()
	st, l := openLibrary(t, dir)
	defer st.Close()
	defer l.Close()
	if err := l.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	if err := st.Check(); err != nil {
		t.Error(err)
	}
	files, spooled := listUploads(t, dir)
	if len(spooled) > 0 {
		t.Errorf("in the spool: %v", spooled)
	}
	unclaimed, urls := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		unclaimed[name] = true
	}
	for _, f := range documentsOf(t, st) {
		urls[f.URL] = true
		claim := func(url string, size float64) {
			name := strings.TrimPrefix(url, "/uploads/")
			delete(unclaimed, name)
			info, err := os.Stat(filepath.Join(dir, "data/uploads", name))
			if err != nil {
				t.Errorf("a document without its file: %v", err)
			} else if got := float64((info.Size()+5)/10) / 100; got != size {
				t.Errorf("%s has %v kB, its document says %v", name, got, size)
			}
		}
		claim(f.URL, f.Size)
		for _, x := range f.Formats {
			claim(x.URL, x.Size)
		}
	}
	for name := range unclaimed {
		t.Errorf("a file without its document: %s", name)
	}
	for url, content := range acknowledged {
		if urls[url] != (content != "") {
			t.Errorf("%s: there: %v", url, urls[url])
		} else if content != "" {
			if got, err := os.ReadFile(
				filepath.Join(dir, "data/uploads", strings.TrimPrefix(url, "/uploads/"))); string(got) != content {
				t.Errorf("%s has another content than was acknowledged: %v", url, err)
			}
		}
	}
}

// documentsOf returns the files that have documents in the store.
func documentsOf(t *testing.T, st *store.Store) (files []fileAnswer) {
	t.Helper()
	typ := st.Model().Type(contenttypes.FileUID)
	err := st.View(func(s *store.Snapshot) error {
		page, err := s.Find(&store.Query{Type: typ, Limit: -1})
		for _, row := range page.Rows {
			o := jsontree.NewObject()
			for _, key := range []string{"url", "size", "formats", "hash"} {
				v, err := jsontree.Parse(row.JSON(typ.Attribute(key)), 10)
				if err == nil {
					o.Set(key, v)
				}
			}
			var f fileAnswer
			if err := json.Unmarshal(jsontree.Append(nil, o), &f); err != nil {
				return err
			}
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
