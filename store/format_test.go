package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store"
	"lectern/store/evolve"
)

// TestUpgrade opens a file of format 1, which has no spans.
func TestUpgrade(t *testing.T) {
	defer store.CountedBy(3)()
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	rnd := rand.New(rand.NewPCG(5, 6))
	tw := twin{rows: map[uint64]*twinRow{}}
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 900, false) })
	closeChecked(t, s)
	inBolt(t, path, func(meta *bolt.Bucket, tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte("spans")); err != nil {
			return err
		}
		return putFormat(meta, 1, 0)
	})

	s = openModel(t, path, s.Model(), store.Options{})
	for range 100 {
		q := randomQuery(rnd, article)
		want, got := tw.find(q), find(t, s, q)
		if want.Total != got.Total && q.Count || !slices.Equal(want.Docs, got.Docs) {
			t.Fatalf("%s\n got %v of %d\nwant %v of %d", describe(q), got.Docs, got.Total, want.Docs, want.Total)
		}
	}
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 900, true) })
	closeChecked(t, s)
}

// inBolt changes the file of a closed store by bbolt alone, without checksums.
func inBolt(t *testing.T, path string, change func(meta *bolt.Bucket, tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error { return change(tx.Bucket([]byte("meta")), tx) }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// putFormat sets the format number in a file.
func putFormat(meta *bolt.Bucket, format, reader uint64) error {
	return errors.Join(
		meta.Put([]byte("format"), binary.BigEndian.AppendUint64(nil, format)),
		meta.Put([]byte("reader"), binary.BigEndian.AppendUint64(nil, reader)),
	)
}

// closedStore returns the path and the bytes of a closed store that has one article and this format number.
func closedStore(t *testing.T, format, reader uint64) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	tw := twin{rows: map[uint64]*twinRow{}}
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rand.New(rand.NewPCG(1, 2)), 20, false) })
	closeChecked(t, s)
	inBolt(t, path, func(meta *bolt.Bucket, _ *bolt.Tx) error {
		if format > store.Format { // what a newer version may store
			if err := meta.Put([]byte("future"), []byte("?")); err != nil {
				return err
			}
		}
		return putFormat(meta, format, reader)
	})
	return path, readFile(t, path)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestNewerFormat opens a file of a newer format in every way there is. Each fails with what the file needs, and leaves it unchanged.
