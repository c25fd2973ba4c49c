package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lectern/store"
)

// A smallDisk is a file system of a few megabytes.
type smallDisk struct {
	*testing.T
	dir string
}

func newSmallDisk(t *testing.T, megabytes int) smallDisk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return smallDisk{t, dir}
}

func (d smallDisk) filler() string { return filepath.Join(d.dir, "filler") }

// fill uses up all blocks of the disk.
func (d smallDisk) fill() {
	d.Helper()
	f, err := os.Create(d.filler())
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.Fatal(err)
	}
}

// free gives back the space that fill has used up.
func (d smallDisk) free() {
	d.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.Fatal(err)
	}
}

// An articleStore is a store of articles. It knows which of them were acknowledged.
type articleStore struct {
	*testing.T
	*store.Store
	acknowledged map[uint64]bool
}

// add writes an article of this size, and notes it if it is acknowledged.
func (s *articleStore) add(size int) error {
	article := s.Model().Type("api::article.article")
	var doc uint64
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		doc = tx.NewDoc()
		var b store.Batch
		b.PutRow(newRow(tx, article, doc, store.Draft, "en",
			map[string]string{"title": strconv.Quote(fmt.Sprint("article ", doc)),
				"body": strconv.Quote(strings.Repeat("x", size))}))
		return tx.Apply(&b)
	})
	if err == nil {
		s.acknowledged[doc] = true
	}
	return err
}

// addUntilFull adds articles until one is refused because the disk is full.
func (s *articleStore) addUntilFull(size int) {
	s.Helper()
	for range 10_000 {
		switch err := s.add(size); {
		case errors.Is(err, store.ErrFull):
			return
		case err != nil:
			s.Fatal(err)
		}
	}
	s.Fatal("the disk never became full")
}

func (s *articleStore) remove(doc uint64) error {
	article := s.Model().Type("api::article.article")
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		var b store.Batch
		b.DeleteRow(article, doc, store.Draft, "en")
		return tx.Apply(&b)
	})
	if err == nil {
		delete(s.acknowledged, doc)
	}
	return err
}

// verify fails the test unless exactly the acknowledged articles are there.
func (s *articleStore) verify() {
	s.Helper()
	article := s.Model().Type("api::article.article")
	page := find(s.T, s.Store,
		&store.Query{Type: article, Status: store.Draft, Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: -1})
	if len(page.Docs) != len(s.acknowledged) {
		s.Errorf("%d articles are there, %d were acknowledged", len(page.Docs), len(s.acknowledged))
	}
	for _, doc := range page.Docs {
		if !s.acknowledged[doc] {
			s.Errorf("article %d is there and was not acknowledged", doc)
		}
	}
}

// TestFullDisk fills a disk. Writes must be refused, and reads and removals must go on. Once there is space again,
// writes must succeed, whether the store notices by a write or by itself. No acknowledged article may be lost, neither
// then nor after the next start.
func TestFullDisk(t *testing.T) {
	defer store.LookSeldom()()
	for name, blind := range map[string]bool{"space that is taken ahead": false,
		"space that is found missing half way": true} {
		t.Run(name, func(t *testing.T) {
			if blind {
				defer store.BlindToSpace()()
			}
			disk := newSmallDisk(t, 24)
			path := filepath.Join(disk.dir, "content.db")
			s := &articleStore{t, open(t, path), map[uint64]bool{}}
			for range 20 {
				if err := s.add(10_000); err != nil {
					t.Fatal(err)
				}
			}
			for round := range 3 {
				disk.fill()
				s.addUntilFull(60_000)
				if h := s.Health(); h.State != store.Full || !errors.Is(h.Err, store.ErrFull) || h.Since.IsZero() {
					t.Fatalf("round %d: health is %v: %v", round, h.State, h.Err)
				}
				s.verify()
				for doc := range s.acknowledged {
					if len(s.acknowledged) > 15 {
						if err := s.remove(doc); err != nil &&
							!blind { // without a reserve, a removal may need space as well
							t.Fatalf("round %d: remove: %v", round, err)
						}
					}
				}
				if err := s.Look(); !errors.Is(err, store.ErrFull) && !blind { // a probe may fit into what was removed
					t.Errorf("round %d: looked after on a full disk: %v", round, err)
				}
				disk.free()
				if round%2 == 0 {
					if err := s.Look(); err != nil {
						t.Fatalf("round %d: looked after: %v", round, err)
					}
				} else if err := s.add(1000); err != nil {
					t.Fatalf("round %d: a write once there is space: %v", round, err)
				}
				if h := s.Health(); h.State != store.Sound || h.Err != nil {
					t.Fatalf("round %d: with space, health is %v: %v", round, h.State, h.Err)
				}
				for range 20 {
					if err := s.add(20_000); err != nil {
						t.Fatal(err)
					}
				}
				s.verify()
				closeChecked(t, s.Store)
				s.Store = open(t, path)
				s.verify()
			}
		})
	}
}

// TestReadersOfAFullDisk reads while the file is opened anew. Each reader must see one state to its end, and no write
// may begin before the readers have ended.
func TestReadersOfAFullDisk(t *testing.T) {
	defer store.LookSeldom()()
	defer store.BlindToSpace()()
	defer store.CacheAfter(1)()
	disk := newSmallDisk(t, 8)
	s := &articleStore{t, open(t, filepath.Join(disk.dir, "content.db")), map[uint64]bool{}}
	for range 20 {
		if err := s.add(2_000); err != nil {
			t.Fatal(err)
		}
	}
	article := s.Model().Type("api::article.article")
	body := func(snap *store.Snapshot) (all string) {
		for doc := uint64(1); doc <= 20; doc++ {
			all += string(snap.Version(article, doc, store.Draft, "en").JSON(article.Attribute("body")))
		}
		return all
	}
	err := s.View(func(snap *store.Snapshot) error {
		before := body(snap)
		disk.fill()
		s.addUntilFull(60_000)
		s.verify() // by new readers, of the file as it is open now
		disk.free()
		if err := s.add(1000); !errors.Is(err, store.ErrFull) {
			t.Errorf("a write while there is a reader from before: %v", err)
		}
		if body(snap) != before {
			t.Error("the reader sees something else")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for err = s.Look(); errors.Is(err, store.ErrFull); err = s.Look() { // until the file from before is closed
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.add(1000); err != nil {
		t.Error(err)
	}
	s.verify()
}
