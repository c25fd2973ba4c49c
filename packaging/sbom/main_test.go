package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const lock = `{"packages": {
	"": {"name": "ide"},
	"node_modules/@scope/part": {"version": "1.2.3", "integrity": "sha512-AAEC", "license": "MIT"},
	"node_modules/a/node_modules/b": {"version": "2.0.0"},
	"node_modules/tool": {"version": "3.0.0", "dev": true},
	"node_modules/other-system": {"version": "4.0.0", "optional": true}
}}`

func writeLock(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "package-lock.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun makes the bill of the test program itself. Go notes no modules in a test program.
func TestRun(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := writeLock(t, lock)
	make := func() []byte {
		var out bytes.Buffer
		if err := run(&out, program, "v1.2.3", path, time.Unix(1767225600, 0)); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	text := make()
	if !bytes.Equal(text, make()) {
		t.Error("two bills of one program differ")
	}
	var got bill
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	main := got.Metadata.Component
	if main.URL != "pkg:golang/lectern@v1.2.3" || len(main.Hashes) != 1 || len(main.Hashes[0].Content) != 64 ||
		got.Metadata.Timestamp.Year() != 2026 {
		t.Errorf("metadata is %+v", got.Metadata)
	}
	urls := []string{"pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"), "pkg:npm/%40scope/part@1.2.3",
		"pkg:npm/b@2.0.0"}
	if diff := cmp.Diff([]dependency{{main.Ref, urls}}, got.Dependencies); diff != "" {
		t.Error(diff)
	}
	if len(got.Components) != len(urls) {
		t.Fatalf("components are %+v", got.Components)
	}
	for i, c := range got.Components {
		if c.URL != urls[i] {
			t.Errorf("component %d is %s, want %s", i, c.URL, urls[i])
		}
	}
	if c := got.Components[1]; c.Licenses[0].Expression != "MIT" || c.Hashes[0] != (hash{"SHA-512", "000102"}) {
		t.Errorf("the npm package is %+v", c)
	}
}

func TestModule(t *testing.T) {
	used := &debug.Module{Path: "example.org/used", Version: "v1.0.0", Sum: "h1:AAEC"}
	want := component{
		Ref: "pkg:golang/example.org/used@v1.0.0", Type: "library", Name: "example.org/used", Version: "v1.0.0",
		Scope:  "required",
		Hashes: []hash{{"SHA-256", "000102"}}, URL: "pkg:golang/example.org/used@v1.0.0",
	}
	for _, m := range []*debug.Module{used, {Path: "example.org/replaced", Version: "v3.0.0", Replace: used}} {
		got, err := module(m)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v %s", m.Path, err, cmp.Diff(want, got))
		}
	}
	for _, sum := range []string{"", "AAEC", "h1:?"} {
		if _, err := module(&debug.Module{Path: "example.org/local", Sum: sum}); err == nil {
			t.Errorf("the checksum %q was accepted", sum)
		}
	}
}

func TestErrors(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ binary, lock, want string }{
		"no binary":          {filepath.Join(t.TempDir(), "none"), "", "no such file"},
		"not a Go program":   {"main.go", "", "unrecognized file format"},
		"no lock file":       {program, filepath.Join(t.TempDir(), "none"), "no such file"},
		"an empty lock file": {program, writeLock(t, "{}"), "lists no packages"},
		"a broken lock file": {program, writeLock(t, "{"), "unexpected end of JSON input"},
		"a broken checksum": {program,
			writeLock(t, `{"packages":{"node_modules/a":{"version":"1","integrity":"sha512-?"}}}`), "checksum of a"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(&bytes.Buffer{}, c.binary, "v1", c.lock, time.Time{}); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
