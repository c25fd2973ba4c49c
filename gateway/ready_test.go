package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/gateway/admin"
)

// TestReadinessFollowsTheServer serves a project whose definitions have changed, and sends requests while the content
// is converted, afterwards, and after the server was told to stop.
func TestReadinessFollowsTheServer(t *testing.T) {
	const drain = 20 * time.Millisecond
	dir := writeProject(t, map[string]string{
		"content-types/note.yaml": noteFile("size: {type: integer}"),
		"config/server.yaml":      "timeouts: {drain: 20ms}",
	})
	key := writeNote(t, dir)
	writeFiles(t, dir, map[string]string{"content-types/note.yaml": noteFile("size: {type: string}")})

	base, ready := make(chan string, 1), make(chan bool)
	isConverting, convert, isStopping, end := make(chan bool), make(chan bool), make(chan bool), make(chan bool)
	listening := regexp.MustCompile(`msg=listening base=(\S+)`)
	var stopped time.Time
	var once sync.Once
	log := onLog(func(line string) {
		switch at := listening.FindStringSubmatch(line); {
		case at != nil:
			base <- at[1]
		case strings.Contains(line, "the definitions have changed"):
			once.Do(func() { isConverting <- true; <-convert })
		case strings.Contains(line, "msg=stopping"):
			isStopping <- true
			<-end
			stopped = time.Now()
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		failed <- gateway.Serve(
			ctx, dir, gateway.Options{Addr: "127.0.0.1:0", Log: log, Ready: func(gateway.Ready) { close(ready) }})
	}()

	at := <-base
	expect := func(path string, status int, contains string) {
		t.Helper()
		if got, body := get(t, at+path, key); got != status || !strings.Contains(body, contains) {
			t.Errorf("GET %s: %d %s, want %d %s", path, got, body, status, contains)
		}
	}
	<-isConverting
	expect("/_ready", 503, `{"state":"converting",`)
	expect("/_health", 204, "")
	expect("/api/notes", 503, "the server is starting")
	expect("/graphql", 503, "the server is starting")
	if _, err := gateway.Directory(dir, gateway.Options{}).Health(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no server answers") {
		t.Errorf("health over the control socket while converting: %v", err)
	}
	close(convert)
	<-ready
	expect("/_ready", 200, `{"state":"ready"}`)
	expect("/api/notes", 200, `"size":"7"`)
	stop()
	<-isStopping
	expect("/_ready", 503, `{"state":"draining",`)
	expect("/api/notes", 200, `"size":"7"`)
	if c, err := gateway.Directory(dir, gateway.Options{}).Health(t.Context()); err != nil || c.State != "draining" {
		t.Errorf("health over the control socket while draining: %v, %v", c, err)
	}
	close(end)
	if err := <-failed; err != nil {
		t.Error(err)
	}
	if took := time.Since(stopped); took < drain {
		t.Errorf("stopped after %s, want at least %s", took, drain)
	}
}

// writeNote serves the project, creates a note of size 7, and returns the key of a token.
func writeNote(t *testing.T, dir string) string {
	t.Helper()
	var key string
	served, stop := run(t, dir, gateway.Options{}, func(p *gateway.Project) {
		var err error
		if _, key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "full", Kind: auth.FullAccess}); err != nil {
			t.Fatal(err)
		}
	})
	defer stop()
	if status, body := send(t, http.MethodPost, served.Base+"/api/notes", key,
		`{"data":{"title":"n","size":7}}`); status != 201 {
		t.Fatal(status, body)
	}
	c, err := gateway.Directory(dir, gateway.Options{}).Health(t.Context())
	if err != nil || c != admin.Ready {
		t.Errorf("health over the control socket: %v, %v", c, err)
	}
	return key
}

// TestServeFailsBeforeItConverts serves at an address that is in use.
func TestServeFailsBeforeItConverts(t *testing.T) {
	served, _ := run(t, writeProject(t, nil), gateway.Options{}, nil)
	err := gateway.Serve(t.Context(), writeProject(t, nil), gateway.Options{
		Addr: strings.TrimPrefix(served.Base, "http://"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err == nil || !strings.Contains(err.Error(), "cannot listen at") {
		t.Errorf("got %v", err)
	}
}
