package changes

import (
	"lectern/contenttypes"
	"lectern/store"
)

// A docSet is a set of numbers of documents of one type.
type docSet map[uint64]bool

// concerned returns the documents of a rule's type whose visibility an entry may have changed, beside those that it
// wrote. It goes back from what was changed behind relations, by the links that were there before the entry and those
// behind it, so that a change to which no document of the type leads costs no more than that.
func (r *reader) concerned(e *store.Entry, rule *rule, list []store.VersionChange) (docSet, error) {
	if rule.anything && len(list) > 0 {
		return r.everyDoc(rule.typ)
	}
	b := &backward{reader: r, rule: rule, at: map[*step]docSet{nil: {}}}
	for _, s := range rule.steps {
		b.at[s] = docSet{}
		for i := range list {
			if c := &list[i]; c.Type == s.target && s.decidedBy(c) {
				b.at[s][c.Doc] = true
			}
		}
	}
	if err := b.readLinks(e); err != nil {
		return nil, err
	}
	for sequence := e.Sequence - 1; b.behind() && sequence <= e.Sequence; sequence++ {
		if err := r.snap.ViewAt(sequence, b.goBack); err != nil {
			return nil, err
		}
	}
	if b.all {
		return r.everyDoc(rule.typ)
	}
	return b.at[nil], nil
}

// decidedBy reports whether a change of a document to which the step leads may change what the rule shows.
func (s *step) decidedBy(c *store.VersionChange) bool {
	switch s.decides {
	case content:
		return true
	case existence:
		return c.New || c.Action == store.Deleted || c.Action == store.Unpublished
	}
	return false
}

// A backward goes from changed documents back to those of a rule.
type backward struct {
	*reader
	rule *rule
	at   map[*step]docSet // what each step leads to that matters; by nil: the documents of the rule
	all  bool             // the way goes through items of components, of which it is not known what has them
}

// behind reports whether there is a way to go.
func (b *backward) behind() bool {
	for _, s := range b.rule.steps {
		if len(b.at[s]) > 0 {
			return true
		}
	}
	return false
}

// readLinks notes the documents of which an entry changed links that the rule follows. Those of the items of the rule's
// documents change with the documents.
func (b *backward) readLinks(e *store.Entry) error {
	attrs := make([]*contenttypes.Attribute, len(b.rule.steps))
	for i, s := range b.rule.steps {
		attrs[i] = s.owning
	}
	return b.snap.LinkEdits(e, attrs, func(a *contenttypes.Attribute, from, to store.Ref) {
		for _, s := range b.rule.steps {
			switch {
			case s.owning != a:
			case s.mapped:
				b.add(s.from, to)
			case s.from != nil || from.Type == b.rule.typ.UID:
				b.add(s.from, from)
			}
		}
	})
}

// add notes a document to which a step leads, or an item of one.
func (b *backward) add(at *step, end store.Ref) {
	t := b.rule.typ
	if at != nil {
		t = at.target
	}
	if end.Type == t.UID {
		b.at[at][end.Doc] = true
	} else {
		b.all = true
	}
}

// goBack follows the links of a snapshot from where each step leads to where it begins, the last step first.
func (b *backward) goBack(past *store.Snapshot) error {
	for i := len(b.rule.steps) - 1; i >= 0 && !b.all; i-- {
		s := b.rule.steps[i]
		for doc := range b.at[s] {
			for _, locale := range b.localesOf(s.target) {
				b.sources(past, s, store.Ref{Type: s.target.UID, Doc: doc, Locale: locale})
			}
		}
	}
	return nil
}

// sources notes from where the links of a step lead to a document, in drafts and in published versions.
func (b *backward) sources(past *store.Snapshot, s *step, end store.Ref) {
	for _, set := range []store.LinkSet{store.PublishedLinks, store.DraftLinks} {
		add := func(source store.Ref) bool {
			b.work++
			b.add(s.from, source)
			return !b.all
		}
		if s.mapped {
			past.LinksFrom(s.owning, set, end, func(l store.Link) bool { return add(l.To) })
		} else {
			past.LinksTo(s.owning, set, end, func(l store.Link) bool { return add(l.From) })
		}
	}
}

// localesOf returns the locales that versions of a type can have.
func (r *reader) localesOf(t *contenttypes.ContentType) []string {
	if t.Localized {
		return r.snap.Locales()
	}
	return []string{""}
}

// everyDoc returns the documents of a type that are there, or were at the position of the reader or since.
func (r *reader) everyDoc(t *contenttypes.ContentType) (docSet, error) {
	if known := r.every[t]; known != nil {
		return known, nil
	}
	docs := docSet{}
	for _, locale := range r.localesOf(t) {
		r.snap.VersionsAfter(t, r.query.Status, locale, 0, func(row store.Record) bool {
			docs[row.Doc()] = true
			return true
		})
	}
	entries, err := r.snap.Entries(r.at.Position)
	if err != nil {
		return nil, err
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		list, err := r.snap.VersionChanges(e)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Type == t {
				docs[list[i].Doc] = true
			}
		}
	}
	if r.every == nil {
		r.every = map[*contenttypes.ContentType]docSet{}
	}
	r.every[t] = docs
	return docs, r.snap.Err()
}
