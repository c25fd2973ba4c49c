package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"lectern/jsontree"
	"lectern/store"
)

// linkTwin is a naive model of the links of one attribute in one link set.
type linkTwin []store.Link

// list returns the links of one end in order, as the store must return them.
func (twin linkTwin) list(of store.Ref, end func(store.Link) store.Ref, pos func(store.Link) uint64) []store.Link {
	list := []store.Link{}
	for _, l := range twin {
		if end(l) == of {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b store.Link) int { return cmp.Compare(pos(a), pos(b)) })
	return list
}

func from(l store.Link) store.Ref { return l.From }
func to(l store.Link) store.Ref   { return l.To }
func fromPos(l store.Link) uint64 { return l.FromPos }
func toPos(l store.Link) uint64   { return l.ToPos }
func gather(list *[]store.Link) func(store.Link) bool {
	return func(l store.Link) bool { *list = append(*list, l); return true }
}

// TestATransactionSeesItsLinks applies random batches, several in each transaction, and compares all lists of links
// with a naive model after each batch and after each commit.
func TestATransactionSeesItsLinks(t *testing.T) {
	s := newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags := article.Attribute("tags")
	var articles, targets []store.Ref
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for range 4 {
			from, to := tx.NewDoc(), tx.NewDoc()
			articles = append(articles, store.Ref{Type: article.UID, Doc: from, Locale: "en"})
			targets = append(targets, store.Ref{Type: tag.UID, Doc: to})
			b.PutRow(newRow(tx, article, from, store.Published, "en", nil))
			b.PutRow(newRow(tx, tag, to, store.Published, "", nil))
		}
		return tx.Apply(&b)
	})
	var twin linkTwin
	compare := func(t *rapid.T, snap *store.Snapshot) {
		for _, end := range []struct {
			refs []store.Ref
			each func(store.Ref, func(store.Link) bool)
			last func(store.Ref) uint64
			end  func(store.Link) store.Ref
			pos  func(store.Link) uint64
		}{
			{articles, func(r store.Ref, f func(store.Link) bool) { snap.LinksFrom(tags, store.PublishedLinks, r, f) },
				func(r store.Ref) uint64 { return snap.LastFromPos(tags, store.PublishedLinks, r) }, from, fromPos},
			{targets, func(r store.Ref, f func(store.Link) bool) { snap.LinksTo(tags, store.PublishedLinks, r, f) },
				func(r store.Ref) uint64 { return snap.LastToPos(tags, store.PublishedLinks, r) }, to, toPos},
		} {
			for _, ref := range end.refs {
				got, want := []store.Link{}, twin.list(ref, end.end, end.pos)
				end.each(ref, gather(&got))
				if !slices.Equal(got, want) {
					t.Fatalf("links of %v are %v, want %v", ref, got, want)
				}
				last := uint64(0)
				if len(want) > 0 {
					last = end.pos(want[len(want)-1])
				}
				if p := end.last(ref); p != last {
					t.Fatalf("the last position of %v is %d, want %d", ref, p, last)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		write := func(f func(tx *store.Tx) error) {
			if err := s.Write(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *store.Tx) error {
			for range rapid.IntRange(1, 5).Draw(t, "batches") {
				var b store.Batch
				for range rapid.IntRange(0, 6).Draw(t, "cut") {
					if len(twin) == 0 {
						break
					}
					i := rapid.IntRange(0, len(twin)-1).Draw(t, "which")
					b.DeleteLink(twin[i])
					twin = slices.Delete(twin, i, i+1)
				}
				for range rapid.IntRange(0, 6).Draw(t, "put") {
					l := store.Link{
						Attr: tags, From: rapid.SampledFrom(articles).Draw(t, "from"),
						To:      rapid.SampledFrom(targets).Draw(t, "to"),
						FromPos: rapid.Uint64Range(1, 12).Draw(t, "fromPos"),
						ToPos:   rapid.Uint64Range(1, 12).Draw(t, "toPos"),
					}
					taken := slices.ContainsFunc(twin, func(o store.Link) bool {
						return o.From == l.From && o.FromPos == l.FromPos || o.To == l.To && o.ToPos == l.ToPos
					})
					if !taken {
						b.PutLink(l)
						twin = append(twin, l)
					}
				}
				if err := tx.Apply(&b); err != nil {
					return err
				}
				compare(t, tx.Snapshot)
			}
			return nil
		})
		if err := s.View(func(snap *store.Snapshot) error { compare(t, snap); return nil }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestABucketIsWalkedOnce applies many batches with interleaving links in one transaction. The transaction must walk
// over each bucket once to put them into the file.
func TestABucketIsWalkedOnce(t *testing.T) {
	s := newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags := article.Attribute("tags")
	before := s.Stats()
	const targets, batches = 5, 200
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		first := tx.NewDoc()
		for i := range targets {
			doc := first
			if i > 0 {
				doc = tx.NewDoc()
			}
			b.PutRow(newRow(tx, tag, doc, store.Published, "", nil))
		}
		if err := tx.Apply(&b); err != nil {
			return err
		}
		for i := range batches {
			var b store.Batch
			doc := tx.NewDoc()
			b.PutRow(newRow(tx, article, doc, store.Published, "en", nil))
			for k := range uint64(targets) {
				to := store.Ref{Type: tag.UID, Doc: first + k}
				if got, want := tx.LastToPos(tags, store.PublishedLinks, to), uint64(i); got != want {
					return fmt.Errorf("after %d batches the last position is %d", i, got)
				}
				b.PutLink(store.Link{
					Attr: tags, From: store.Ref{Type: article.UID, Doc: doc, Locale: "en"}, To: to,
					FromPos: k + 1, ToPos: uint64(i + 1),
				})
			}
			if err := tx.Apply(&b); err != nil {
				return err
			}
		}
		return nil
	})
	if n := s.Stats().Flushes - before.Flushes; n != 2 {
		t.Errorf("%d walks over buckets, want one for documents and one for links", n)
	}
}

// TestLongEntriesShareNoTransaction deletes long rows concurrently. Each deletion is short, and its entry of the log is
// as long as the row.
func TestLongEntriesShareNoTransaction(t *testing.T) {
	s := newStore(t)
	tag := s.Model().Type("api::tag.tag")
	const heavy, length = 6, 2000
	docs := make([]uint64, heavy)
	rnd := rand.New(rand.NewPCG(1, 1))
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		var b store.Batch
		for i := range docs {
			name := make([]byte, length) // which the entry cannot compress
			for k := range name {
				name[k] = byte('0' + rnd.IntN(64))
			}
			docs[i] = tx.NewDoc()
			b.PutRow(newRow(tx, tag, docs[i], store.Published, "",
				map[string]string{"name": string(jsontree.AppendString(nil, string(name)))}))
		}
		return tx.Apply(&b)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.EnteredBy(length)()
	before, waiting := s.Stats(), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // keeps the writer until the others wait
		if err := s.Write(t.Context(), func(*store.Tx) error { <-waiting; return nil }); err != nil {
			t.Error(err)
		}
	})
	for _, doc := range docs {
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				var b store.Batch
				b.DeleteRow(tag, doc, store.Published, "")
				return tx.Apply(&b)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(waiting)
	wg.Wait()
	if after := s.Stats(); after.Writes-before.Writes != heavy || after.Commits-before.Commits != heavy {
		t.Errorf("%d writes in %d transactions, want %d in as many", after.Writes-before.Writes,
			after.Commits-before.Commits, heavy)
	}
}

// TestHeavyWritesShareNoTransaction carries out concurrent writes that each fill the buffers of a transaction. Each
// must get a transaction of its own, and a write that fails must not make another fail.
func TestHeavyWritesShareNoTransaction(t *testing.T) {
	s := newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags := article.Attribute("tags")
	const heavy, links = 6, 30
	defer store.BufferedBy(2 * links)()
	boom := errors.New("boom")
	before := s.Stats()
	waiting := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // keeps the writer until the others wait
		if err := s.Write(t.Context(), func(*store.Tx) error { <-waiting; return nil }); err != nil {
			t.Error(err)
		}
	})
	for i := range heavy {
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				var b store.Batch
				from, to := tx.NewDoc(), tx.NewDoc()
				b.PutRow(newRow(tx, article, from, store.Published, "en", nil))
				b.PutRow(newRow(tx, tag, to, store.Published, "", nil))
				for k := range uint64(links) {
					b.PutLink(store.Link{
						Attr: tags, From: store.Ref{Type: article.UID, Doc: from, Locale: "en"},
						To:      store.Ref{Type: tag.UID, Doc: to},
						FromPos: k + 1, ToPos: k + 1,
					})
				}
				if err := tx.Apply(&b); err != nil {
					return err
				}
				if i == 0 {
					return boom
				}
				return nil
			})
			if i == 0 && !errors.Is(err, boom) || i > 0 && err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	close(waiting)
	wg.Wait()
	after := s.Stats()
	if writes, commits := after.Writes-before.Writes, after.Commits-before.Commits; writes != heavy-1 ||
		commits != heavy-1 {
		t.Errorf("%d writes in %d transactions, want %d in as many", writes, commits, heavy-1)
	}
	if page := find(t, s, &store.Query{Type: tag, Limit: -1}); len(page.Docs) != heavy-1 {
		t.Errorf("%d tags, want %d", len(page.Docs), heavy-1)
	}
}

