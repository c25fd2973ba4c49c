package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/store"
)

// answersBegin is when the tests of answers give their first answer.
var answersBegin = time.UnixMilli(2e12)

// onceFor returns the Once of a write under a key. Its answer has a body of so many bytes.
func onceFor(key string, at time.Time, size int) *store.Once {
	o := &store.Once{At: at, ContentType: "text/plain", MaxBody: 1000, TooLong: errOnPurpose}
	copy(o.Key[:], key)
	copy(o.Request[:], "request of "+key)
	o.Print = func() store.Answer { return store.Answer{Status: 201, Body: []byte(strings.Repeat("x", size))} }
	return o
}

// addTags applies so many batches with one tag each.
func addTags(n int, calls *atomic.Int64) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		calls.Add(1)
		for range n {
			var b store.Batch
			doc := tx.NewDoc()
			b.PutRow(newRow(tx, tx.Model().Type("api::tag.tag"), doc, store.Published, "",
				map[string]string{"name": `"a tag"`}))
			b.Log(tx.Model().Type("api::tag.tag"), documentID(doc), store.Created)
			if err := tx.Apply(&b); err != nil {
				return err
			}
		}
		return nil
	}
}

func keptAnswers(t *testing.T, s *store.Store) (count int, size int64) {
	t.Helper()
	if err := s.View(func(snap *store.Snapshot) error { count, size = snap.KeptAnswers(); return nil }); err != nil {
		t.Fatal(err)
	}
	return count, size
}

// TestWriteOnce makes writes under keys. Each is carried out once, in the transaction that keeps its answer.
func TestWriteOnce(t *testing.T) {
	for _, c := range []struct {
		name          string
		batches, size int
		fails         error // of the write
		err           error // of WriteOnce
		kept          bool
		noLog         bool
	}{
		{name: "one batch", batches: 1, size: 10, kept: true},
		{name: "several batches", batches: 3, size: 10, kept: true},
		{name: "no body", batches: 1, kept: true},
		{name: "no log", batches: 2, size: 10, kept: true, noLog: true},
		{name: "nothing is written", size: 10},
		{name: "the write fails", batches: 2, size: 10, fails: errors.New("refused"), err: errors.New("refused")},
		{name: "the answer is too long", batches: 1, size: 1001, err: errOnPurpose},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "content.db")
			o := store.Options{Log: store.LogLimits{Off: c.noLog}}
			s, err := store.Open(path, loadModel(t), o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { closeChecked(t, s) }()
			var calls atomic.Int64
			write := func(tx *store.Tx) error { return errors.Join(addTags(c.batches, &calls)(tx), c.fails) }
			before := s.Stats()
			err = s.WriteOnce(t.Context(), onceFor("one", answersBegin, c.size), write)
			if fmt.Sprint(err) != fmt.Sprint(c.err) {
				t.Fatalf("the first write: %v, want %v", err, c.err)
			}
			if st := s.Stats(); c.kept && (st.Commits-before.Commits != 1 || st.Writes-before.Writes != 1) {
				t.Errorf("%d transactions for %d writes", st.Commits-before.Commits, st.Writes-before.Writes)
			}
			if c.kept { // the answer is durable
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = store.Open(path, loadModel(t), o); err != nil {
					t.Fatal(err)
				}
			}
			err = s.WriteOnce(t.Context(), onceFor("one", answersBegin.Add(time.Hour), 7), write)
			var before2 *store.CarriedOutError
			switch {
			case !c.kept:
				if errors.As(err, &before2) || calls.Load() < 2 {
					t.Errorf("the second write: %v", err)
				}
			case !errors.As(err, &before2) || calls.Load() != 1:
				t.Errorf("the second write: %v after %d calls", err, calls.Load())
			case before2.Kept.Status != 201 || len(before2.Kept.Body) != c.size || !before2.Kept.At.Equal(answersBegin):
				t.Errorf("the answer is %+v", before2.Kept)
			}
			if n := find(t, s, &store.Query{Type: s.Model().Type("api::tag.tag"), Status: store.Published, Count: true,
				Limit: 9}).Total; c.kept && n != c.batches || c.err != nil && c.fails != nil && n != 0 {
				t.Errorf("there are %d tags", n)
			}
		})
	}
}

