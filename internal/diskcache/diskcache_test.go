package diskcache_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/internal/diskcache"
)

const block = 4 << 10

func open(t *testing.T, dir string, limit int64) *diskcache.Cache {
	t.Helper()
	c, err := diskcache.Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func add(t *testing.T, c *diskcache.Cache, key, content string) {
	t.Helper()
	if err := c.Add(key, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// has reports whether the cache has a file, and fails if its content is not want.
func has(t *testing.T, c *diskcache.Cache, key, want string) bool {
	t.Helper()
	f, ok := c.Get(key)
	if !ok {
		return false
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || string(got) != want || f.Size() != int64(len(want)) {
		t.Errorf("%s: %d bytes, %v", key, len(got), err)
	}
	return true
}

// onDisk returns how many bytes the files below dir take, in whole blocks, and their names.
func onDisk(t *testing.T, dir string) (total int64, names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if os.IsNotExist(err) {
			continue // removed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		total += (info.Size() + block - 1) / block * block
		names = append(names, e.Name())
	}
	return total, names
}

// TestLeastRecentlyUsed checks which files are removed when the cache is full.
func TestLeastRecentlyUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, 4*block)
	for _, key := range []string{"a", "b", "c", "d"} {
		add(t, c, key, key)
	}
	has(t, c, "a", "a")
	add(t, c, "e", "e")
	add(t, c, "too-large", strings.Repeat("x", block))
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "e": true, "too-large": false} {
		if got := has(t, c, key, key); got != want {
			t.Errorf("%s is there: %v", key, got)
		}
	}
	if got, want := c.Stats(), (diskcache.Stats{Files: 4, Bytes: 4 * block, Evicted: 1}); got != want {
		t.Errorf("%+v", got)
	}
	if err := c.Add("../x", nil); err == nil {
		t.Error("a path is no key")
	}
}

// TestReopen checks that files and the order of their use outlast the cache, that a smaller limit removes the oldest,
// and that files that were being written are removed.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 8*block)
	for i, key := range []string{"a", "b", "c"} {
		add(t, c, key, key)
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, key), at, at); err != nil {
			t.Fatal(err)
		}
	}
	c = open(t, dir, 8*block)
	if !has(t, c, "a", "a") { // which is the most recently used now
		t.Error("a is gone")
	}
	for _, name := range []string{".new-123", "README.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half a fi"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c = open(t, dir, 2*block)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if got := has(t, c, key, key); got != want {
			t.Errorf("%s is there: %v", key, got)
		}
	}
	if _, names := onDisk(t, dir); !slices.Equal(names, []string{"README.txt", "a", "c"}) {
		t.Errorf("on disk: %v", names)
	}
}

// TestDamage damages files in several ways. Get finds none of them, and they can be added anew.
func TestDamage(t *testing.T) {
	content := strings.Repeat("content", 1000)
	for name, damage := range map[string]func(path string) error{
		"truncated":   func(path string) error { return os.Truncate(path, 100) },
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"extended":    func(path string) error { return os.Truncate(path, 10000) },
		"overwritten": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 7004)), 0o600) },
		"removed":     os.Remove,
		"dir removed": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"exchanged": func(path string) error {
			other := filepath.Join(filepath.Dir(path), "other")
			return os.Rename(other, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			c := open(t, dir, 64*block)
			add(t, c, "key", content)
			add(t, c, "other", strings.ToUpper(content))
			if err := damage(filepath.Join(dir, "key")); err != nil {
				t.Fatal(err)
			}
			if has(t, c, "key", content) {
				t.Error("a damaged file was found")
			}
			add(t, c, "key", content)
			if !has(t, c, "key", content) {
				t.Error("it was not added anew")
			}
			has(t, c, "other", strings.ToUpper(content))
			if bytes, _ := onDisk(t, dir); c.Stats().Bytes != bytes {
				t.Errorf("%d bytes on disk, %+v", bytes, c.Stats())
			}
		})
	}
}

// TestRemovePrefix removes the files of one prefix. An open file can be read to its end.
func TestRemovePrefix(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 64*block)
	for _, key := range []string{"a-1", "a-2", "ab-1", "b-1"} {
		add(t, c, key, key)
	}
	f, _ := c.Get("a-1")
	defer f.Close()
	if err := c.RemovePrefix("a-"); err != nil {
		t.Fatal(err)
	}
	if _, names := onDisk(t, dir); !slices.Equal(names, []string{"ab-1", "b-1"}) || c.Stats().Files != 2 {
		t.Errorf("on disk: %v", names)
	}
	if text, err := io.ReadAll(f); string(text) != "a-1" {
		t.Errorf("%q %v", text, err)
	}
}

// TestTogether adds, reads, damages and removes files from many goroutines, while another one counts the bytes in the
// directory: they never exceed the limit, and the counters are right at the end.
func TestTogether(t *testing.T) {
	const limit = 24 * block
	dir := t.TempDir()
	c := open(t, dir, limit)
	content := func(n int) string { return strings.Repeat(fmt.Sprint(n), 1+n*700) }
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 300 {
				n := random.IntN(30)
				key := fmt.Sprintf("%d-%d", n%3, n)
				switch random.IntN(10) {
				case 0:
					if err := c.RemovePrefix(key[:2]); err != nil {
						t.Error(err)
					}
				case 1:
					os.Remove(filepath.Join(dir, key))
				default:
					if !has(t, c, key, content(n)) {
						if err := c.Add(key, []byte(content(n))); err != nil &&
							!strings.Contains(err.Error(), "no room") {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	counted := 0
	for running := true; running; counted++ {
		select {
		case <-done:
			running = false
		default:
		}
		if stats := c.Stats(); stats.Bytes > limit {
			t.Fatalf("%+v", stats)
		}
		if total, _ := onDisk(t, dir); total > limit {
			t.Fatalf("%d bytes on disk", total)
		}
	}
	for n := range 30 { // notice the files that were removed behind its back
		has(t, c, fmt.Sprintf("%d-%d", n%3, n), content(n))
	}
	total, names := onDisk(t, dir)
	if stats := c.Stats(); stats.Bytes != total || stats.Files != len(names) || stats.Evicted == 0 {
		t.Errorf("%d bytes in %v, %+v, counted %d times", total, names, stats, counted)
	}
}

// TestUnwritable checks that a file that cannot be written is an error and counts nothing.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, 64*block)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Add("key", bytes.Repeat([]byte("x"), 10)); err == nil {
		t.Error("it was added")
	}
	if _, ok := c.Get("key"); ok || c.Stats() != (diskcache.Stats{}) {
		t.Errorf("%+v", c.Stats())
	}
	if _, err := diskcache.Open(dir, 64*block); err == nil {
		t.Error("a file was opened as a cache")
	}
}
