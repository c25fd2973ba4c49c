package changes

import (
	"cmp"
	"math"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/store"
)

// add goes on with the documents of a type that the reader may find now.
func (r *reader) add() {
	w := &r.at.walk
	t := r.snap.NumberedType(w.typ)
	rule := r.rules[t]
	for _, locale := range r.locales(t) {
		r.snap.VersionsAfter(t, r.query.Status, locale, w.doc, func(row store.Record) bool {
			if r.full() {
				return false
			}
			w.doc = row.Doc()
			if rule != nil && !r.shows(rule, row, r.snap) {
				r.work++
				return true
			}
			w.done++
			if r.head > r.at.Sequence {
				r.at.ahead = r.head
			}
			r.put(Change{Type: t, DocumentID: row.DocumentID(), Locale: locale, Action: store.Created,
				Time: updatedAt(row)})
			return true
		})
		if r.full() || r.snap.Err() != nil {
			return
		}
		w.locale++
		w.doc = 0
	}
	r.at.types, r.at.walk = r.at.types.with(w.typ), walk{}
}

// locales returns the locales in which a walk goes on through a type. Locales that the filter does not select are "",
// in which a localized type has nothing, so that the number of a locale is its index.
func (r *reader) locales(t *contenttypes.ContentType) []string {
	list := []string{""}
	if t.Localized {
		list = slices.Clone(r.snap.Locales())
		for i, code := range list {
			if !r.query.inLocale(code) {
				list[i] = ""
			}
		}
	}
	return list[min(int(r.at.walk.locale), len(list)):]
}

// remove goes on with the documents of a type that the reader may no longer find. They are those that it can have:
// without the permission it must not learn of later ones.
func (r *reader) remove() error {
	w := &r.at.walk
	t := r.snap.NumberedType(w.typ)
	since, err := r.changedSince(t)
	if err != nil {
		return err
	}
	for _, locale := range r.locales(t) {
		if err := r.removeAllIn(t, locale, since); err != nil || r.full() {
			return err
		}
		w.locale++
		w.doc = 0
	}
	*w = walk{}
	return nil
}

// removeAllIn goes on in a locale, until the page is full. Of a type that the reader does not ask for any more it
// removes the documents that a rule shows, or did.
func (r *reader) removeAllIn(t *contenttypes.ContentType, locale string, since *since) error {
	rule := r.rules[t]
	if rule == nil {
		r.removeIn(t, locale, since, func(uint64) bool { return true })
		return r.snap.Err()
	}
	return r.snap.ViewAt(r.at.Sequence, func(then *store.Snapshot) error {
		r.removeIn(t, locale, since, func(doc uint64) bool {
			r.work++
			return r.shows(rule, r.snap.Version(t, doc, r.query.Status, locale), r.snap) ||
				r.shows(rule, then.Version(t, doc, r.query.Status, locale), then)
		})
		return r.snap.Err()
	})
}

// removeIn goes on in a locale, until the page is full. It merges the documents that are there with those that were,
// and leaves out those that the reader never had.
func (r *reader) removeIn(t *contenttypes.ContentType, locale string, since *since, had func(doc uint64) bool) {
	w := &r.at.walk
	// next removes one document, and reports whether to go on.
	next := func(doc uint64, id string) bool {
		if r.full() {
			return false
		}
		if w.doc = doc; !since.added[versionOf{locale, doc}] && had(doc) {
			w.done++
			r.put(Change{Type: t, DocumentID: id, Locale: locale, Action: store.Deleted, Time: since.time})
		}
		return true
	}
	gone := since.gone[locale]
	until := func(doc uint64) bool {
		for ; len(gone) > 0 && gone[0].Doc < doc; gone = gone[1:] {
			if gone[0].Doc > w.doc && !next(gone[0].Doc, gone[0].DocumentID) {
				return false
			}
		}
		return true
	}
	goesOn := true
	r.snap.VersionsAfter(t, r.query.Status, locale, w.doc, func(row store.Record) bool {
		goesOn = until(row.Doc()) && next(row.Doc(), row.DocumentID())
		return goesOn
	})
	if goesOn {
		until(math.MaxUint64)
	}
}

// A versionOf names a version of a type with the status that the reader asks for.
type versionOf struct {
	locale string
	doc    uint64
}

// since says how the versions of a type differ from those at the position of the reader.
type since struct {
	added map[versionOf]bool                // the versions that were not there, and that no walk of the reader can have met
	gone  map[string][]*store.VersionChange // by locale, in order of their documents: the versions that are not there now
	time  time.Time                         // of the snapshot
}

// changedSince reads from the log how the versions of a type have changed since the position of the reader.
func (r *reader) changedSince(t *contenttypes.ContentType) (*since, error) {
	found := &since{added: map[versionOf]bool{}, gone: map[string][]*store.VersionChange{}, time: time.Now()}
	entries, err := r.snap.Entries(r.at.Position)
	if err != nil {
		return nil, err
	}
	seen := map[versionOf]bool{}
	skip := r.at.skip
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		list, err := r.snap.VersionChanges(e)
		if err != nil {
			return nil, err
		}
		for _, c := range list[min(skip, uint64(len(list))):] {
			key := versionOf{c.Locale, c.Doc}
			if c.Type != t || t.DraftAndPublish && c.Status != r.query.Status || seen[key] {
				continue
			}
			seen[key], found.added[key] = true, c.New && e.Sequence > r.at.ahead
			if !r.snap.Version(t, c.Doc, c.Status, c.Locale).Exists() {
				found.gone[c.Locale] = append(found.gone[c.Locale], &c)
			}
		}
		skip = 0
	}
	for _, list := range found.gone {
		slices.SortFunc(list, func(a, b *store.VersionChange) int { return cmp.Compare(a.Doc, b.Doc) })
	}
	return found, nil
}

// updatedAt returns when a row was last changed, the zero time if it does not say.
func updatedAt(r store.Record) time.Time {
	text := r.JSON(r.Type().Attribute("updatedAt"))
	at, err := time.Parse(`"`+time.RFC3339+`"`, string(text))
	if err != nil {
		return time.Time{}
	}
	return at
}
