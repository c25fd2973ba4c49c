package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/budget"
	"lectern/internal/servertest"
)

// exportedPosts returns the lines of an export with the given number of posts, each with a text of the given number of
// bytes.
func exportedPosts(posts, text int) io.ReadSeeker {
	var lines strings.Builder
	for i := range posts {
		fmt.Fprintf(&lines, `{"type":"api::post.post","documentId":"long%d","data":{"title":"Long %d","text":"%s"}}`+
			"\n", i, i, strings.Repeat("x", text))
	}
	return strings.NewReader(lines.String())
}

// administer returns the administration client of a running server.
func (c *circle) administer(dir string) admin.Project {
	c.t.Helper()
	a, err := gateway.Directory(dir, gateway.Options{}).Administer(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { a.Close() })
	return a
}

// A stuckWriter blocks every write until it is released.
type stuckWriter struct{ wait func() }

func (w *stuckWriter) Write(p []byte) (int, error) {
	w.wait()
	return len(p), nil
}

// TestSlowDownloadsAreBrokenOff starts an export and a backup whose readers read nothing. The server closes their
// connections and releases the snapshot and the memory; the command and the log give the reason.
func TestSlowDownloadsAreBrokenOff(t *testing.T) {
	log := &servertest.LogBuffer{}
	c := newCircleWith(t, "{memory: 64mb, answerRate: 1mb}",
		gateway.Options{Production: true, Log: slog.New(slog.NewTextHandler(log, nil))})
	a := c.administer(filepath.Dir(c.data))
	if _, err := a.Import(t.Context(), exportedPosts(40, 100<<10), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	const reason = "let go of a reader that took less than 256kb in"
	stuck := func(path string) {
		conn, err := admin.DialControl(t.Context(), c.data)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		c.until("a snapshot to be held", func(m budget.Stats) bool { return m.Reserved > 0 })
		c.until("it to be released", func(m budget.Stats) bool { return m.Reserved == 0 })
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if n, err := io.Copy(io.Discard, answer.Body); err == nil || answer.StatusCode != 200 {
			t.Errorf("%s: %d, %d bytes that were to be cut, %v", path, answer.StatusCode, n, err)
		}
	}
	command := func(name string, download func(context.Context, io.Writer) error) {
		to := &stuckWriter{func() {
			c.until("the server to let go",
				func(m budget.Stats) bool { return m.Reserved == 0 })
		}}
		if err := download(t.Context(), to); err == nil || !strings.Contains(err.Error(), reason) ||
			!strings.Contains(err.Error(), "limits.answerRate is 1mb") {
			t.Errorf("%s: %v", name, err)
		}
	}
	stuck("/export")
	stuck("/backup")
	command("export", a.Export)
	command("backup", a.Backup)
	if n := strings.Count(log.String(), reason); n != 4 ||
		strings.Count(log.String(), "level=WARN msg=\"control socket\"") != 4 ||
		strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("%d of 4 are in the log:\n%s", n, log.String())
	}
	var whole bytes.Buffer
	if err := a.Export(t.Context(), &whole); err != nil || strings.Count(whole.String(), "\n") != 1+40+10+40 {
		t.Errorf("%v, %d lines", err, strings.Count(whole.String(), "\n"))
	}
}

// TestCommandsReserveTheirMemory expects commands that need much memory to reserve it from the budget of all requests.
// While the budget is used up, the server refuses them with a message that names limits.memory, and stores nothing.
func TestCommandsReserveTheirMemory(t *testing.T) {
	c := newCircle(t, "{memory: 32mb, answer: 16mb, answerRate: 1kb}")
	a := c.administer(filepath.Dir(c.data))
	if _, err := a.Import(t.Context(), exportedPosts(1, 1<<20), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("nothing to be reserved", func(m budget.Stats) bool { return m.Reserved == 0 })
	if m := c.memory(); m.Peak < 8<<20 {
		t.Errorf("an import with a line of 1 MiB reserved too little: %+v", m)
	}
	commands := map[string]func() error{
		"export": func() error { return a.Export(t.Context(), io.Discard) },
		"import": func() error {
			_, err := a.Import(t.Context(), exportedPosts(2, 1<<20), transfer.ImportOptions{})
			return err
		},
		"check": func() error {
			_, err := gateway.Directory(filepath.Dir(c.data), gateway.Options{}).Problems(t.Context())
			return err
		},
	}
	var unread []net.Conn
	for range 6 {
		unread = append(unread, c.askOnly(deepPosts(7)))
	}
	c.until("all memory to be taken", taken)
	for name, run := range commands {
		if err := run(); err == nil || !strings.Contains(err.Error(), "limits.memory (32mb)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, text := get(t, c.Base+"/api/posts?filters[documentId]=long1", ""); !strings.Contains(text, `"total":0`) {
		t.Errorf("a refused import has stored something: %.300s", text)
	}
	for _, conn := range unread {
		conn.Close()
	}
	c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
	for name, run := range commands {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
}
