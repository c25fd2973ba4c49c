package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/store"
)

// openProject opens a project. It is closed by the returned function or at the end of the test, which also checks its
// store.
func openProject(t *testing.T, dir string, o gateway.Options) (p *gateway.Project, closeProject func()) {
	t.Helper()
	if o.Log == nil && o.LogTo == nil {
		o.LogTo = io.Discard
	}
	p, err := gateway.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	closeProject = sync.OnceFunc(func() {
		path := p.Store().Path()
		if o.Ephemeral { // Close removes the directory
			if err := p.Store().Check(); err != nil {
				t.Error(err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if o.Ephemeral {
			if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there", filepath.Dir(path))
			}
			return
		}
		st, err := store.Open(path, p.Definition().Model, store.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(st.Check(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(closeProject)
	return p, closeProject
}

// run serves a project until the returned function is called or the test ends.
func run(t *testing.T, dir string, o gateway.Options, setup func(*gateway.Project)) (r gateway.Ready, stop func()) {
	t.Helper()
	ready := make(chan gateway.Ready, 1)
	o.Addr, o.Ready = "127.0.0.1:0", func(r gateway.Ready) { ready <- r }
	p, closeProject := openProject(t, dir, o)
	if setup != nil {
		setup(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeProject()
	})
	t.Cleanup(stop)
	select {
	case r = <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	return r, stop
}

func get(t *testing.T, url, key string) (int, string) {
	t.Helper()
	return send(t, http.MethodGet, url, key, "")
}

// TestConfiguredLocalesAreMadeAndOthersKept expects missing locales to be created and existing ones to be kept. A
// locale that is removed from the configuration is not listed; when it is configured again, it is the same document.
func TestConfiguredLocalesAreMadeAndOthersKept(t *testing.T) {
	dir := writeProject(
		t, map[string]string{"config/plugins.yaml": "i18n: {config: {defaultLocale: de, locales: [fr, de]}}"})
	list := func() (codes string) {
		ready, stop := run(t, dir, gateway.Options{}, nil)
		defer stop()
		a, err := gateway.Directory(dir, gateway.Options{}).Administer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		name := "t" + codes
		_, key, err := a.CreateToken(t.Context(), auth.Declaration{Name: name, Kind: auth.FullAccess})
		if err != nil {
			t.Fatal(err)
		}
		defer a.RevokeToken(t.Context(), name)
		_, body := get(t, ready.Base+"/api/i18n/locales", key)
		var locales []struct {
			ID         int
			DocumentID string
			Code       string
			IsDefault  bool
		}
		if err := json.Unmarshal([]byte(body), &locales); err != nil {
			t.Fatal(err, body)
		}
		for _, l := range locales {
			if l.ID != map[string]int{"fr": 1, "de": 2, "en": 3}[l.Code] || len(l.DocumentID) != 24 ||
				l.IsDefault != (l.Code == "de") {
				t.Errorf("%+v", l)
			}
			codes += l.Code + " "
		}
		return codes
	}
	for _, test := range []struct{ configured, want string }{{"fr, de", "fr de "}, {"en, de", "de en "},
		{"fr, en, de", "fr de en "}} {
		if err := os.WriteFile(filepath.Join(dir, "config/plugins.yaml"),
			[]byte("i18n: {config: {defaultLocale: de, locales: ["+test.configured+"]}}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := list(); got != test.want {
			t.Errorf("of %s are listed %s", test.configured, got)
		}
	}
}

// TestDataDirectoryIsLocked opens a data directory, and expects another project, administration and a restore to be
// refused meanwhile.
func TestDataDirectoryIsLocked(t *testing.T) {
	dir := writeProject(t, nil)
	p, _ := openProject(t, dir, gateway.Options{})
	if _, err := gateway.Open(dir, gateway.Options{}); !errors.Is(err, admin.ErrBusy) ||
		!strings.Contains(err.Error(), "--data") {
		t.Errorf("a second project: %v", err)
	}
	if _, err := gateway.Directory(dir, gateway.Options{}).Administer(t.Context()); !errors.Is(err, admin.ErrBusy) {
		t.Errorf("administration: %v", err)
	}
	if _, err := gateway.Directory(dir, gateway.Options{}).Restore(strings.NewReader("")); !errors.Is(
		err, admin.ErrBusy) {
		t.Errorf("restore: %v", err)
	}
	if tokens, err := p.Tokens(t.Context()); err != nil || len(tokens) > 0 {
		t.Errorf("%v %v", tokens, err)
	}
}

// TestDataDirectoryIsWaitedFor opens a data directory that is locked. Open waits until the lock is released, until
// LockWait is over, or until its context ends.
func TestDataDirectoryIsWaitedFor(t *testing.T) {
	dir := writeProject(t, nil)
	p, err := gateway.Open(dir, gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = gateway.OpenContext(ctx, dir, gateway.Options{LockWait: time.Hour, Log: onLog(func(line string) {
		if strings.Contains(line, "waiting for another process") {
			cancel()
		}
	})})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("until its context ended: %v", err)
	}
	if _, err := gateway.Open(dir, gateway.Options{LockWait: time.Millisecond}); !errors.Is(err, admin.ErrBusy) {
		t.Errorf("for a short time: %v", err)
	}
	next, err := gateway.Open(dir, gateway.Options{LockWait: time.Hour, Log: onLog(func(line string) {
		if strings.Contains(line, "waiting for another process") {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})})
	if err != nil {
		t.Fatalf("until it was free: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// onLog is a log writer that calls f with each line.
func onLog(f func(line string)) *slog.Logger {
	return slog.New(slog.NewTextHandler(lineWriter(f), nil))
}

type lineWriter func(line string)

func (w lineWriter) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// TestControlSocketIsPrivate checks the permissions of the socket, and serves a project whose socket path is longer
// than the kernel accepts.
func TestControlSocketIsPrivate(t *testing.T) {
	dir := writeProject(t, nil)
	data := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	run(t, dir, gateway.Options{Data: data}, nil)
	for name, want := range map[string]os.FileMode{"control.sock": 0o600, "content.db": 0o600, "": 0o700} {
		info, err := os.Stat(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o, want %o", name, got, want)
		}
	}
	a, err := gateway.Directory(dir, gateway.Options{Data: data}).Administer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, isProject := a.(*gateway.Project); isProject {
		t.Error("the data directory was opened beside the server")
	}
	if _, _, err := a.CreateToken(t.Context(), auth.Declaration{Name: "a/b ?", Kind: auth.ReadOnly}); err != nil {
		t.Error(err)
	}
	if _, err := a.RevokeToken(t.Context(), "a/b ?"); err != nil {
		t.Error(err)
	}
	if _, err := a.RevokeToken(t.Context(), "a/b ?"); !errors.Is(err, auth.ErrNoToken) {
		t.Error(err)
	}
}
