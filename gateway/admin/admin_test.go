package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/store"
)

// A project is an example project of tests, on which a server may run.
type project struct {
	*admin.Directory
	dir string
}

func newProject(t *testing.T) *project {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "blog")
	if _, err := gateway.Init(t.Context(), dir, gateway.Options{LogTo: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return &project{gateway.Directory(dir, gateway.Options{LogTo: io.Discard, Version: "v1.2.3"}), dir}
}

// serve serves the project until the test ends or stop is called.
func (p *project) serve(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan bool), make(chan error, 1)
	go func() {
		ended <- gateway.Serve(ctx, p.dir,
			gateway.Options{Addr: "127.0.0.1:0", LogTo: io.Discard, Ready: func(gateway.Ready) { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// with administers the project.
func (p *project) with(t *testing.T, do func(admin.Project)) {
	t.Helper()
	a, err := p.Administer(store.WithPrincipal(t.Context(), store.Principal{Kind: "command", Name: "tests"}))
	if err != nil {
		t.Fatal(err)
	}
	do(a)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// servedOrNot runs a test on a project that no server serves, and on one that is served: both must do the same.
func servedOrNot(t *testing.T, test func(*testing.T, *project)) {
	t.Run("stopped", func(t *testing.T) { test(t, newProject(t)) })
	t.Run("served", func(t *testing.T) {
		p := newProject(t)
		p.serve(t)
		test(t, p)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// commanded is a context whose writes are made by a command.
func commanded(t *testing.T) context.Context {
	return store.WithPrincipal(t.Context(), store.Principal{Kind: "command", Name: "tests"})
}

func TestTokensAreMadeRotatedAndRevoked(t *testing.T) {
	servedOrNot(t, func(t *testing.T, p *project) {
		p.with(t, func(a admin.Project) {
			ctx := commanded(t)
			made, key, err := a.CreateToken(ctx, auth.Declaration{Name: "reader", Kind: auth.ReadOnly})
			if err != nil || made.Name != "reader" || key == "" {
				t.Fatalf("%+v, %q, %v", made, key, err)
			}
			if declared, _, err := a.CreateToken(ctx, auth.Declaration{Name: "editor"}); err != nil ||
				declared.Kind != auth.Custom || len(declared.Permissions) == 0 {
				t.Errorf("the token of permissions.yaml: %+v, %v", declared, err)
			}
			if _, _, err := a.CreateToken(ctx, auth.Declaration{Name: "edtior"}); !errors.Is(err, auth.ErrUndeclared) ||
				!strings.Contains(err.Error(), "--type read-only") {
				t.Errorf("a token that is not declared: %v", err)
			}
			again, renewed, err := a.RotateToken(ctx, "reader", time.Hour)
			if err != nil || renewed == key || again.FormerUntil.IsZero() {
				t.Errorf("rotated: %+v, %v", again, err)
			}
			if _, err := a.RevokeToken(ctx, "reader"); err != nil {
				t.Error(err)
			}
			if _, err := a.RevokeToken(ctx, "reader"); !errors.Is(err, auth.ErrNoToken) {
				t.Errorf("revoked twice: %v", err)
			}
			left, err := a.Tokens(ctx)
			if names := names(left); err != nil || !slices.Equal(names, []string{"editor"}) {
				t.Errorf("left are %q, %v", names, err)
			}
		})
	})
}

func names(tokens []auth.Token) (names []string) {
	for _, t := range tokens {
		names = append(names, t.Name)
	}
	return names
}

func TestExportIsImportedElsewhere(t *testing.T) {
	servedOrNot(t, func(t *testing.T, p *project) {
		var exported, again bytes.Buffer
		p.with(t, func(a admin.Project) { must(t, a.Export(t.Context(), &exported)) })
		if lines := strings.Count(exported.String(), "\n"); lines != 17 { // a head, and the versions of the example
			t.Fatalf("%d lines are exported", lines)
		}
		other := newProject(t)
		other.with(t, func(a admin.Project) {
			progress := 0
			result, err := a.Import(commanded(t), bytes.NewReader(exported.Bytes()),
				transfer.ImportOptions{Progress: func(transfer.ImportProgress) { progress++ }})
			if err != nil || result.Versions != 16 || progress == 0 {
				t.Errorf("%+v with %d reports, %v", result, progress, err)
			}
			must(t, a.Export(t.Context(), &again))
		})
		if withoutOrder(&again) != withoutOrder(&exported) {
			t.Errorf("what is exported after the import differs:\n%s\n%s", &again, &exported)
		}
	})
}

// orders matches the numbers by which relations are sorted. Those of an import are others, in the same order.
var orders = regexp.MustCompile(`,"order":\d+`)

func withoutOrder(export *bytes.Buffer) string { return orders.ReplaceAllString(export.String(), "") }

func TestImportStoresNothingIfALineIsWrong(t *testing.T) {
	servedOrNot(t, func(t *testing.T, p *project) {
		p.with(t, func(a admin.Project) {
			var before, after bytes.Buffer
			must(t, a.Export(t.Context(), &before))
			lines := strings.SplitAfter(before.String(), "\n")
			wrong := lines[0] + "{\"type\":\"api::nothing.nothing\"}\n" + strings.Join(lines[1:], "")
			var problems transfer.LineProblems
			if _, err := a.Import(commanded(t), strings.NewReader(wrong), transfer.ImportOptions{}); !errors.As(
				err, &problems) || len(problems) != 1 {
				t.Errorf("%v", err)
			}
			must(t, a.Export(t.Context(), &after))
			if after.String() != before.String() {
				t.Error("the import has changed the content")
			}
			result, err := a.Import(commanded(t), strings.NewReader(wrong), transfer.ImportOptions{Partial: true})
			if !errors.As(err, &problems) || result.Versions != 16 || result.Skipped != 1 {
				t.Errorf("in part: %+v, %v", result, err)
			}
		})
	})
}

func TestBackupIsRestored(t *testing.T) {
	p := newProject(t)
	var stopped, served bytes.Buffer
	p.with(t, func(a admin.Project) { must(t, a.Backup(t.Context(), &stopped)) })
	stop := p.serve(t)
	var content bytes.Buffer
	p.with(t, func(a admin.Project) {
		must(t, a.Backup(t.Context(), &served))
		must(t, a.Export(t.Context(), &content))
		if _, _, err := a.CreateToken(commanded(t), auth.Declaration{Name: "later", Kind: auth.ReadOnly}); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := p.Restore(bytes.NewReader(served.Bytes())); !errors.Is(err, admin.ErrBusy) ||
		!strings.Contains(err.Error(), "stop it first") {
		t.Errorf("a restore while the project is served: %v", err)
	}
	stop()
	for name, backup := range map[string][]byte{"of a stopped project": stopped.Bytes(),
		"of one that is served": served.Bytes()} {
		kept, err := p.Restore(bytes.NewReader(backup))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(kept, admin.StoreName)); err != nil {
			t.Errorf("%s: what was there before is not kept: %v", name, err)
		}
		p.with(t, func(a admin.Project) {
			var restored bytes.Buffer
			must(t, a.Export(t.Context(), &restored))
			if tokens, err := a.Tokens(t.Context()); restored.String() != content.String() || len(tokens) > 0 ||
				err != nil {
				t.Errorf("%s: %d bytes of content and %d tokens, %v", name, restored.Len(), len(tokens), err)
			}
		})
		if problems, err := p.Problems(t.Context()); len(problems) > 0 || err != nil {
			t.Errorf("%s: %v, %v", name, problems, err)
		}
	}
	for name, backup := range map[string][]byte{"nothing": nil, "a part": served.Bytes()[:served.Len()/2],
		"no archive": []byte("x")} {
		if _, err := p.Restore(bytes.NewReader(backup)); err == nil {
			t.Errorf("%s is restored", name)
		}
	}
	p.with(t, func(a admin.Project) {
		var left bytes.Buffer
		must(t, a.Export(t.Context(), &left))
		if left.String() != content.String() {
			t.Error("what cannot be restored has changed the content")
		}
	})
}

func TestAuditNamesWhoChangedWhat(t *testing.T) {
	servedOrNot(t, func(t *testing.T, p *project) {
		p.with(t, func(a admin.Project) {
			var before bytes.Buffer
			must(t, a.Export(t.Context(), &before))
			if _, err := a.Import(commanded(t), bytes.NewReader(before.Bytes()), transfer.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct {
				filter admin.AuditFilter
				some   bool
			}{
				{admin.AuditFilter{}, true},
				{admin.AuditFilter{By: "command:tests"}, true},
				{admin.AuditFilter{By: "command:others"}, false},
				{admin.AuditFilter{Type: "api::article.article", By: "command"}, true},
				{admin.AuditFilter{Document: "nothing"}, false},
				{admin.AuditFilter{Until: "2000-01-01T00:00:00Z"}, false},
			} {
				var out bytes.Buffer
				err := a.Audit(t.Context(), test.filter, &out)
				if some := out.Len() > 0; err != nil || some != test.some {
					t.Errorf("%+v: %q, %v", test.filter, &out, err)
				}
				for line := range strings.Lines(out.String()) {
					if !json.Valid([]byte(line)) {
						t.Errorf("%+v: %q", test.filter, line)
					}
				}
			}
			chain, err := a.VerifyLog(t.Context(), "")
			if err != nil || chain.Last < chain.First {
				t.Fatalf("%+v, %v", chain, err)
			}
			if same, err := a.VerifyLog(t.Context(), chain.Head.String()); err != nil || same.Expected != chain.Last {
				t.Errorf("%+v, %v", same, err)
			}
			if _, err := a.VerifyLog(t.Context(), strings.Repeat("0", len(chain.Head.String()))); err == nil {
				t.Error("the log has an entry with any hash")
			}
		})
	})
}

func TestCompactKeepsTheContent(t *testing.T) {
	servedOrNot(t, func(t *testing.T, p *project) {
		p.with(t, func(a admin.Project) {
			var before, after bytes.Buffer
			must(t, a.Export(t.Context(), &before))
			if result, err := a.Compact(t.Context(), func(_, _ int64) {}); err != nil || result.Before == 0 ||
				result.After == 0 {
				t.Errorf("%+v, %v", result, err)
			}
			must(t, a.Export(t.Context(), &after))
			if after.String() != before.String() {
				t.Error("the content has changed")
			}
			if n, err := a.Uploads(t.Context()); n.Missing > 0 || err != nil {
				t.Errorf("%+v, %v", n, err)
			}
		})
	})
}

func TestOnlyARunningServerHasAConditionAndRecordings(t *testing.T) {
	p := newProject(t)
	if _, err := p.Health(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no server answers on "+p.DataPath()) {
		t.Errorf("health of a stopped server: %v", err)
	}
	stop := p.serve(t)
	if c, err := p.Health(t.Context()); err != nil || c.String() != "ready" {
		t.Errorf("%s, %v", c, err)
	}
	if list, err := p.Replicas(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	var stacks bytes.Buffer
	if err := p.Debug(t.Context(), admin.Recording{Kind: admin.Goroutines}, &stacks); err != nil ||
		!strings.Contains(stacks.String(), "goroutine ") {
		t.Errorf("%q, %v", &stacks, err)
	}
	for want, r := range map[string]admin.Recording{
		`there is no recording "other"`:   {Kind: "other"},
		"a recording takes at most 10m0s": {Kind: admin.CPUProfile, Time: time.Hour},
	} {
		if err := p.Debug(t.Context(), r, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	stop()
	if _, err := p.Health(t.Context()); err == nil {
		t.Error("a server that has stopped is healthy")
	}
}

func TestDataDirectoryIsLockedByOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d, err := admin.Lock(dir)
	must(t, err)
	if _, err := admin.Lock(dir); !errors.Is(err, admin.ErrBusy) {
		t.Errorf("locked twice: %v", err)
	}
	if err := admin.BusyError(dir); !errors.Is(err, admin.ErrBusy) ||
		!strings.Contains(err.Error(), "try again when it is done") {
		t.Errorf("%v", err)
	}
	must(t, d.Release())
	again, err := admin.Lock(dir)
	must(t, err)
	must(t, again.Release())

	temporary, err := admin.Temporary()
	must(t, err)
	must(t, os.WriteFile(temporary.Join("x"), nil, 0o600))
	must(t, temporary.Release())
	if _, err := os.Stat(temporary.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a temporary directory is left: %v", err)
	}
}

func TestWriteFileReplacesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out")
	say := func(text string, failure error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, failure)
		}
	}
	must(t, admin.WriteFile(file, say("first", nil)))
	must(t, admin.WriteFile(file, say("second", nil)))
	broken := errors.New("broken")
	if err := admin.WriteFile(file, say("half", broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "second" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
	for path, want := range map[string]string{
		dir:                               "is a directory; name a file in it",
		filepath.Join(dir, "no", "where"): "there is no directory",
		os.DevNull:                        "is no ordinary file",
	} {
		if err := admin.WriteFile(path, say("", nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestConditionsReadAsLines(t *testing.T) {
	age := int64(90)
	for want, c := range map[string]admin.Condition{
		"ready":                  admin.Ready,
		"full: the disk is full": {State: "full", Message: "the disk is full"},
		"ready (a replica in step with its origin)": {State: "ready",
			Replica: &admin.ReplicaState{InStep: true}},
		"ready (a replica that last had everything of its origin 1m30s ago)": {State: "ready",
			Replica: &admin.ReplicaState{Age: &age}},
		"behind: x (a replica that does not have everything of its origin yet)": {State: "behind", Message: "x",
			Replica: &admin.ReplicaState{}},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f := admin.Following{Client: "10.0.0.1", Behind: 2, Part: true}
	if got := f.String(); !strings.HasPrefix(
		got, "replica at 10.0.0.1: 2 entries of the log behind, a part of the content, connected since ") {
		t.Error(got)
	}
}
