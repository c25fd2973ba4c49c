package repository

import (
	"bufio"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lectern/internal/servertest"
)

// TestWebhookReceiver runs the receiver of docs/webhooks.md, and has a project with the webhook of that page send it a
// test event and the event of a publication.
func TestWebhookReceiver(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Setenv("SEARCH_WEBHOOK_SECRET", "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	dir := t.TempDir()
	lectern, project, addr := filepath.Join(dir, "lectern"), filepath.Join(dir, "blog"), servertest.FreeAddress(t)
	printed := startReceiver(t, dir, addr)

	run(t, exec.Command("go", "build", "-o", lectern, "."))
	run(t, exec.Command(lectern, "init", project))
	settings := strings.Replace(blocksOf(t, "webhooks.md", anyYAMLBlock)[0], "https://search.example.org/lectern",
		"http://"+addr, 1)
	writeFiles(t, project, map[string]string{"config/webhooks.yaml": settings + "    allowPrivate: [127.0.0.1]\n"})
	base := "http://" + serve(t, dir, lectern, "blog").addr
	if got := run(t, exec.Command(lectern, "webhooks", "test", project, "search-index")); !strings.HasPrefix(
		got, "answered 204 in ") {
		t.Error(got)
	}
	if got := <-printed; got != "webhooks.test" {
		t.Errorf("for a test event the receiver prints %q", got)
	}
	key := strings.TrimSpace(run(t, exec.Command(lectern, "token", "create", project, "editor")))
	c := &client{base: base, keys: map[string]string{"editor": key}}
	if answer, text := c.do(t, "editor", "POST", "/api/articles",
		`{"data":{"title":"Soup","slug":"soup"}}`); answer.StatusCode != 201 {
		t.Fatal(text)
	}
	select {
	case got := <-printed:
		if !regexp.MustCompile(`^entry\.publish [a-z0-9]{24} Soup$`).MatchString(got) {
			t.Errorf("for a publication the receiver prints %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("no event was received")
	}
}

// startReceiver runs the JavaScript of docs/webhooks.md until the test ends, and returns the lines that it prints.
func startReceiver(t *testing.T, dir, addr string) <-chan string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"receiver.mjs": blocksOf(t, "webhooks.md", jsBlock)[0]})
	receiver := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "receiver.mjs"))
	receiver.Env, receiver.Stderr = append(os.Environ(), "PORT="+port), os.Stderr
	out, err := receiver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { receiver.Wait() })
	servertest.Await(t, "the receiver listens", func() error {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err
	})
	printed := make(chan string, 10)
	go func() {
		defer close(printed)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			printed <- lines.Text()
		}
	}()
	return printed
}
