package servertest

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
)

// WriteProject writes the files of a project, by name, into a new directory, and returns the directory.
func WriteProject(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An Exchange is a request and what its answer must be.
type Exchange struct {
	Method, Path string
	As           string // the name of a token of the server, or a key; "": nobody
	Body         string
	Header       http.Header // further headers; a body is JSON unless they say otherwise
	Status       int
	Want         string // a part of the body; "-": the body is empty
}

// Send sends the request of an exchange to a server, and fails the test unless the answer is the one that is wanted. It
// returns the body of the answer.
func (e Exchange) Send(t testing.TB, to gateway.Ready) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), e.Method, to.Base+e.Path, strings.NewReader(e.Body))
	if err != nil {
		t.Fatal(err)
	}
	if e.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range e.Header {
		r.Header[name] = values
	}
	key := to.Tokens[e.As]
	if key == "" {
		key = e.As
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultTransport.RoundTrip(r) // which follows no redirect
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	if answer.StatusCode != e.Status || e.Want == "-" && text != "" || e.Want != "-" && !strings.Contains(text, e.Want) {
		t.Errorf("%s %s of %q: %d %s\nwant %d %s", e.Method, e.Path, e.As, answer.StatusCode, text, e.Status, e.Want)
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") && text != "" && !json.Valid(body) {
		t.Errorf("%s %s: the answer is no JSON: %s", e.Method, e.Path, text)
	}
	return text
}
