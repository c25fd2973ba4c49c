package store_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store"
)

// TestFilesThatAreCutOff opens truncated copies of a store. Each must be refused with an error, and must not end the
// process.
func TestFilesThatAreCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	tw := twin{rows: map[uint64]*twinRow{}}
	article := s.Model().Type("api::article.article")
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rand.New(rand.NewPCG(1, 2)), 300, false) })
	closeChecked(t, s)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := usedBytes(t, path)
	page := int64(os.Getpagesize())
	for _, length := range []int64{page + 10, 2 * page, 2*page + 1000, used / 2, used - page, used - 1} {
		if err := os.WriteFile(path, whole[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := store.Open(path, loadModel(t), store.Options{}); err == nil {
			s.Close()
			t.Fatalf("a file of %d bytes of %d is opened", length, used)
		} else if length >= 2*page && !strings.Contains(err.Error(), "shorter than what was written") {
			t.Errorf("a file of %d bytes of %d: %v", length, used, err)
		}
		if _, err := store.Inspect(path, loadModel(t), store.Options{}, nil); err == nil {
			t.Errorf("what comes of a file of %d bytes of %d is foreseen", length, used)
		}
	}
	if err := os.WriteFile(path, whole[:used], 0o600); err != nil {
		t.Fatal(err)
	}
	closeChecked(t, open(t, path))
}

// TestFilesThatAreNoStores opens files of other programs, and a store whose beginning was overwritten.
func TestFilesThatAreNoStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	closeChecked(t, s)
	damaged, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(damaged, make([]byte, 2*os.Getpagesize()))
	for name, content := range map[string][]byte{
		"zeros": make([]byte, 64<<10), "text": []byte(strings.Repeat("some text\n", 10_000)),
		"a damaged store": damaged,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := store.Open(path, loadModel(t), store.Options{}); err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), "damaged, or was never a store") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := store.Inspect(path, loadModel(t), store.Options{}, nil); err == nil ||
			!strings.Contains(err.Error(), "damaged, or was never a store") {
			t.Errorf("what comes of %s is foreseen: %v", name, err)
		}
	}
}

// usedBytes returns the least length that a file must have. It may be longer.
func usedBytes(t *testing.T, path string) (n int64) {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.View(func(tx *bolt.Tx) error { n = tx.Size(); return nil })
	return n
}