// TestIndexChangesOfOneKey changes the titles of rows in one transaction and then gives them back, so that each entry
// of the index is removed and added again. The last change of an entry counts.
func TestIndexChangesOfOneKey(t *testing.T) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	title, id := article.Attribute("title"), article.Attribute("id")
	rows := make([]*store.Row, 60)
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range rows {
			rows[i] = newRow(tx, article, tx.NewDoc(), store.Published, "en",
				map[string]string{"title": fmt.Sprintf(`"title %d"`, i)})
			b.PutRow(rows[i])
		}
		return tx.Apply(&b)
	})
	write(t, s, func(tx *store.Tx) error {
		for _, suffix := range []string{" changed", ""} {
			var b store.Batch
			for i, r := range rows {
				next := newRow(tx, article, r.Doc, store.Published, "en",
					map[string]string{"title": fmt.Sprintf(`"title %d%s"`, i, suffix)})
				next.Values[id.Index] = r.Values[id.Index]
				b.PutRow(next)
			}
			if err := tx.Apply(&b); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		title string
		found bool
	}{{"title 7", true}, {"title 7 changed", false}} {
		page := find(t, s, &store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: 1,
			Filter: store.Compare{Attr: title, Op: store.Eq, Values: []any{c.title}}})
		if (len(page.Docs) > 0) != c.found {
			t.Errorf("%d rows have the title %q", len(page.Docs), c.title)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
