package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// TestRelationCache reads while writes move all rows and links. Each write gives all rows the next number, and gives
// each row that many tags, beginning with its own. A snapshot must see the rows and links of its own state.
func TestRelationCache(t *testing.T) {
	defer store.CacheAfter(1)()
	s, w := newWheel(t)
	const turns = 60
	var done atomic.Bool
	var readers sync.WaitGroup
	for seed := range uint64(4) {
		readers.Add(1)
		go func() {
			defer readers.Done()
			rnd := rand.New(rand.NewPCG(seed, 3))
			for !done.Load() {
				if err := s.View(func(snap *store.Snapshot) error { return w.check(snap, rnd) }); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for n := 1; n <= turns; n++ {
		if err := s.Write(context.Background(), func(tx *store.Tx) error { return w.turn(tx, n) }); err != nil {
			t.Error(err)
			break
		}
	}
	done.Store(true)
	readers.Wait()
}

// TestRelationCacheIsUsed reads a state three times. Links and targets are searched for until the cache has them. From
// then on only single rows are.
func TestRelationCacheIsUsed(t *testing.T) {
	defer store.CacheAfter(1)()
	s, w := newWheel(t)
	seeks := func() uint64 {
		before := s.Stats().Seeks
		if err := s.View(func(snap *store.Snapshot) error {
			return w.check(snap,
				rand.New(rand.NewPCG(1, 1)))
		}); err != nil {
			t.Fatal(err)
		}
		return s.Stats().Seeks - before
	}
	first, second, third := seeks(), seeks(), seeks()
	if first < 2*wheelSize || second < 2*wheelSize || third > wheelSize {
		t.Errorf("%d, %d and %d searches for %d rows and their links", first, second, third, wheelSize)
	}
	var kept int
	for round := range 3 {
		for seed := range uint64(12) { // with lists of every length
			if err := s.View(func(snap *store.Snapshot) error {
				return w.check(snap,
					rand.New(rand.NewPCG(seed, 2)))
			}); err != nil {
				t.Fatal(err)
			}
		}
		if round > 0 && s.CachedWords() != kept {
			t.Errorf("in round %d the cache takes %d words, and took %d", round, s.CachedWords(), kept)
		}
		kept = s.CachedWords()
	}
	write(t, s, func(tx *store.Tx) error { return w.turn(tx, 1) })
	if again := seeks(); again < 2*wheelSize {
		t.Errorf("%d searches after a write", again)
	}
}

// A wheel is a store whose content follows from the number of its state.
type wheel struct {
	article, tag     *contenttypes.ContentType
	tags             *contenttypes.Attribute
	articles, others []uint64
}

const wheelSize = 60

// newWheel creates a wheel in state 0.
func newWheel(t *testing.T) (*store.Store, *wheel) {
	limits := store.LogLimits{MaxSize: 1 << 18} // so that the file can reach a size at which it stays
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), loadModel(t), store.Options{Log: limits})
	t.Cleanup(func() { closeChecked(t, s) })
	w := &wheel{article: s.Model().Type("api::article.article"), tag: s.Model().Type("api::tag.tag")}
	w.tags = w.article.Attribute("tags")
	write(t, s, func(tx *store.Tx) error {
		for range wheelSize {
			w.articles, w.others = append(w.articles, tx.NewDoc()), append(w.others, tx.NewDoc())
		}
		return w.turn(tx, 0)
	})
	return s, w
}

// leads returns the tags that article i links to in state n.
func (w *wheel) leads(i, n int) []uint64 {
	var docs []uint64
	for k := range (i + n) % 4 {
		docs = append(docs, w.others[(i+n+k)%wheelSize])
	}
	return docs
}

// turn changes the content from state n-1 to state n.
func (w *wheel) turn(tx *store.Tx, n int) error {
	var b store.Batch
	for i, doc := range w.articles {
		title := strconv.Quote(fmt.Sprintf("%d%*s", n, (i*n)%300, ""))
		b.PutRow(newRow(tx, w.article, doc, store.Published, "en",
			map[string]string{"rank": strconv.Itoa(n), "title": title}))
		if n > 0 {
			for k, to := range w.leads(i, n-1) {
				b.DeleteLink(w.link(doc, to, i, k))
			}
		}
		for k, to := range w.leads(i, n) {
			b.PutLink(w.link(doc, to, i, k))
		}
	}
	for _, doc := range w.others {
		b.PutRow(newRow(tx, w.tag, doc, store.Published, "", nil))
	}
	return tx.Apply(&b)
}

func (w *wheel) link(from, to uint64, i, k int) store.Link {
	return store.Link{
		Attr: w.tags, Set: store.PublishedLinks,
		From: store.Ref{Type: w.article.UID, Doc: from, Locale: "en"}, To: store.Ref{Type: w.tag.UID, Doc: to},
		FromPos: uint64(k+1) * store.PosStep, ToPos: uint64(i+1) * store.PosStep,
	}
}

// check reads the state that a snapshot sees, in every way that uses the relation cache.
func (w *wheel) check(snap *store.Snapshot, rnd *rand.Rand) error {
	var rows []store.Record
	var is []int
	state := -1
	for _, i := range rnd.Perm(wheelSize) {
		r := snap.Version(w.article, w.articles[i], store.Published, "en")
		if !r.Exists() {
			return fmt.Errorf("article %d is missing", i)
		}
		n, err := strconv.Atoi(string(r.JSON(w.article.Attribute("rank"))))
		if err != nil || state >= 0 && n != state {
			return fmt.Errorf("article %d is of state %d (%w), others are of %d", i, n, err, state)
		}
		state = n
		rows, is = append(rows, r), append(is, i)
	}
	var all store.Related
	most := rnd.IntN(5) - 1
	if err := snap.RelatedAll(rows, w.tags, store.Published, &store.Query{Limit: most}, &all); err != nil {
		return err
	}
	for k, i := range is {
		want := w.leads(i, state)
		var some []uint64
		stop := rnd.IntN(4) // 0: never
		snap.Related(rows[k], w.tags, store.Published,
			func(r store.Record) bool { some = append(some, r.Doc()); return len(some) != stop })
		if stop == 0 || stop > len(want) {
			stop = len(want)
		}
		if fmt.Sprint(some) != fmt.Sprint(want[:stop]) {
			return fmt.Errorf("in state %d article %d first leads to %v, want %v", state, i, some, want[:stop])
		}
		var one []uint64
		snap.Related(rows[k], w.tags, store.Published,
			func(r store.Record) bool { one = append(one, r.Doc()); return true })
		if fmt.Sprint(one) != fmt.Sprint(want) {
			return fmt.Errorf("in state %d article %d leads to %v, want %v", state, i, one, want)
		}
		if most >= 0 {
			want = want[:min(most, len(want))]
		}
		var together []uint64
		for _, row := range all.Of(k) {
			together = append(together, all.Rows[row].Doc())
		}
		if fmt.Sprint(together) != fmt.Sprint(want) {
			return fmt.Errorf("in state %d article %d leads to %v of %d, want %v", state, i, together, most, want)
		}
	}
	return nil
}
