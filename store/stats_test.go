package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// TestCommitted expects a Commit for each transaction that commits writes, and none for one whose only write fails.
func TestCommitted(t *testing.T) {
	commits := make(chan store.Commit, 10)
	s, err := store.Open(filepath.Join(t.TempDir(), "content.db"), loadModel(t),
		store.Options{Committed: func(c store.Commit) { commits <- c }})
	if err != nil {
		t.Fatal(err)
	}
	defer closeChecked(t, s)
	article := s.Model().Type("api::article.article")
	write(t, s, func(tx *store.Tx) error { return putArticle(tx, article, 1) })
	if err := s.Write(t.Context(), func(*store.Tx) error { return errors.New("fails") }); err == nil {
		t.Error("a failing write succeeds")
	}
	write(t, s, func(tx *store.Tx) error { return putArticle(tx, article, 2) })
	if n := len(commits); n != 2 {
		t.Fatalf("%d commits, want 2", n)
	}
	if c := <-commits; c.Writes != 1 || c.Synced <= 0 || c.Took < c.Synced {
		t.Errorf("%+v", c)
	}
}

// putArticle writes a published article.
func putArticle(tx *store.Tx, article *contenttypes.ContentType, doc uint64) error {
	b := &store.Batch{}
	b.PutRow(newRow(tx, article, doc, store.Published, "en",
		map[string]string{"title": fmt.Sprintf(`"title %d"`, doc)}))
	return tx.Apply(b)
}

// TestUsage expects the size of the file and the snapshots in use.
func TestUsage(t *testing.T) {
	s := newStore(t)
	usage := func() store.Usage {
		t.Helper()
		u, err := s.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	empty := usage()
	article := s.Model().Type("api::article.article")
	write(t, s, func(tx *store.Tx) error {
		for doc := uint64(1); doc <= 500; doc++ {
			if err := putArticle(tx, article, doc); err != nil {
				return err
			}
		}
		return nil
	})
	full := usage()
	if empty.Bytes <= 0 || full.Bytes <= empty.Bytes || full.FreeBytes <= 0 || full.Snapshots != 0 {
		t.Errorf("empty %+v, with 500 documents %+v", empty, full)
	}
	err := s.View(func(*store.Snapshot) error {
		return s.View(func(*store.Snapshot) error {
			if u := usage(); u.Snapshots != 2 {
				t.Errorf("%d snapshots in use, want 2", u.Snapshots)
			}
			return nil
		})
	})
	if u := usage(); err != nil || u.Snapshots != 0 || u.Oldest != 0 {
		t.Errorf("%v, and afterwards %+v", err, u)
	}
}
