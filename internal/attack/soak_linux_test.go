package attack

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/internal/servertest"
)

var soakTime = flag.Duration("attack.soak", 10*time.Second, "how long TestSoak puts a server under a mixed load")

// soakClients is how many clients read and write at the same time.
const soakClients = 4

// TestSoak puts a server under a mixed load: clients read, write, publish, delete and upload, while definitions are
// edited and backups are made and restored. Each change is taken back, so the content does not grow. Memory,
// descriptors and goroutines must not grow either, and no request may fail.
func TestSoak(t *testing.T) {
	files := maps.Clone(noteFiles)
	files["config/server.yaml"] = "metrics: {listen: \"127.0.0.1:0\"}\n"
	p := newProject(t, "", files)
	p.environment = "development" // definitions are read again when they change
	s := p.serve()
	n := &notes{server: s, names: map[string]string{}}
	n.addSome(t, 200)
	load := &soak{t: t, s: s, times: map[string][]time.Duration{}}
	load.round(t, p, 3*time.Second) // fills caches and pools
	first := s.usage(t)
	began := time.Now()
	rounds := 0
	for ; time.Since(began) < *soakTime; rounds++ {
		load.round(t, p, min(*soakTime/4, time.Minute))
	}
	last := s.usage(t)
	t.Logf("%d rounds in %s; %+v at the beginning, %+v at the end; %s", rounds, time.Since(began).Round(time.Second),
		first, last, load.summary())
	if last.memory > 2*first.memory+32<<20 {
		t.Errorf("memory grew from %d to %d MB", first.memory>>20, last.memory>>20)
	}
	if last.descriptors > first.descriptors+8 {
		t.Errorf("descriptors grew from %d to %d", first.descriptors, last.descriptors)
	}
	if last.goroutines > first.goroutines+16 {
		t.Errorf("goroutines grew from %d to %d", first.goroutines, last.goroutines)
	}
	n.verify(t)
	s.stop(t)
	if _, stderr, err := p.run("check", "--store", "--data", p.data, p.dir); err != nil {
		t.Errorf("check --store: %v\n%s", err, stderr)
	}
}

// A soak is the load of TestSoak.
type soak struct {
	t *testing.T
	s *server

	mu    sync.Mutex
	times map[string][]time.Duration // how long requests took, by kind
}

// round runs the clients for a while. Meanwhile it edits the definitions twice, and makes a backup and restores it.
func (l *soak) round(t *testing.T, p *project, d time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for i := range soakClients {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					l.cycle(fmt.Sprintf("client %d, cycle %d", i, n))
				}
			}
		})
	}
	end := time.After(d)
	l.edit(t, p, "extra: {type: string}")
	l.backup(t, p)
	l.edit(t, p, "")
	<-end
	close(stop)
	clients.Wait()
}

// cycle is what a client does: it reads, and takes back all that it writes.
func (l *soak) cycle(name string) {
	id := l.created("write", "POST", "/api/notes",
		fmt.Sprintf(`{"data":{"name":%q,"text":%q}}`, name, strings.Repeat("x", 500)))
	l.do("read", "GET", "/api/notes?sort=name&pagination[pageSize]=50", "", 200)
	l.do("read", "GET", "/api/notes/"+id, "", 200)
	l.do("write", "PUT", "/api/notes/"+id, `{"data":{"text":"changed"}}`, 200)
	l.do("read", "POST", "/graphql", `{"query":"{notes(filters:{text:{contains:\"changed\"}}){name}}"}`, 200)
	l.do("write", "DELETE", "/api/notes/"+id, "", 204)
	a, file, url := l.s.upload(l.t, 20_000)
	if a.status != 201 {
		l.t.Errorf("an upload: %d %s", a.status, a.body)
		return
	}
	l.do("read", "GET", url, "", 200)
	l.do("write", "DELETE", fmt.Sprint("/api/upload/files/", file), "", 200)
}

// do sends a request, and notes how long it took.
func (l *soak) do(kind, method, path, body string, status int) answer {
	began := time.Now()
	a := l.s.do(l.t, method, path, "application/json", []byte(body))
	took := time.Since(began)
	if a.status != status {
		l.t.Errorf("%s %s: %d %.200s", method, path, a.status, a.body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[kind] = append(l.times[kind], took)
	return a
}

func (l *soak) created(kind, method, path, body string) (id string) {
	var made struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal([]byte(l.do(kind, method, path, body, 201).body), &made); err != nil {
		l.t.Error(err)
	}
	return made.Data.DocumentID
}

// edit changes the definition of notes, and waits until it is served.
func (l *soak) edit(t *testing.T, p *project, attribute string) {
	t.Helper()
	served := strings.Count(l.s.log.String(), reloaded)
	if err := os.WriteFile(filepath.Join(p.dir, "content-types/note.yaml"),
		[]byte(noteFiles["content-types/note.yaml"]+"  "+attribute+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "an edit is served", func() error {
		if log := l.s.log.String(); strings.Count(log, reloaded) == served {
			return errors.New(log)
		}
		return nil
	})
}

// reloaded is what the log says when changed definitions are served.
const reloaded = "serving what the files say now"

// backup makes a backup, restores it into another directory, and checks the store there.
func (l *soak) backup(t *testing.T, p *project) {
	t.Helper()
	file, data := filepath.Join(p.dir, "backup.tar"), filepath.Join(p.dir, "restored")
	for _, args := range [][]string{
		{"backup", "--data", p.data, "--force", p.dir, file},
		{"restore", "--data", data, p.dir, file},
		{"check", "--store", "--data", data, p.dir},
	} {
		if _, stderr, err := p.run(args...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, stderr)
		}
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
}

// summary names the median and the 99th percentile of each kind of request.
func (l *soak) summary() string {
	var text []string
	for _, kind := range []string{"read", "write"} {
		times := l.times[kind]
		slices.Sort(times)
		if len(times) > 0 {
			text = append(text, fmt.Sprintf("%d %ss, p50 %s, p99 %s", len(times), kind, times[len(times)/2],
				times[len(times)*99/100]))
		}
	}
	return strings.Join(text, "; ")
}

var metricsLine = regexp.MustCompile(`serving metrics.*url["=:]+(http://[0-9.:]+/metrics)`)

// A usage is what a process holds.
type usage struct {
	memory                  int64 // bytes
	descriptors, goroutines int
}

// usage returns what the process holds when no connection is open.
func (s *server) usage(t *testing.T) usage {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	at := metricsLine.FindStringSubmatch(s.log.String())
	if at == nil {
		t.Fatalf("the server has no metrics:\n%s", s.log.String())
	}
	res, err := http.Get(at[1])
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var goroutines int
	_, after, _ := strings.Cut(string(text), "\ngo_goroutines ")
	if _, err := fmt.Sscan(after, &goroutines); err != nil {
		t.Fatalf("no goroutines in %.300s", text)
	}
	return usage{s.anonymousMemory(t), len(descriptors), goroutines}
}
