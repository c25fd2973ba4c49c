package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"lectern/store"
)

// touched returns what the entries of the log did to versions, one text for each change.
func touched(t *testing.T, s *store.Store) (list []string) {
	t.Helper()
	inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
		for _, e := range log {
			changes, err := snap.VersionChanges(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				list = append(list, fmt.Sprintf("%s %s %d %s %q %s", c.Type.Singular,
					c.DocumentID[len(c.DocumentID)-2:], c.Doc,
					map[store.Status]string{store.Draft: "draft", store.Published: "published"}[c.Status], c.Locale,
					c.Action)+map[bool]string{true: " new"}[c.New])
			}
		}
	})
	return list
}

// TestVersionChanges makes each change that there is, removes the documents, and then reads from the log alone what
// happened. It reads the same after the store was opened anew.
func TestVersionChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	var doc, other, named uint64
	var ids = map[store.Status]string{}
	put := func(tx *store.Tx, b *store.Batch, status store.Status, again bool) {
		r := newRow(tx, article, doc, status, "en", nil)
		if id := article.Attribute("id").Index; again {
			r.Values[id].JSON = []byte(ids[status])
		} else {
			ids[status] = string(r.Values[id].JSON)
		}
		b.PutRow(r)
	}
	for _, step := range []func(tx *store.Tx, b *store.Batch){
		func(tx *store.Tx, b *store.Batch) { doc = tx.NewDoc(); put(tx, b, store.Draft, false) },
		func(tx *store.Tx, b *store.Batch) { put(tx, b, store.Draft, true) },
		func(tx *store.Tx, b *store.Batch) { put(tx, b, store.Published, false) },
		func(tx *store.Tx, b *store.Batch) { put(tx, b, store.Published, true) },
		func(tx *store.Tx, b *store.Batch) { put(tx, b, store.Published, false) },
		func(tx *store.Tx, b *store.Batch) { b.DeleteRow(article, doc, store.Published, "en") },
		func(tx *store.Tx, b *store.Batch) {
			put(tx, b, store.Published, false)
			other, named = tx.NewDoc(), tx.NewDoc()
			b.PutRow(newRow(tx, article, other, store.Draft, "de", nil))
			b.PutRow(newRow(tx, tag, named, store.Published, "", nil))
		},
		func(tx *store.Tx, b *store.Batch) {
			b.DeleteRow(article, doc, store.Published, "en")
			b.DeleteRow(article, doc, store.Draft, "en")
			b.DeleteRow(article, other, store.Draft, "de")
			b.DeleteRow(tag, named, store.Published, "")
		},
	} {
		write(t, s, func(tx *store.Tx) error {
			var b store.Batch
			step(tx, &b)
			return tx.Apply(&b)
		})
	}
	want := []string{
		`article 01 1 draft "en" create new`,
		`article 01 1 draft "en" update`,
		`article 01 1 published "en" publish new`,
		`article 01 1 published "en" update`,
		`article 01 1 published "en" publish`,
		`article 01 1 published "en" unpublish`,
		`article 01 1 published "en" publish new`, `article 02 2 draft "de" create new`,
		`tag 03 3 published "" create new`,
		`article 01 1 published "en" delete`, `article 01 1 draft "en" delete`, `article 02 2 draft "de" delete`,
		`tag 03 3 published "" delete`,
	}
	if got := touched(t, s); !slices.Equal(got, want) {
		t.Errorf("the log tells %q, want %q", got, want)
	}
	closeChecked(t, s)
	s = open(t, path)
	if got := touched(t, s); !slices.Equal(got, want) {
		t.Errorf("opened anew, the log tells %q, want %q", got, want)
	}
	closeChecked(t, s)
}

// TestNextCommit waits for commits. All who wait share a channel; a write that fails or changes nothing closes it not.
func TestNextCommit(t *testing.T) {
	s := newStore(t)
	next := s.NextCommit()
	if s.NextCommit() != next {
		t.Error("a second reader waits for another channel")
	}
	write(t, s, func(*store.Tx) error { return nil })
	select {
	case <-next:
		t.Error("a write without a change has closed the channel")
	default:
	}
	for range 3 {
		next, before := s.NextCommit(), s.Revision()
		seen := make(chan uint64)
		go func() { <-next; seen <- s.Revision() }()
		if err := putTag(t.Context(), s, 9); err != nil {
			t.Fatal(err)
		}
		if after := <-seen; after != before+1 {
			t.Errorf("a reader that was woken sees revision %d after %d", after, before)
		}
	}
	next = s.NextCommit()
	if err := s.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-next
	closeChecked(t, s)
}
