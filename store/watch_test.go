package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/store"
)

// TestLostFiles moves the file of an open store away. No write may be acknowledged, reads must go on, and writes must
// succeed once the file is back.
func TestLostFiles(t *testing.T) {
	defer store.LookSeldom()()
	for _, tt := range []struct {
		name  string
		lose  func(path string) error
		state store.State
		err   error
		why   string
	}{
		{"removed", os.Remove, store.Lost, store.ErrLost, "removed"},
		{"moved", func(path string) error { return os.Rename(path, path+".moved") }, store.Lost, store.ErrLost,
			"removed or moved"},
		{"replaced", func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".other", text, 0o600), os.Rename(path+".other", path))
		}, store.Lost, store.ErrLost, "another file"},
		{"cut off", func(path string) error { return os.Truncate(path, 3*4096) }, store.Damaged, store.ErrDamaged,
			"shorter"},
	} {
		for _, found := range []string{"by a write", "by looking"} {
			t.Run(tt.name+" "+found, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "content.db")
				s, err := store.Open(path, loadModel(t), store.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}()
				articles := &articles{t, s}
				articles.add(1)
				if err := tt.lose(path); err != nil {
					t.Fatal(err)
				}
				if found == "by looking" {
					if err := s.Look(); !errors.Is(err, tt.err) {
						t.Fatalf("looked: %v", err)
					}
				}
				called := false
				err = s.Write(context.Background(), func(*store.Tx) error { called = true; return nil })
				if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.why) || called {
					t.Errorf("write: %v; called: %v", err, called)
				}
				if h := s.Health(); h.State != tt.state || !errors.Is(h.Err, tt.err) {
					t.Errorf("health is %v: %v", h.State, h.Err)
				}
				if tt.state == store.Lost {
					articles.verify(1)
				}
				if tt.name != "moved" {
					return
				}
				if err := os.Rename(path+".moved", path); err != nil {
					t.Fatal(err)
				}
				if err := s.Look(); err != nil || s.Health().State != store.Sound {
					t.Errorf("put back: %v, health is %v", err, s.Health().State)
				}
				articles.add(2)
				articles.verify(2)
			})
		}
	}
}

// TestLostBetween moves the file away during a write. The write must not be acknowledged.
func TestLostBetween(t *testing.T) {
	defer store.LookSeldom()()
	path := filepath.Join(t.TempDir(), "content.db")
	s, err := store.Open(path, loadModel(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	article := s.Model().Type("api::article.article")
	err = s.Write(context.Background(), func(tx *store.Tx) error {
		var b store.Batch
		b.PutRow(newRow(tx, article, tx.NewDoc(), store.Draft, "en", nil))
		return errors.Join(os.Remove(path), tx.Apply(&b))
	})
	if !errors.Is(err, store.ErrLost) {
		t.Errorf("write: %v", err)
	}
}

// TestMarker opens a path whose marker says that there was a store.
func TestMarker(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "content.db")
	begin := func() (replaced bool, err error) {
		s, err := store.Open(path, loadModel(t), store.Options{Replaced: func() { replaced = true }})
		if err != nil {
			return false, err
		}
		return replaced, s.Close()
	}
	for range 2 {
		if replaced, err := begin(); err != nil || replaced {
			t.Fatal(replaced, err)
		}
	}
	if err := os.Rename(path, path+".first"); err != nil {
		t.Fatal(err)
	}
	_, err := begin()
	if !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), store.MarkerPath(path)) {
		t.Fatalf("without the file: %v", err)
	}
	if _, err := store.Inspect(path, loadModel(t), store.Options{}, nil); !errors.Is(err, store.ErrLost) {
		t.Errorf("foreseen without the file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused start has made a file: %v", err)
	}
	if err := os.Remove(store.MarkerPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(); err != nil {
		t.Fatalf("without file and marker: %v", err)
	}
	if err := os.Rename(path+".first", path); err != nil {
		t.Fatal(err)
	}
	if replaced, err := begin(); err != nil || !replaced {
		t.Errorf("with another store in its place: replaced %v, %v", replaced, err)
	}
	if replaced, err := begin(); err != nil || replaced {
		t.Errorf("once more: replaced %v, %v", replaced, err)
	}
}

// TestWrittenOver overwrites the open file with an older state.
func TestWrittenOver(t *testing.T) {
	defer store.LookSeldom()()
	path := filepath.Join(t.TempDir(), "content.db")
	s, err := store.Open(path, loadModel(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	articles := &articles{t, s}
	articles.add(1)
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		articles.add(1)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(older); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(context.Background(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrLost) {
		t.Errorf("write: %v", err)
	}
}

// articles adds and counts articles of a store.
type articles struct {
	*testing.T
	store *store.Store
}

func (a *articles) add(n int) {
	a.Helper()
	article := a.store.Model().Type("api::article.article")
	write(a, a.store, func(tx *store.Tx) error {
		var b store.Batch
		for range n {
			b.PutRow(newRow(tx, article, tx.NewDoc(), store.Draft, "en", nil))
		}
		return tx.Apply(&b)
	})
}

func (a *articles) verify(n int) {
	a.Helper()
	article := a.store.Model().Type("api::article.article")
	if page := find(a.T, a.store, &store.Query{Type: article, Status: store.Draft,
		Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: -1}); len(page.Docs) < n {
		a.Errorf("%d articles are there, want %d", len(page.Docs), n)
	}
}
