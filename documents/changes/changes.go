// Package changes reads what has happened to documents: the change feed. It shows exactly what a caller may find, from
// the log of the store.
//
// A reader begins without a position and asks for one page after the other, each behind the last one:
//
//	q := changes.Query{Access: access, Limit: 1000}
//	err := st.View(func(s *store.Snapshot) error {
//		page, err := changes.Read(s, &q)
//		…
//		q.Since = page.Next
//		return err
//	})
//
// The first pages list all documents, as created. Later pages have what changed since. A reader that carries out what
// the pages say has the same documents as a list of the content API, as soon as a page has nothing pending: it puts
// each document that was created, updated, published or unpublished, and removes each that was deleted.
//
//   - A document counts as deleted when the reader no longer sees it, for whatever reason: it was deleted, its
//     published version was withdrawn and the reader sees only those, or the reader lost the permission to find its
//     type. It counts as created when the reader sees it for the first time, and also when the reader gets the
//     permission.
//   - Several changes of a document in a page become one, unless Query.Each is set. The order is that of the last
//     change of each.
//   - Where a rule limits which documents the reader may find, one that begins to meet the rule is created for the
//     reader, one that no longer does is deleted, and others do not show at all: not in Page.Pending, nor in the text of
//     a Position. That holds for what a rule compares behind relations, too. The reader begins anew after a change of
//     its rules. Time alone changes nothing.
//   - While the first documents are listed, content may change, and each page shows them as they are then. The pages
//     after them begin at the state in which the first page was read. So a reader may get a change twice, but it misses
//     nothing.
//
// A Position is opaque, and holds for the Filter that it was made with. A reader whose position the log no longer
// reaches gets a page with Reset, and has to begin anew. To wait for changes, see store.Store.NextCommit.
//
// A Position is one of the log and what its reader has: the types that it could find, and how far it is in a walk
// through the documents of a type. So a reader without a position, one who gets a permission and one who loses it are
// served by the same mechanism. Types that the reader has and may not find are walked through as deletions, before the
// log is read further; types that it may find and does not have are walked through at the head of the log. Later pages
// of a walk read later states, and the log is read from where the walk began.
package changes

import (
	"errors"
	"hash/fnv"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A Filter selects changes.
type Filter struct {
	Types   []*contenttypes.ContentType // nil: all types that are not built in
	Locales []string                    // of localized types; nil: all
	// Status selects the versions whose changes are read. Readers of drafts also see that a document is published and
	// unpublished. Types without drafts have only published versions, which both kinds of readers see.
	Status store.Status
}

// A Query asks for a page of changes.
type Query struct {
	Filter
	Access *permission.Access // what the reader may find now
	Since  Position           // the zero Position begins with all documents
	Limit  int                // how many changes the page has at most
	Each   bool               // list each change on its own
}

// A Change says what happened to a document in one locale.
type Change struct {
	Position   Position // behind the change: a reader may go on from here
	Type       *contenttypes.ContentType
	DocumentID string
	Locale     string // "" if the type is not localized
	Action     store.Action
	Time       time.Time
}

// A Page is a part of the changes.
type Page struct {
	Changes []Change
	Next    Position // behind the page
	// Pending is about how many changes follow. It counts changes that the reader may not see too, unless rules limit
	// what the reader may find: then it says no more than whether some follow. It is 0 if and only if the reader has
	// all that the snapshot has.
	Pending uint64
	// Reset says that the log does not reach back to Query.Since, or that other rules hold for the reader than there.
	// The reader has to drop what it has and begin at Next, which is the zero Position.
	Reset bool
}

// maxWork is how many changes of the log, and documents that a rule hides, are read for one page at most.
const maxWork = 20_000

// errReset ends a page whose position the log does not reach.
var errReset = errors.New("begin anew")

// Read returns the next page of changes. It may have none although some are pending.
func Read(s *store.Snapshot, q *Query) (Page, error) {
	r, err := newReader(s, q)
	for more := true; more && err == nil; {
		more, err = r.next()
	}
	if err == nil {
		err = s.Err()
	}
	switch {
	case errors.Is(err, errReset), errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrOtherEpoch),
		errors.Is(err, store.ErrConverted):
		r.at = Position{}
		return Page{Reset: true, Pending: max(1, r.countVisible())}, s.Err()
	case err != nil:
		return Page{}, err
	}
	r.bindRules()
	r.page.Next = r.at
	r.page.Pending, err = r.pending()
	return r.page, err
}

// Now returns the position behind all changes in the snapshot, for a reader that wants none of the documents that are
// there.
func Now(s *store.Snapshot, q *Query) (Position, error) {
	head, err := s.Position()
	r := reader{snap: s, query: q, rules: q.rulesOf(s.Model())}
	r.at = Position{Position: head, filter: q.fingerprint(), types: r.visibleTypes()}
	r.bindRules()
	return r.at, err
}

// Sees reports whether the reader may find any of the types it asks for.
func (q *Query) Sees(m *contenttypes.Model) bool {
	return slices.ContainsFunc(q.types(m), q.Finds)
}

// Finds reports whether the reader may find documents of t, and read the versions that it asks for.
func (q *Query) Finds(t *contenttypes.ContentType) bool {
	return q.Access.Allows(t, "find") && q.Access.Reads(t, q.Status, nil)
}

// types returns the types that the filter selects.
func (f *Filter) types(m *contenttypes.Model) []*contenttypes.ContentType {
	if f.Types != nil {
		return f.Types
	}
	var list []*contenttypes.ContentType
	for _, t := range m.Types {
		if !t.BuiltIn {
			list = append(list, t)
		}
	}
	return list
}

