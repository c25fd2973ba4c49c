package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/internal/yamlfile"
	"lectern/store/evolve"
)

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

const noteHead = "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\npluginOptions: {}\nattributes:\n"

// noteFile is the definition of the type that all clients read and write.
func noteFile(attributes ...string) string {
	return noteHead + "  title: {type: string, required: true}\n  body: {type: text}\n  " +
		strings.Join(attributes, "\n  ") + "\n"
}

func typeFile(singular string) string {
	return fmt.Sprintf("kind: collectionType\ninfo: {singularName: %s, pluralName: %ss, displayName: T}\nattributes: {name: {type: string}}\n", singular, singular)
}

func (e *editing) serve(x *gateway.Extensions) {
	t := e.T
	e.reloaded = make(chan error)
	e.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 30 * time.Second}
	var log servertest.LogBuffer
	e.log = log.String
	var ready gateway.Ready
	ready, e.close = run(t, e.dir, gateway.Options{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Extensions: x,
		Reloaded: e.reload,
	}, func(p *gateway.Project) {
		var err error
		e.project = p
		if _, e.key, err = p.CreateToken(
			t.Context(), auth.Declaration{Name: "all", Kind: auth.FullAccess}); err != nil {
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

// An edit is a change of a file with its expected effect.
type edit struct {
	what, file string
	text       string         // "" removes the file
	shows      map[string]int // statuses of requests by path, once the edit is served
	refused    string         // part of the error, if the edit is refused
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

// expect calls the function that changes files, and waits until path answers with status. If the function makes several
// changes, a reload may serve some of them before the others.
func (e *editing) expect(what string, change func(), path string, status int) {
	e.Helper()
	change()
	late := time.After(20 * time.Second)
	for {
		var err error
		select {
		case err = <-e.reloaded:
		case <-late:
			e.Fatalf("%s: not noticed", what)
		}
		got, body := e.do(e.Context(), "GET", path, nil)
		if err == nil && got == status {
			return
		}
		e.Logf("%s: %v; GET %s: %d %.100s, want %d", what, err, path, got, body, status)
	}
}

func (e *editing) path(name string) string { return filepath.Join(e.dir, filepath.FromSlash(name)) }

func (e *editing) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
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

// A form is a multipart body.
type form struct {
	io.Reader
	kind string
}
