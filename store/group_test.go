package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/store"
)

// A groupWriter writes and deletes its own documents, and knows which of them the store must have.
type groupWriter struct {
	t    *testing.T
	s    *store.Store
	rnd  *rand.Rand
	name string
	docs map[uint64]string // document → the JSON of its name
}

var errOnPurpose = errors.New("failed on purpose")

// step makes one write of several batches, which may fail before, between or after them.
func (w *groupWriter) step() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	batches, fails := 1+w.rnd.IntN(3), w.rnd.IntN(10)
	seed := w.rnd.Uint64()
	var next map[uint64]string
	err := w.s.Write(ctx, func(tx *store.Tx) error { // which may be called several times
		rnd := rand.New(rand.NewPCG(seed, 1))
		next = make(map[uint64]string, len(w.docs))
		for doc, name := range w.docs {
			next[doc] = name
		}
		for n := range batches {
			if fails == n { // after so many batches
				return errOnPurpose
			}
			if fails == 3+n {
				panic(errOnPurpose)
			}
			if fails == 6 && n == 0 {
				cancel()
			}
			if err := tx.Apply(w.batch(tx, rnd, next)); err != nil {
				return err
			}
			if rnd.IntN(3) == 0 { // which brings the changes so far into the index
				if err := w.compare(tx.Snapshot, next); err != nil {
					return err
				}
			}
		}
		if fails == 7 {
			return errOnPurpose
		}
		return nil
	})
	switch {
	case err == nil:
		w.docs = next
	case !errors.Is(err, errOnPurpose) && !errors.Is(err, context.Canceled) &&
		!strings.Contains(err.Error(), "panicked: "+errOnPurpose.Error()):
		w.t.Errorf("%s: %v", w.name, err)
	}
}

// batch makes a batch that changes some documents, and notes the changes in next.
func (w *groupWriter) batch(tx *store.Tx, rnd *rand.Rand, next map[uint64]string) *store.Batch {
	tag := w.s.Model().Type("api::tag.tag")
	var b store.Batch
	mine := make([]uint64, 0, len(next))
	for doc := range next {
		mine = append(mine, doc)
	}
	slices.Sort(mine)
	for _, doc := range mine {
		switch rnd.IntN(6) {
		case 0:
			b.DeleteRow(tag, doc, store.Published, "")
			delete(next, doc)
		case 1, 2:
			next[doc] = w.newName(rnd)
			b.PutRow(newRow(tx, tag, doc, store.Published, "", map[string]string{"name": next[doc]}))
		}
	}
	for range rnd.IntN(4) {
		doc := tx.NewDoc()
		next[doc] = w.newName(rnd)
		b.PutRow(newRow(tx, tag, doc, store.Published, "", map[string]string{"name": next[doc]}))
	}
	return &b
}

// newName returns null or a name that only this writer uses. Some names are longer than the part that an index holds.
func (w *groupWriter) newName(rnd *rand.Rand) string {
	if rnd.IntN(8) == 0 {
		return "null"
	}
	return strconv.Quote(fmt.Sprintf("%s %d %s", w.name, rnd.IntN(1000), strings.Repeat("x", rnd.IntN(120))))
}

// compare finds each document of the writer by its name.
func (w *groupWriter) compare(snap *store.Snapshot, want map[uint64]string) error {
	tag := w.s.Model().Type("api::tag.tag")
	for doc, name := range want {
		found := false
		snap.Equal(tag, store.Published, "", tag.Attribute("name"), []byte(name), func(r store.Record) bool {
			found = r.Doc() == doc
			return !found
		})
		if !found {
			return fmt.Errorf("document %d is not found by its name %s", doc, name)
		}
	}
	return nil
}

// TestGroupsWithFailingMembers has many writers share transactions. Some writes fail before, between or after their
// batches, and others check the store meanwhile. The store must have all acknowledged documents, in the index too, and
// no others. LECTERN_STRESS=10m sets how long the test goes on.
func TestGroupsWithFailingMembers(t *testing.T) {
	defer store.CountedBy(4)()
	defer store.BufferedBy(60)()
	rounds, until := 1, time.Time{}
	if long, err := time.ParseDuration(os.Getenv("LECTERN_STRESS")); err == nil {
		rounds, until = 1<<30, time.Now().Add(long)
	}
	for round := 0; round < rounds && (until.IsZero() || time.Now().Before(until)) && !t.Failed(); round++ {
		groupsWithFailingMembers(t, rand.Uint64())
	}
}

func groupsWithFailingMembers(t *testing.T, seed uint64) {
	const writers, steps = 12, 40
	s := newStore(t)
	all := make([]*groupWriter, writers)
	var writing, checking sync.WaitGroup
	for i := range all {
		w := &groupWriter{t: t, s: s, rnd: rand.New(rand.NewPCG(seed, uint64(i))), name: fmt.Sprintf("w%d", i),
			docs: map[uint64]string{}}
		all[i] = w
		writing.Go(func() {
			for range steps {
				w.step()
			}
		})
	}
	end := make(chan struct{})
	checking.Go(func() {
		for ended := false; !ended; {
			select {
			case <-end:
				ended = true
			default:
			}
			if err := s.Check(); err != nil {
				t.Errorf("while others write: %v", err)
				return
			}
			s.Doubt()
		}
	})
	writing.Wait()
	close(end)
	checking.Wait()
	total := 0
	for _, w := range all {
		total += len(w.docs)
		if err := s.View(func(snap *store.Snapshot) error { return w.compare(snap, w.docs) }); err != nil {
			t.Errorf("seed %d, %s: %v", seed, w.name, err)
		}
	}
	if page := find(t, s, &store.Query{Type: s.Model().Type("api::tag.tag"), Count: true}); page.Total != total {
		t.Errorf("seed %d: %d documents, want %d", seed, page.Total, total)
	}
	if st := s.Stats(); st.Commits >= st.Writes {
		t.Errorf("no transaction was shared: %+v", st)
	}
}
