package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// loadModel loads the definitions that the tests of this package use.
func loadModel(t testing.TB) *contenttypes.Model {
	t.Helper()
	m, problems := contenttypes.Load("testdata/project", contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return m
}

// open opens a store that is checked and closed when the test ends.
func open(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(path, loadModel(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeChecked(t, s) })
	return s
}

// closeChecked checks and closes a store. If its log is complete, the same entries must make the same content in an
// empty store.
func closeChecked(t testing.TB, s *store.Store) {
	t.Helper()
	switch err := s.Check(); {
	case err == nil:
		checkReplica(t, s)
	case !errors.Is(err, store.ErrClosed):
		t.Errorf("check: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// checkReplica compares the content of a store with that of an empty one to which the log is applied, if the log is
// complete.
func checkReplica(t testing.TB, s *store.Store) {
	t.Helper()
	complete := false
	if err := s.View(func(snap *store.Snapshot) error {
		oldest, err := snap.OldestPosition()
		at, _ := snap.Position()
		complete = oldest.Sequence == 0 && at.Sequence > 0
		return err
	}); err != nil {
		t.Error(err)
	}
	if !complete || t.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", "replica")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	seed := rand.Uint64()
	differences, err := store.Replicate(s, filepath.Join(dir, "content.db"), rand.New(rand.NewPCG(seed, 1)))
	if err != nil && !errors.Is(err, store.ErrFull) ||
		len(differences) > 0 { // some tests pretend that the disk is full
		t.Errorf("a replica, seed %d: %v %s", seed, err, strings.Join(differences, "\n"))
	}
	if seed%3 > 0 {
		return
	}
	part, differences, err := store.ReplicatePart(s, dir, rand.New(rand.NewPCG(seed, 2)))
	if err != nil && !errors.Is(err, store.ErrFull) || len(differences) > 0 {
		t.Errorf("a partial replica %+v, seed %d: %v %s", part, seed, err, strings.Join(differences, "\n"))
	}
}

func newStore(t testing.TB) *store.Store {
	return open(t, filepath.Join(t.TempDir(), "content.db"))
}

// write runs f in a write. It fails the test if the write fails.
func write(t testing.TB, s *store.Store, f func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

// newRow makes a row with these attributes set to JSON texts.
func newRow(tx *store.Tx, ct *contenttypes.ContentType, doc uint64, status store.Status, locale string,
	set map[string]string) *store.Row {
	r := &store.Row{Type: ct, Doc: doc, Status: status, Locale: locale, Values: make([]store.Value, len(ct.Attributes))}
	put := func(name, text string) {
		if a := ct.Attribute(name); a != nil {
			r.Values[a.Index].JSON = []byte(text)
		}
	}
	put("id", strconv.FormatUint(tx.NewRowID(ct), 10))
	put("documentId", strconv.Quote(documentID(doc)))
	put("updatedAt", `"2026-01-02T03:04:05.678Z"`)
	if locale != "" {
		put("locale", strconv.Quote(locale))
	}
	for k, v := range set {
		put(k, v)
	}
	return r
}

func documentID(doc uint64) string { return fmt.Sprintf("d%023d", doc) }

func TestRowsAreReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	line := s.Model().Component("part.line")
	var doc uint64
	write(t, s, func(tx *store.Tx) error {
		doc = tx.NewDoc()
		r := newRow(tx, article, doc, store.Draft, "en",
			map[string]string{"title": `"a \"quoted\" title"`, "rank": "7"})
		words := make([]store.Value, len(line.Attributes))
		words[line.Attribute("word").Index].JSON = []byte(`"one"`)
		r.Values[article.Attribute("parts").Index].Items = []*store.Item{
			{Component: line, ID: tx.NewComponentID(), Values: words},
			{Component: line, ID: tx.NewComponentID(), Values: make([]store.Value, len(line.Attributes))},
		}
		var b store.Batch
		b.PutRow(r)
		b.Log(article, documentID(doc), store.Created)
		return tx.Apply(&b)
	})
	closeChecked(t, s)

	s = open(t, path)
	article, line = s.Model().Type("api::article.article"), s.Model().Component("part.line")
	err := s.View(func(snap *store.Snapshot) error {
		found, ok := snap.Document(article, documentID(doc))
		if !ok || found != doc {
			t.Fatalf("document %d, %v; want %d", found, ok, doc)
		}
		r := snap.Version(article, doc, store.Draft, "en")
		if got := string(r.JSON(article.Attribute("title"))); got != `"a \"quoted\" title"` {
			t.Errorf("title is %s", got)
		}
		if r.JSON(article.Attribute("body")) != nil {
			t.Error("body is not null")
		}
		if r.ID() != 1 || r.Locale() != "en" || r.Status() != store.Draft {
			t.Errorf("id %d, locale %s, status %d", r.ID(), r.Locale(), r.Status())
		}
		var words []string
		r.Each(article.Attribute("parts"), func(item store.Record) bool {
			words = append(words, fmt.Sprint(item.ID(), string(item.JSON(line.Attribute("word")))))
			return true
		})
		if got := fmt.Sprint(words); got != `[1"one" 2]` {
			t.Errorf("parts are %s", got)
		}
		for _, other := range []store.Record{snap.Version(article, doc, store.Published, "en"),
			snap.Version(article, doc, store.Draft, "fr")} {
			if other.Exists() {
				t.Error("a version that was never written is there")
			}
		}
		want := []store.Change{{Type: article.UID, DocumentID: documentID(doc), Action: store.Created}}
		if got := changesIn(t, snap); !slices.Equal(got, want) {
			t.Errorf("the log says %v, want %v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	s := newStore(t)
	if _, err := store.Open(s.Path(), s.Model(), store.Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("second open: %v; want ErrLocked", err)
	}
}

func TestAFailedWriteLeavesNothingAndTheOthersStay(t *testing.T) {
	s := newStore(t)
	tag := s.Model().Type("api::tag.tag")
	boom := errors.New("boom")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			err := s.Write(context.Background(), func(tx *store.Tx) error {
				var b store.Batch
				b.PutRow(newRow(tx, tag, tx.NewDoc(), store.Published, "",
					map[string]string{"name": strconv.Quote(fmt.Sprint("tag ", i))}))
				if err := tx.Apply(&b); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return boom
				case 2:
					panic("boom")
				}
				return nil
			})
			if (err == nil) != (i%4 == 0 || i%4 == 3) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	page := find(t, s, &store.Query{Type: tag, Limit: -1, Count: true})
	if page.Total != 20 {
		t.Errorf("%d rows, want the 20 of the writes that succeeded", page.Total)
	}
}

func TestWritersShareFsyncs(t *testing.T) {
	s := newStore(t)
	tag := s.Model().Type("api::tag.tag")
	const writers, each = 16, 60
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := s.Write(context.Background(), func(tx *store.Tx) error {
					var b store.Batch
					b.PutRow(newRow(tx, tag, tx.NewDoc(), store.Published, "", nil))
					return tx.Apply(&b)
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.Writes != writers*each || st.Fsyncs > st.Writes/4 {
		t.Errorf("%d fsyncs for %d writes, want one for four or fewer", st.Fsyncs, st.Writes)
	}
}

// found is a copy of the parts of a page that tests look at.
type found struct {
	Docs  []uint64
	Total int
}

func find(t testing.TB, s *store.Store, q *store.Query) found {
	t.Helper()
	var f found
	err := s.View(func(snap *store.Snapshot) error {
		page, err := snap.Find(q)
		f.Total = page.Total
		for _, r := range page.Rows {
			f.Docs = append(f.Docs, r.Doc())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRevision checks the promises of Revision: it changes with each write that changes something and with each
// conversion, and with nothing else; it does not decrease at a restart; and a snapshot sees at least the revision that
// was read before it began.
func TestRevision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	last := s.Revision()
	for i := range uint64(3) {
		write(t, s, func(tx *store.Tx) error {
			var b store.Batch
			b.PutRow(newRow(tx, article, tx.NewDoc(), store.Draft, "en", nil))
			return tx.Apply(&b)
		})
		if now := s.Revision(); now <= last {
			t.Errorf("write %d: revision %d after %d", i, now, last)
		}
		last = s.Revision()
		if err := s.View(func(snap *store.Snapshot) error {
			if snap.Sequence() < last {
				t.Errorf("a snapshot of %d after revision %d", snap.Sequence(), last)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s, func(*store.Tx) error { return nil })
	rollBack := errors.New("roll back")
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		var b store.Batch
		b.PutRow(newRow(tx, article, tx.NewDoc(), store.Draft, "en", nil))
		return errors.Join(tx.Apply(&b), rollBack)
	}); !errors.Is(err, rollBack) {
		t.Fatal(err)
	}
	if now := s.Revision(); now != last {
		t.Errorf("revision %d after writes that changed nothing, was %d", now, last)
	}
	empty := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}"))
	if _, err := s.Redefine(t.Context(), empty, store.Options{}); err == nil {
		t.Error("content was lost")
	}
	if now := s.Revision(); now != last {
		t.Errorf("revision %d after a refused change of definitions, was %d", now, last)
	}
	closeChecked(t, s)
	s = open(t, path)
	defer closeChecked(t, s)
	if now := s.Revision(); now != last {
		t.Errorf("revision %d after a restart, was %d", now, last)
	}
}

// TestRevisionOfConversions asserts that a conversion is a revision of its own.
func TestRevisionOfConversions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := openModel(t, path, modelOf(t, contenttypes.Options{}, itemType("name: {type: string}")), store.Options{})
	fillItems(t, s, 3)
	last := s.Revision()
	next, err := s.Redefine(t.Context(),
		modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, more: {type: integer}")), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeChecked(t, next)
	if now := next.Revision(); now <= last || now != s.Revision() {
		t.Errorf("revision %d (%d of the former Store) after a conversion, was %d", now, s.Revision(), last)
	}
}