// TestWriteOnceTogether sends the same writes at the same time. Each key is carried out once, with the other writes in
// the same transactions.
func TestWriteOnceTogether(t *testing.T) {
	s := newStore(t)
	var calls, refused atomic.Int64
	var all sync.WaitGroup
	const keys, clients = 20, 8
	for range clients {
		for key := range keys {
			all.Go(func() {
				err := s.WriteOnce(context.Background(), onceFor(fmt.Sprint(key), answersBegin, key),
					addTags(2, &calls))
				var before *store.CarriedOutError
				if errors.As(err, &before) && len(before.Kept.Body) == key {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	n := find(t, s, &store.Query{Type: s.Model().Type("api::tag.tag"), Status: store.Published, Count: true,
		Limit: 1}).Total
	if count, _ := keptAnswers(t, s); n != 2*keys || count != keys || refused.Load() != keys*(clients-1) {
		t.Errorf("%d tags and %d answers for %d keys; %d writes were refused", n, count, keys, refused.Load())
	}
	if st := s.Stats(); st.Commits >= keys*clients {
		t.Errorf("%d transactions", st.Commits)
	}
}

// TestAnswersAreBounded keeps answers until each limit is reached. The oldest go first.
func TestAnswersAreBounded(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits store.AnswerLimits
		every  time.Duration // between two answers
		kept   int           // of 30
	}{
		{name: "by age", limits: store.AnswerLimits{Keep: time.Hour}, every: 10 * time.Minute, kept: 6},
		{name: "by number", limits: store.AnswerLimits{Count: 7}, kept: 7},
		{name: "by size", limits: store.AnswerLimits{MaxSize: 4000}, kept: 14},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := store.Open(filepath.Join(t.TempDir(), "content.db"), loadModel(t),
				store.Options{Answers: c.limits})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var calls atomic.Int64
			at := answersBegin
			for key := range 30 {
				at = at.Add(c.every)
				if err := s.WriteOnce(t.Context(), onceFor(fmt.Sprint(key), at, 100), addTags(1, &calls)); err != nil {
					t.Fatal(err)
				}
			}
			count, size := keptAnswers(t, s)
			if count != c.kept || c.limits.MaxSize > 0 && size > c.limits.MaxSize {
				t.Errorf("%d answers with %d bytes are kept, want %d", count, size, c.kept)
			}
			for key := range 30 {
				if err := s.View(func(snap *store.Snapshot) error {
					kept, err := snap.KeptAnswer(onceFor(fmt.Sprint(key), at, 0).Key, at)
					if (kept != nil) != (key >= 30-c.kept) {
						t.Errorf("answer %d is kept: %t", key, kept != nil)
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			}
			if err := s.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestExpiredAnswer uses a key again after its answer has expired, with and without another write in between that
// removes the answer.
func TestExpiredAnswer(t *testing.T) {
	s := newStore(t)
	var calls atomic.Int64
	for n, at := range []time.Time{answersBegin, answersBegin.Add(24 * time.Hour), answersBegin.Add(48*time.Hour - 1),
		answersBegin.Add(72 * time.Hour)} {
		err := s.WriteOnce(t.Context(), onceFor("again", at, n), addTags(1, &calls))
		var before *store.CarriedOutError
		if want := n == 2; errors.As(err, &before) != want || !want && err != nil {
			t.Errorf("at %s: %v", at, err)
		}
		if n == 2 {
			if err := s.WriteOnce(t.Context(), onceFor("other", at.Add(time.Hour), 1), addTags(1, &calls)); err != nil {
				t.Error(err)
			}
		}
	}
	if calls.Load() != 4 {
		t.Errorf("%d writes were carried out, want 4", calls.Load())
	}
}
