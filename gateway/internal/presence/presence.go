// Package presence knows who has which document open. It keeps this in memory alone, for as long as the people's pages
// go on saying so.
package presence

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lectern/store"
)

// Life is how long somebody counts as there after they have said so. Browsers let a page that is out of view do
// something once a minute.
const Life = 90 * time.Second

// These bound what a Board keeps.
const (
	maxVisits = 10_000
	maxPeople = 100 // at one document
	maxOpen   = 50  // documents of one person; those that they have said nothing about for longest go first
	maxName   = 200 // bytes
)

// A Document is a document in one language.
type Document struct{ Type, ID, Locale string }

// A Visit is the time for which somebody has a document open.
type Visit struct {
	By      store.Principal
	Since   time.Time
	Unsaved bool // they have changed it without saving

	ends time.Time
}

// A Board knows who has which document open. It is safe for concurrent use.
type Board struct {
	now func() time.Time

	mu        sync.Mutex
	documents map[Document]map[store.Principal]Visit
	people    map[store.Principal]map[Document]struct{}
	visits    int
	swept     time.Time // when the visits that have ended were last removed
}

// New returns a Board of nobody.
func New(now func() time.Time) *Board {
	return &Board{now: now, documents: map[Document]map[store.Principal]Visit{},
		people: map[store.Principal]map[Document]struct{}{}}
}

// Open notes that somebody has a document open, for Life, and returns who else has, those who came first at the front.
// Where there are too many, nobody else is noted.
func (b *Board) Open(d Document, by store.Principal, unsaved bool) []Visit {
	by = shortened(by)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.sweep(now)
	visit, known := b.documents[d][by]
	if !known || !visit.lasts(now) {
		visit.Since = now
	}
	if !known && len(b.people[by]) >= maxOpen {
		b.leave(b.oldest(by), by)
	}
	if known || b.visits < maxVisits && len(b.documents[d]) < maxPeople {
		visit.By, visit.Unsaved, visit.ends = by, unsaved, now.Add(Life)
		b.note(d, visit, known)
	}
	return b.others(d, by, now)
}

// Leave notes that somebody has closed a document.
func (b *Board) Leave(d Document, by store.Principal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave(d, shortened(by))
}

func (v *Visit) lasts(now time.Time) bool { return now.Before(v.ends) }

// shortened bounds the bytes of a principal.
func shortened(by store.Principal) store.Principal {
	by.Name = strings.ToValidUTF8(by.Name[:min(len(by.Name), maxName)], "")
	return by
}

func (b *Board) note(d Document, visit Visit, known bool) {
	if b.documents[d] == nil {
		b.documents[d] = map[store.Principal]Visit{}
	}
	b.documents[d][visit.By] = visit
	if known {
		return
	}
	if b.people[visit.By] == nil {
		b.people[visit.By] = map[Document]struct{}{}
	}
	b.people[visit.By][d] = struct{}{}
	b.visits++
}

func (b *Board) leave(d Document, by store.Principal) {
	if _, ok := b.documents[d][by]; !ok {
		return
	}
	b.visits--
	if delete(b.documents[d], by); len(b.documents[d]) == 0 {
		delete(b.documents, d)
	}
	if delete(b.people[by], d); len(b.people[by]) == 0 {
		delete(b.people, by)
	}
}

// oldest returns the document of a person whose visit ends first.
func (b *Board) oldest(by store.Principal) (first Document) {
	var ends time.Time
	for d := range b.people[by] {
		if at := b.documents[d][by].ends; ends.IsZero() || at.Before(ends) {
			first, ends = d, at
		}
	}
	return first
}

// sweep removes the visits that have ended, now and then.
func (b *Board) sweep(now time.Time) {
	if now.Before(b.swept.Add(Life)) && !now.Before(b.swept) {
		return
	}
	b.swept = now
	for d, visits := range b.documents {
		for by, visit := range visits {
			if !visit.lasts(now) {
				b.leave(d, by)
			}
		}
	}
}

func (b *Board) others(d Document, by store.Principal, now time.Time) []Visit {
	visits := slices.Collect(maps.Values(b.documents[d]))
	visits = slices.DeleteFunc(visits, func(v Visit) bool { return v.By == by || !v.lasts(now) })
	slices.SortFunc(visits, func(v, w Visit) int {
		return cmp.Or(v.Since.Compare(w.Since), cmp.Compare(v.By.Kind, w.By.Kind), cmp.Compare(v.By.Name, w.By.Name))
	})
	return visits
}
