package changes

import (
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// A document names what a change is about.
type document struct {
	typ        *contenttypes.ContentType
	documentID string
	locale     string
}

// A folded is what the changes of a document in a page have become.
type folded struct {
	Change
	began store.Action // its first change in the page, if that made it; otherwise Deleted
	moved bool         // the document has changed again, and the later change stands for all
}

// A fold collects the changes of a page.
type fold struct {
	list []folded
	last map[document]int // the index in list of each document
}

// readLog reads the log up to the head, or until the page is full. more is false if it did so much work that the page
// ends.
func (r *reader) readLog() (more bool, err error) {
	entries, err := r.snap.Entries(r.at.Position)
	if err != nil {
		return false, err
	}
	f := fold{last: map[document]int{}}
	more = true
	for e, err := range entries {
		if err != nil {
			return false, err
		}
		if more, err = r.readEntry(e, &f); err != nil {
			return false, err
		}
		if !more || r.work >= maxWork {
			more = false
			break
		}
	}
	for i := range f.list {
		if !f.list[i].moved {
			r.page.Changes = append(r.page.Changes, f.list[i].Change)
		}
	}
	return more, nil
}

// readEntry adds the changes of the next entry. more is false if the page has no room for all of them.
func (r *reader) readEntry(e *store.Entry, f *fold) (more bool, err error) {
	changes, err := r.snap.VersionChanges(e)
	if err == nil && r.rules != nil {
		changes, err = r.held(e, changes)
	}
	if err != nil {
		return false, err
	}
	n := uint64(len(changes))
	for i := min(r.at.skip, n); i < n; i++ {
		c, isNew, ok, err := r.seen(&changes[i])
		if err != nil {
			return false, err
		}
		if ok && r.noRoom(f, &c) {
			return false, nil
		}
		if r.at.skip = i + 1; r.at.skip == n {
			r.at = r.at.after(e.Sequence)
		}
		if ok {
			c.Time, c.Position = e.Time, r.at
			f.add(c, isNew, r.query.Each)
		}
	}
	r.at = r.at.after(e.Sequence)
	r.work += 1 + len(changes)
	return true, nil
}

// seen returns the change of a document that the reader sees of a change of a version, and whether it did not see the
// document before; ok is false if it sees no change.
func (r *reader) seen(v *store.VersionChange) (c Change, isNew, ok bool, err error) {
	c = Change{Type: v.Type, DocumentID: v.DocumentID, Locale: v.Locale, Action: v.Action}
	if !r.at.types.has(r.snap.TypeNumber(v.Type)) || !r.query.inLocale(v.Locale) {
		return c, false, false, nil
	}
	switch {
	case r.isOwn(v):
		if c.Action == store.Unpublished {
			c.Action = store.Deleted // from the published versions
		}
	case r.query.Status != store.Draft || c.Action != store.PublishedAction && c.Action != store.Unpublished:
		return c, false, false, nil
	}
	if rule := r.rules[v.Type]; rule != nil {
		return r.ruled(rule, v, c)
	}
	return c, v.New, true, nil
}

func (f *Filter) inLocale(locale string) bool {
	return locale == "" || f.Locales == nil || slices.Contains(f.Locales, locale)
}

// noRoom reports whether a change does not fit the page.
func (r *reader) noRoom(f *fold, c *Change) bool {
	n := len(f.last)
	if r.query.Each {
		n = len(f.list)
	} else if _, known := f.last[c.document()]; known {
		return false
	}
	return len(r.page.Changes)+n >= max(1, r.query.Limit)
}

func (c *Change) document() document { return document{c.Type, c.DocumentID, c.Locale} }

// add appends a change. Unless each change is listed, it stands for those of the same document before it too. A
// document that was created and changed counts as created. One that was created and deleted counts as deleted, because
// the reader may know it from a list of documents that was read later than the change.
func (f *fold) add(c Change, isNew, each bool) {
	next := folded{Change: c, began: store.Deleted}
	if isNew {
		next.began = c.Action
	}
	if at, known := f.last[c.document()]; known && !each {
		f.list[at].moved = true
		if next.began = f.list[at].began; next.began != store.Deleted && c.Action != store.Deleted {
			next.Action = next.began
		}
	}
	f.last[c.document()] = len(f.list)
	f.list = append(f.list, next)
}
