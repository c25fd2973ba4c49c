package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"lectern/gateway"
	"lectern/store"
)

// TestFormats serves the fixture of every format up to the present one, and compares all answers with those of its time.
func TestFormats(t *testing.T) {
	for format := uint64(1); format <= store.Format; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			dir := fixtureDir(format)
			if _, err := os.Stat(dir); err != nil {
				t.Fatalf("format %d has no fixture; the comment of this package says how to add it: %v", format, err)
			}
			data, content := unpack(t, dir)
			a := readAnswers(t, dir)
			for range 2 { // the second start finds the present format
				s := serve(t, data, a.Token)
				s.compare(a)
				s.stop()
			}
			s := serve(t, data, a.Token)
			s.change()
			s.stop()
			copied, err := os.ReadFile(filepath.Join(data, fmt.Sprint(storeName, ".format-", format)))
			if format == store.Format {
				if err == nil {
					t.Error("a store of the present format was copied")
				}
			} else if err != nil || len(copied) == 0 || !bytes.HasPrefix(content, copied) {
				t.Errorf("the copy that is kept for the way back differs from the file (%v)", err)
			}
		})
	}
}

// A server serves a fixture within the test.
type server struct {
	*testing.T
	client
	project *gateway.Project
	end     context.CancelFunc
	ended   chan error
}

func serve(t *testing.T, data, token string) *server {
	t.Helper()
	ready := make(chan gateway.Ready, 1)
	project, err := gateway.Open(projectDir, gateway.Options{
		Data: data, Addr: "127.0.0.1:0", Production: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Ready: func(r gateway.Ready) { ready <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, project: project, ended: make(chan error, 1)}
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	go func() { s.ended <- project.Run(ctx) }()
	select {
	case r := <-ready:
		s.client = client{r.Base, token}
	case err := <-s.ended:
		t.Fatal(err)
	}
	return s
}

// stop ends the server and checks its store.
func (s *server) stop() {
	s.Helper()
	s.end()
	if err := <-s.ended; err != nil {
		s.Error(err)
	}
	if err := s.project.Store().Check(); err != nil {
		s.Error(err)
	}
	if err := s.project.Close(); err != nil {
		s.Error(err)
	}
}

// compare sends the requests of a fixture and compares the answers.
func (s *server) compare(a answers) {
	s.Helper()
	for _, q := range a.Requests {
		status, answer, err := s.send(q.Method, q.Path, "application/json", q.Body)
		if err != nil {
			s.Fatal(err)
		}
		if status != q.Status || !reflect.DeepEqual(answer, q.Answer) {
			s.Errorf("%s %s is answered\n%d %s\nand was\n%d %s", q.Method, q.Path, status, text(answer), q.Status, text(q.Answer))
		}
	}
}

func text(answer any) []byte {
	b, err := json.Marshal(answer)
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

// change changes, publishes and removes documents of a fixture.
func (s *server) change() {
	s.Helper()
	_, found, err := s.send(http.MethodGet, "/api/articles?sort=id&pagination[pageSize]=30", "", nil)
	if err != nil {
		s.Fatal(err)
	}
	changed := 0
	for i, row := range found.(map[string]any)["data"].([]any) {
		path := "/api/articles/" + row.(map[string]any)["documentId"].(string)
		method, body, want := http.MethodPut, fmt.Sprintf(`{"data":{"title":"new %d","length":%d,"tags":[]}}`, i, 1000+i), http.StatusOK
		if i%3 == 0 {
			method, body, want = http.MethodDelete, "", http.StatusNoContent
		} else {
			changed++
		}
		if status, answer, err := s.send(method, path, "application/json", []byte(body)); err != nil || status != want {
			s.Fatalf("%s %s: %d %s %v", method, path, status, text(answer), err)
		}
	}
	if _, found, err = s.send(http.MethodGet, "/api/articles?filters[length][$gte]=1000&fields=length", "", nil); err != nil {
		s.Fatal(err)
	}
	if got := found.(map[string]any)["meta"].(map[string]any)["pagination"].(map[string]any)["total"]; got != float64(changed) || changed == 0 {
		s.Errorf("%v changed articles are found, %d were changed", got, changed)
	}
}
