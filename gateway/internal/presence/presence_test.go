package presence

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lectern/store"
)

// TestBounds opens many documents as one person and as many, with long names.
func TestBounds(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	b := New(func() time.Time { return now })
	ann := store.Principal{Kind: "user", Name: "ann"}
	ben := store.Principal{Kind: "user", Name: "b" + strings.Repeat("é", 1000)}
	document := func(i int) Document { return Document{Type: "api::a.a", ID: fmt.Sprint(i)} }
	for i := range maxOpen + 10 {
		now = now.Add(time.Millisecond)
		b.Open(document(i), ann, false)
	}
	if b.visits != maxOpen || len(b.Open(document(9), ben, false)) != 0 || len(b.Open(document(10), ben, false)) != 1 {
		t.Errorf("ann has %d documents open, and not the last ones", b.visits-2)
	}
	if seen := b.Open(document(10), ann, false); len(seen) != 1 || len(seen[0].By.Name) > maxName || !utf8.ValidString(seen[0].By.Name) {
		t.Errorf("ann sees %v", seen)
	}
	for i := range maxVisits {
		b.Open(document(0), store.Principal{Kind: "user", Name: fmt.Sprint(i)}, false)
	}
	if seen := b.Open(document(0), ann, false); len(seen) != maxPeople {
		t.Errorf("%d people at one document", len(seen))
	}
	for i := range maxVisits {
		b.Open(document(i), store.Principal{Kind: "user", Name: fmt.Sprint("other ", i)}, false)
	}
	if b.visits != maxVisits {
		t.Errorf("%d visits", b.visits)
	}
	now = now.Add(Life)
	b.Open(document(0), ann, false)
	if b.visits != 1 || len(b.documents) != 1 || len(b.people) != 1 {
		t.Errorf("%d visits of %d people to %d documents once the others have ended", b.visits, len(b.people), len(b.documents))
	}
	b.Leave(document(0), ann)
	b.Leave(document(0), ann)
	if b.visits != 0 || len(b.documents) != 0 || len(b.people) != 0 {
		t.Errorf("%d visits of %d people to %d documents once all have left", b.visits, len(b.people), len(b.documents))
	}
}
