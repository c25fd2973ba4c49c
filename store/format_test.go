package store_test

import (
	"bytes"
	"cmp"
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

// nextFormat makes up a format after the present one, in which the file has one more bucket.
func nextFormat(t *testing.T) (restore func()) {
	t.Helper()
	restore = store.NextFormat(3, 14, 15, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("made up"))
		if err != nil {
			return err
		}
		return b.Put([]byte("articles"), []byte{20})
	})
	t.Cleanup(restore)
	return restore
}

// TestUpgrade opens a file with a version of Lectern that knows the next format. The upgrade is carried out once, and
// the file has the content that it had.
func TestUpgrade(t *testing.T) {
	path, _ := closedStore(t)
	var want []string
	s := open(t, path)
	want = answers(t, s)
	closeChecked(t, s)
	defer nextFormat(t)()
	for range 2 { // a second upgrade would fail, because it would find the bucket
		s := openModel(t, path, loadModel(t), store.Options{})
		if got := answers(t, s); !slices.Equal(got, want) {
			t.Error("the content has changed")
		}
		if err := putTag(t.Context(), s, 3); err != nil {
			t.Error(err)
		}
		want = answers(t, s)
		closeChecked(t, s)
	}
	if format := formatIn(t, path); format != store.Format+1 {
		t.Errorf("the file has format %d", format)
	}
}

// TestFailedUpgrade opens a file whose upgrade fails. The file stays as it is, with its format and without half of the
// change.
func TestFailedUpgrade(t *testing.T) {
	path, _ := closedStore(t)
	failed := errors.New("no upgrade today")
	restore := store.NextFormat(
		3, 14, 15, func(tx *bolt.Tx) error { return cmp.Or(tx.DeleteBucket([]byte("rows")), failed) })
	t.Cleanup(restore)
	s, err := store.Open(path, loadModel(t), store.Options{})
	closeIf(t, s)
	if !errors.Is(err, failed) || formatIn(t, path) != store.Format {
		t.Errorf("%v, and the format is %d", err, formatIn(t, path))
	}
	restore()
	closeChecked(t, open(t, path))
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

// closedStore returns the path and the bytes of a closed store that has some articles.
func closedStore(t *testing.T) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	tw := twin{rows: map[uint64]*twinRow{}}
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rand.New(rand.NewPCG(1, 2)), 20, false) })
	closeChecked(t, s)
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

// TestNewerFormat opens a file of a newer format in every way there is. Each fails with what the file needs, and leaves
// it unchanged.
func TestNewerFormat(t *testing.T) {
	restore := nextFormat(t)
	path, _ := closedStore(t)
	restore()
	inBolt(t, path, func(meta *bolt.Bucket,
		_ *bolt.Tx) error {
		return meta.Put([]byte("future"), []byte("?"))
	}) // as a newer version may store it
	before := readFile(t, path)
	model := loadModel(t)
	ways := map[string]func() error{
		"open":     func() error { s, err := store.Open(path, model, store.Options{}); closeIf(t, s); return err },
		"inspect":  func() error { _, err := store.Inspect(path, model, store.Options{}, nil); return err },
		"as it is": func() error { s, err := store.OpenAsIs(path); closeIf(t, s); return err },
		"problems": func() error { _, err := store.ProblemsOf(t.Context(), path); return err },
		"salvage":  func() error { _, err := store.SalvageTo(t.Context(), path, path+".saved"); return err },
		"migrate": func() error {
			_, err := store.Migrate(path, evolve.Migrations{evolve.DropLocaleCall("api::article.article", "de")}, nil,
				store.Options{})
			return err
		},
	}
	for name, open := range ways {
		err := open()
		want := fmt.Sprintf(
			"it has format %d, and this version of Lectern knows the formats up to %d; it needs Lectern 3.14.15 or newer", store.Format+1, store.Format)
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
	path, before := closedStore(t)
	restore := nextFormat(t)
	former := path + ".format-1"
	if err := os.WriteFile(former+".new", []byte("half"), 0o600); err != nil { // of an upgrade that was killed
		t.Fatal(err)
	}
	foreseen, err := store.Inspect(path, loadModel(t), store.Options{}, nil)
	if want := "keeps a copy of the store in content.db.format-1 and brings it from format 1 to format 2"; err != nil ||
		foreseen.First != want {
		t.Errorf("foreseen is %q %v", foreseen.First, err)
	}
	upgrade := func(o store.Options) (announced []store.Upgrade) {
		t.Helper()
		o.Upgrading = func(u store.Upgrade) {
			if format := formatIn(t, path); format != store.Format {
				t.Errorf("the file has format %d before its upgrade is announced", format)
			}
			announced = append(announced, u)
		}
		closeChecked(t, openModel(t, path, loadModel(t), o))
		if format := formatIn(t, path); format != store.Format+1 {
			t.Errorf("the file has format %d after its upgrade", format)
		}
		return announced
	}
	want := store.Upgrade{From: store.Format, To: store.Format + 1, Copy: former}
	if announced := upgrade(store.Options{}); !slices.Equal(announced, []store.Upgrade{want}) {
		t.Errorf("announced is %v", announced)
	}
	kept := readFile(t, former)
	if len(kept) < 1<<14 || !bytes.HasPrefix(before, kept) {
		t.Fatal("the copy is not the file as it was")
	}
	if announced := upgrade(store.Options{}); len(announced) > 0 {
		t.Errorf("a second start upgrades again: %v", announced)
	}
	if _, err := os.Stat(former + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what a killed upgrade wrote is still there")
	}

	// The way back, and a second upgrade of the same state: there is a copy of it already.
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if announced := upgrade(store.Options{}); !slices.Equal(announced, []store.Upgrade{want}) {
		t.Errorf("announced is %v", announced)
	}
	// A later state of the former format gets a copy of its own.
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	restore()
	s := open(t, path)
	if err := putTag(t.Context(), s, 3); err != nil {
		t.Fatal(err)
	}
	closeChecked(t, s)
	nextFormat(t)
	want.Copy = former + "-2"
	if announced := upgrade(store.Options{}); !slices.Equal(announced, []store.Upgrade{want}) {
		t.Errorf("announced is %v", announced)
	}
	if !bytes.Equal(readFile(t, former), kept) || len(readFile(t, want.Copy)) == 0 {
		t.Error("the first copy was replaced")
	}
}

// TestUpgradeWithoutSpace checks that a file is not upgraded if there is no space for its copy, unless none is wanted.
func TestUpgradeWithoutSpace(t *testing.T) {
	path, before := closedStore(t)
	nextFormat(t)
	restore := store.OnDiskWith(1000)
	for name, open := range map[string]func() error{
		"open": func() error {
			s, err := store.Open(path, loadModel(t), store.Options{})
			closeIf(t,
				s)
			return err
		},
		"inspect": func() error { _, err := store.Inspect(path, loadModel(t), store.Options{}, nil); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "no space for a copy") ||
			!strings.Contains(err.Error(), "1000 are free") {
			t.Errorf("%s: %v", name, err)
		}
	}
	restore()
	if !bytes.Equal(readFile(t, path), before) {
		t.Error("the file was changed")
	}
	var announced []store.Upgrade
	closeChecked(t, openModel(t, path, loadModel(t),
		store.Options{NoUpgradeCopy: true, Upgrading: func(u store.Upgrade) { announced = append(announced, u) }}))
	if want := []store.Upgrade{{From: store.Format, To: store.Format + 1}}; !slices.Equal(announced, want) {
		t.Errorf("announced is %v", announced)
	}
	if _, err := os.Stat(path + ".format-1"); !errors.Is(err, fs.ErrNotExist) {
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