func TestNewerFormat(t *testing.T) {
	path, before := closedStore(t, store.Format+1, 3<<32|14<<16|15)
	model := loadModel(t)
	ways := map[string]func() error{
		"open":     func() error { s, err := store.Open(path, model, store.Options{}); closeIf(t, s); return err },
		"inspect":  func() error { _, err := store.Inspect(path, model, store.Options{}, nil); return err },
		"as it is": func() error { s, err := store.OpenAsIs(path); closeIf(t, s); return err },
		"problems": func() error { _, err := store.ProblemsOf(t.Context(), path); return err },
		"salvage":  func() error { _, err := store.SalvageTo(t.Context(), path, path+".saved"); return err },
		"migrate": func() error {
			_, err := store.Migrate(path, evolve.Migrations{evolve.DropLocaleCall("api::article.article", "de")}, nil, store.Options{})
			return err
		},
	}
	for name, open := range ways {
		err := open()
		want := fmt.Sprintf("it has format %d, and this version of Lectern knows the formats up to %d; it needs Lectern 3.14.15 or newer", store.Format+1, store.Format)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(readFile(t, path), before) {
			t.Fatalf("%s changes the file", name)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 { // the store and its marker
		t.Errorf("beside the file are %v %v", entries, err)
	}
}

func closeIf(t *testing.T, s *store.Store) {
	if s != nil {
		closeChecked(t, s)
	}
}

// TestUpgradeCopy checks that an upgrade keeps the file as it was, and never replaces a copy of another state.
func TestUpgradeCopy(t *testing.T) {
	path, before := closedStore(t, 2, 0)
	former := path + ".format-2"
	if err := os.WriteFile(former+".new", []byte("half"), 0o600); err != nil { // of an upgrade that was killed
		t.Fatal(err)
	}
	foreseen, err := store.Inspect(path, loadModel(t), store.Options{}, nil)
	if want := "keeps a copy of the store in content.db.format-2 and brings it from format 2 to format 7"; err != nil || foreseen.First != want {
		t.Errorf("foreseen is %q %v", foreseen.First, err)
	}
	upgrade := func(o store.Options) (told []store.Upgrade) {
		t.Helper()
		o.Upgrading = func(u store.Upgrade) {
			if format := formatIn(t, path); format != 2 {
				t.Errorf("the file has format %d before its upgrade is announced", format)
			}
			told = append(told, u)
		}
		closeChecked(t, openModel(t, path, loadModel(t), o))
		if format := formatIn(t, path); format != store.Format {
			t.Errorf("the file has format %d after its upgrade", format)
		}
		return told
	}
	want := store.Upgrade{From: 2, To: store.Format, Copy: former}
	if told := upgrade(store.Options{}); !slices.Equal(told, []store.Upgrade{want}) {
		t.Errorf("told is %v", told)
	}
	kept := readFile(t, former)
	if len(kept) < 1<<14 || !bytes.HasPrefix(before, kept) {
		t.Fatal("the copy is not the file as it was")
	}
	if told := upgrade(store.Options{}); len(told) > 0 {
		t.Errorf("a second start upgrades again: %v", told)
	}
	if _, err := os.Stat(former + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what a killed upgrade wrote is still there")
	}

	// The way back, and a second upgrade of the same state: there is a copy of it already.
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if told := upgrade(store.Options{}); !slices.Equal(told, []store.Upgrade{want}) {
		t.Errorf("told is %v", told)
	}
	// A later state of the former format gets a copy of its own.
	inBolt(t, path, func(meta *bolt.Bucket, _ *bolt.Tx) error { return putFormat(meta, 2, 0) })
	want.Copy = former + "-2"
	if told := upgrade(store.Options{}); !slices.Equal(told, []store.Upgrade{want}) {
		t.Errorf("told is %v", told)
	}
	if !bytes.Equal(readFile(t, former), kept) || len(readFile(t, want.Copy)) == 0 {
		t.Error("the first copy was replaced")
	}
}

// TestUpgradeWithoutSpace checks that a file is not upgraded if there is no space for its copy, unless none is wanted.
func TestUpgradeWithoutSpace(t *testing.T) {
	path, before := closedStore(t, 2, 0)
	restore := store.OnDiskWith(1000)
	for name, open := range map[string]func() error{
		"open":    func() error { s, err := store.Open(path, loadModel(t), store.Options{}); closeIf(t, s); return err },
		"inspect": func() error { _, err := store.Inspect(path, loadModel(t), store.Options{}, nil); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "no space for a copy") || !strings.Contains(err.Error(), "1000 are free") {
			t.Errorf("%s: %v", name, err)
		}
	}
	restore()
	if !bytes.Equal(readFile(t, path), before) {
		t.Error("the file was changed")
	}
	var told []store.Upgrade
	closeChecked(t, openModel(t, path, loadModel(t), store.Options{NoUpgradeCopy: true, Upgrading: func(u store.Upgrade) { told = append(told, u) }}))
	if want := []store.Upgrade{{From: 2, To: store.Format}}; !slices.Equal(told, want) {
		t.Errorf("told is %v", told)
	}
	if _, err := os.Stat(path + ".format-2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy is kept: %v", err)
	}
}

// formatIn returns the format in a file, which may be in use.
func formatIn(t *testing.T, path string) (format uint64) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(copied, readFile(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	inBolt(t, copied, func(meta *bolt.Bucket, _ *bolt.Tx) error {
		format = binary.BigEndian.Uint64(meta.Get([]byte("format"))) & (1<<48 - 1)
		return nil
	})
	return format
}
