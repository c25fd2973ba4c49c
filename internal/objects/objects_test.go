package objects_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"lectern/internal/objects"
)

// stores returns an empty store of each kind.
func stores(t *testing.T) map[string]objects.Store {
	t.Helper()
	log.SetOutput(io.Discard) // the server of the bucket logs each refusal
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	variables := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_ENDPOINT_URL": server.URL}
	list := map[string]objects.Store{}
	for name, address := range map[string]string{"directory": t.TempDir() + "/made",
		"bucket": "s3://backups/some/place"} {
		s, err := objects.At(address, func(name string) string { return variables[name] }, true)
		if err != nil {
			t.Fatal(err)
		}
		list[name] = s
	}
	return list
}

func contentOf(t *testing.T, s objects.Store, name string) string {
	t.Helper()
	r, err := s.Open(t.Context(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStores puts, extends, lists and deletes objects.
func TestStores(t *testing.T) {
	for kind, s := range stores(t) {
		t.Run(kind, func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			put := func(name, text string, size int64) error { return s.Put(ctx, name, strings.NewReader(text), size) }
			must(put("a/1", "one", 3))
			must(put("a/b/2", "two", -1))
			must(put("c/3", "three", 5))
			must(put("a/1", "uno", 3))
			must(s.Extend(ctx, "a/open", []byte("begin"), 0))
			must(s.Extend(ctx, "a/open", []byte("begin, end"), 5))
			if err := s.Put(ctx, "a/1", iotest.TimeoutReader(strings.NewReader(strings.Repeat("broken off", 9999))),
				-1); err == nil {
				t.Error("an object whose content cannot be read was put")
			}
			for name, want := range map[string]string{"a/1": "uno", "a/b/2": "two", "c/3": "three",
				"a/open": "begin, end", "d": "(none)", "a/none": "(none)"} {
				if got := contentOf(t, s, name); got != want {
					t.Errorf("%s holds %q, want %q", name, got, want)
				}
			}
			names := func(prefix string) (names []string) {
				list, err := s.List(ctx, prefix)
				must(err)
				for _, o := range list {
					if names = append(names, o.Name); int(o.Size) != len(contentOf(t, s, o.Name)) {
						t.Errorf("%s has %d bytes", o.Name, o.Size)
					}
				}
				return names
			}
			if got := names("a/"); !slices.Equal(got, []string{"a/1", "a/b/2", "a/open"}) {
				t.Errorf("below a/: %q", got)
			}
			must(s.Delete(ctx, "a/1"))
			must(s.Delete(ctx, "a/1"))
			if got := names("a/"); !slices.Equal(got, []string{"a/b/2", "a/open"}) {
				t.Errorf("below a/ after one was deleted: %q", got)
			}
			if got := names("none/"); len(got) > 0 {
				t.Errorf("below none/: %q", got)
			}
		})
	}
}

// TestDirectoryPaths writes to a directory that is named in several ways.
func TestDirectoryPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"a", "b/", "./c", "./d/e//", ".", "f/../g", t.TempDir() + "/h/"} {
		s, err := objects.At(path, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "x/y/1", strings.NewReader("one"), 3); err != nil {
			t.Fatal(err)
		}
		if got := contentOf(t, s, "x/y/1"); got != "one" {
			t.Errorf("in %s: %q", path, got)
		}
		if list, err := s.List(t.Context(), "x/"); err != nil || len(list) != 1 || list[0].Name != "x/y/1" {
			t.Errorf("in %s: %v, %v", path, list, err)
		}
	}
}

// TestHostileNames uses names, and symbolic links in the way, that lead out of the directory.
func TestHostileNames(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s, err := objects.At(dir, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink(filepath.Join(outside, "mine"), filepath.Join(dir, "file"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../a", "a/../../b", outside + "/mine", "a//b", "a\x00b",
		".incoming/a", "a/.b", "link/mine", "link/a/b"} {
		if err := s.Put(t.Context(), name, strings.NewReader("x"), 1); err == nil {
			t.Errorf("%q was put", name)
		}
		if err := s.Extend(t.Context(), name, []byte("x"), 0); err == nil {
			t.Errorf("%q was extended", name)
		}
		if r, err := s.Open(t.Context(), name); err == nil {
			r.Close()
			t.Errorf("%q was opened", name)
		}
		_ = s.Delete(t.Context(), name)
	}
	if r, err := s.Open(t.Context(), "file"); err == nil {
		r.Close()
		t.Error("a link to a file outside was opened")
	}
	there, err := os.ReadDir(outside)
	if text, failed := os.ReadFile(filepath.Join(outside, "mine")); err != nil || len(there) != 1 || failed != nil ||
		string(text) != "mine" {
		t.Errorf("outside there is %v, and %q (%v, %v)", there, text, err, failed)
	}
}

// TestDirectoryNoticesOthers extends a file that another program has written to, and uses names that lead elsewhere.
func TestDirectoryNoticesOthers(t *testing.T) {
	s := stores(t)["directory"]
	if err := s.Extend(t.Context(), "open", []byte("begin"), 0); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{3, 6} {
		if err := s.Extend(t.Context(), "open", []byte("begin, end"), from); !errors.Is(err, objects.ErrChanged) {
			t.Errorf("extended after byte %d: %v", from, err)
		}
	}
	if err := s.Extend(t.Context(), "none", []byte("begin"), 3); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("extended a file that is gone: %v", err)
	}
	if got := contentOf(t, s, "open"); got != "begin" {
		t.Errorf("it holds %q", got)
	}
	for _, name := range []string{"../x", "/x", "", ".", "a/../../x", ".x", "a/.x"} {
		if err := s.Put(t.Context(), name, strings.NewReader(""), 0); err == nil {
			t.Errorf("an object is called %q", name)
		}
	}
}

// TestInterruptedPut cancels a Put and opens the directory again. Nothing of the file is left.
func TestInterruptedPut(t *testing.T) {
	dir := t.TempDir()
	s, err := objects.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, "a", strings.NewReader("text"), 4); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	left := dir + "/.incoming/left"
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.NewDirectory(dir); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir + "/.incoming"); err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}

// TestAddresses refuses addresses that name no bucket, and a bucket without a key.
func TestAddresses(t *testing.T) {
	key := func(string) string { return "x" }
	for _, address := range []string{"s3://", "s3:///a", "s3://a/b?c=d", "s3://user@a/b", "/none/such/directory"} {
		if _, err := objects.At(address, key, false); err == nil {
			t.Errorf("%s is an address", address)
		}
	}
	if _, err := objects.At("s3://a/b", func(string) string { return "" }, false); err == nil ||
		!strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without a key: %v", err)
	}
}