// fingerprint returns a number, never 0, that tells filters apart by status and locales.
func (f *Filter) fingerprint() uint32 {
	h := fnv.New32a()
	h.Write([]byte{byte(f.Status)})
	locales := slices.Sorted(slices.Values(f.Locales))
	for _, code := range slices.Compact(locales) {
		h.Write(append([]byte(code), 0))
	}
	return h.Sum32() | 1
}

// A reader reads one page.
type reader struct {
	snap    *store.Snapshot
	query   *Query
	at      Position // behind what was read
	head    uint64   // the last sequence in the snapshot
	visible typeSet  // the types that the reader may find and asks for
	page    Page
	work    int // what counts to maxWork
	// rules limit which documents of some types the reader sees; nil if it sees all. around is for the entry that is
	// read.
	rules  map[*contenttypes.ContentType]*rule
	around sightings
	every  map[*contenttypes.ContentType]docSet // what everyDoc returned
}

func newReader(s *store.Snapshot, q *Query) (*reader, error) {
	r := &reader{snap: s, query: q, at: q.Since, rules: q.rulesOf(s.Model())}
	r.visible = r.visibleTypes()
	if err := r.covers(); err != nil {
		return r, err
	}
	head, err := s.Position()
	if err != nil {
		return r, err
	}
	r.head = head.Sequence
	switch filter := q.fingerprint(); {
	case r.at == Position{}:
		r.at = Position{Position: head, filter: filter}
	case r.at.filter == 0 && r.rules != nil: // it tells how much is in the log
		return r, errReset
	case r.at.filter == 0: // it is a position of the log, which does not tell what the reader has
		r.at = Position{Position: r.at.Position, filter: filter, types: r.visible}
	case r.at.filter != filter:
		return r, errReset
	}
	for number := range r.at.types.each() {
		if s.NumberedType(number) == nil {
			return r, errReset // nothing tells which documents the type had
		}
	}
	if _, err = s.Entries(r.at.Position); err == nil {
		err = r.checkRules()
	}
	return r, err
}

// covers returns an error if the filter names what a partial replica does not have.
func (r *reader) covers() error {
	for _, t := range r.query.types(r.snap.Model()) {
		if r.query.Types == nil && !r.snap.Part().HasType(t) {
			continue
		}
		locales := store.LocaleSet{All: r.query.Locales == nil, Codes: r.query.Locales}
		if err := r.snap.Covers(&store.Query{Type: t, Status: r.query.Status, Locales: locales}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) visibleTypes() (set typeSet) {
	for _, t := range r.query.types(r.snap.Model()) {
		if r.query.Finds(t) {
			set = set.with(r.snap.TypeNumber(t))
		}
	}
	return set
}

// next reads more of the page, and reports whether to go on. First come the documents of types that the reader may no
// longer find, then the log, and then the documents of types that the reader has not got yet.
func (r *reader) next() (more bool, err error) {
	if r.full() {
		return false, nil
	}
	r.bindRules()
	w := &r.at.walk
	switch {
	case w.kind != 0 && r.visible.has(w.typ) != (w.kind == adding): // the permission has changed again
		*w = walk{kind: adding + removing - w.kind, typ: w.typ}
	case w.kind == adding:
		r.add()
	case w.kind == removing:
		err = r.remove()
	default:
		if lost, ok := r.at.types.firstWithout(r.visible); ok {
			r.at.types = r.at.types.without(lost)
			*w = walk{kind: removing, typ: lost}
		} else if r.at.Sequence < r.head {
			return r.readLog()
		} else if gained, ok := r.visible.firstWithout(r.at.types); ok {
			*w = walk{kind: adding, typ: gained}
		} else {
			return false, nil
		}
	}
	return true, err
}

// full reports whether the page must end: it has as many changes as it may have, or was too much work.
func (r *reader) full() bool {
	return len(r.page.Changes) >= max(1, r.query.Limit) || r.work >= maxWork
}

// put adds a change behind which the reader is now.
func (r *reader) put(c Change) {
	r.bindRules()
	c.Position = r.at
	r.page.Changes = append(r.page.Changes, c)
}

// pending returns about how many changes follow the page.
func (r *reader) pending() (n uint64, err error) {
	n = r.head - r.at.Sequence
	if r.rules != nil {
		n = min(n, 1)
	}
	if w := r.at.walk; w.kind == adding {
		if total := r.count(w.typ); total > w.done {
			n += total - w.done
		}
	}
	if r.at.walk.kind != 0 {
		n = max(n, 1)
	}
	for number := range r.visible.each() {
		if !r.at.types.has(number) && number != r.at.walk.typ {
			n += max(1, r.count(number))
		}
	}
	for number := range r.at.types.each() {
		if !r.visible.has(number) {
			n += max(1, r.count(number))
		}
	}
	return n, r.snap.Err()
}

// countVisible returns how many documents the reader sees in all.
func (r *reader) countVisible() (n uint64) {
	for number := range r.visible.each() {
		n += r.count(number)
	}
	return n
}

// count returns how many documents of a type the filter selects. One counts in each of its locales. It returns 1 if a
// rule limits which of them the reader sees.
func (r *reader) count(number uint16) uint64 {
	if r.rules[r.snap.NumberedType(number)] != nil {
		return 1
	}
	locales := store.LocaleSet{All: r.query.Locales == nil, Codes: r.query.Locales}
	page, err := r.snap.Find(&store.Query{Type: r.snap.NumberedType(number), Status: r.query.Status, Locales: locales,
		Count: true})
	if err != nil {
		return 0 // the snapshot keeps the error
	}
	return uint64(page.Total)
}
