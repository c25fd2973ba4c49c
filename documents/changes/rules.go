package changes

import (
	"hash/fnv"
	"maps"
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// A rule says which documents of a type the reader sees, and what decides that.
type rule struct {
	typ     *contenttypes.ContentType
	visible store.Filter
	// steps are the relations that the rule follows, each behind the one from which it goes on. There are none if the
	// rule compares only what is in the rows of the documents.
	steps    []*step
	anything bool // it cannot be told what decides
}

// A step is a relation that a rule follows.
type step struct {
	owning  *contenttypes.Attribute
	mapped  bool // whether it leads to the document that has the attribute
	target  *contenttypes.ContentType
	from    *step // the relation that leads to where it begins; nil: it begins at the documents of the rule
	decides int   // what of the documents that it leads to decides; 0: which they are
}

// What of the documents that a relation leads to decides whether a rule shows a document.
const (
	existence = iota + 1 // whether there are versions of them
	content              // what is in them
)

// newRule returns the rule that shows these documents of a type.
func newRule(t *contenttypes.ContentType, visible store.Filter) *rule {
	r := &rule{typ: t, visible: visible}
	r.read(visible, nil, false)
	return r
}

// follows reports whether more decides than what is in the rows of the documents.
func (r *rule) follows() bool { return r.anything || len(r.steps) > 0 }

// read notes what decides whether a filter holds, on documents to which a step leads or on items of their components.
func (r *rule) read(f store.Filter, from *step, onItem bool) {
	switch f := f.(type) {
	case store.And:
		for _, part := range f {
			r.read(part, from, onItem)
		}
	case store.Or:
		r.read(store.And(f), from, onItem)
	case store.Not:
		r.read(f.Filter, from, onItem)
	case store.Compare:
	case store.Through:
		r.through(f, from, onItem)
	default:
		r.anything = true
	}
}

func (r *rule) through(f store.Through, from *step, onItem bool) {
	a := f.Attr
	switch {
	case a.System || a.IsRelation() && a.Target == nil:
		r.anything = true
		return
	case !a.IsRelation():
		r.read(f.Filter, from, true)
		return
	}
	s := &step{owning: a, mapped: a.Mapped, target: a.Target, from: from}
	if a.Mapped {
		s.owning = a.Inverse
	}
	switch {
	case !identifies(f.Filter, a.Target):
		s.decides = content
	case a.Target.DraftAndPublish || onItem: // links are there without a version, or go with it
		s.decides = existence
	}
	r.steps = append(r.steps, s)
	r.read(f.Filter, s, false)
}

// identifies reports whether a filter on documents of t compares only what tells them apart, which never changes. The
// id of a version is another after each publication.
func identifies(f store.Filter, t *contenttypes.ContentType) bool {
	switch f := f.(type) {
	case store.And:
		for _, part := range f {
			if !identifies(part, t) {
				return false
			}
		}
		return true
	case store.Or:
		return identifies(store.And(f), t)
	case store.Not:
		return identifies(f.Filter, t)
	case store.Compare:
		return f.Attr.Owner == &t.Schema &&
			(f.Attr.Name == "documentId" || f.Attr.Type == contenttypes.ID && !t.DraftAndPublish)
	}
	return false
}

// rulesOf returns the rules on the types that the reader may find and asks for; nil if there are none.
func (q *Query) rulesOf(m *contenttypes.Model) map[*contenttypes.ContentType]*rule {
	if !q.Access.HasRules() {
		return nil
	}
	rules := map[*contenttypes.ContentType]*rule{}
	for _, t := range m.Types {
		if visible := q.Access.Visible(t, q.Status); visible != nil && q.Access.Allows(t, "find") {
			rules[t] = newRule(t, visible)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// bindRules makes the position say which rules limit what the reader has.
func (r *reader) bindRules() {
	at := &r.at
	if at.sealed = r.rules != nil; !at.sealed {
		at.rules, at.wide = 0, false
		return
	}
	at.rules, at.wide = r.rulesPrint(at.types, at.walk)
}

// rulesPrint returns a number for the rules of types, 0 if there are none, and whether one of them follows relations.
func (r *reader) rulesPrint(types typeSet, w walk) (print uint64, wide bool) {
	if w.kind != 0 {
		types = types.with(w.typ)
	}
	h := fnv.New64a()
	for number := range types.each() {
		t := r.snap.NumberedType(number)
		rule := r.rules[t]
		if rule == nil {
			continue
		}
		text := r.query.Access.AppendRule([]byte(t.UID), t)
		h.Write(append(text, 0))
		print, wide = h.Sum64()|1, wide || rule.follows()
	}
	return print, wide
}

// checkRules returns an error if the reader has documents by other rules than those that hold now, or if it is not
// known which documents they showed at its position.
func (r *reader) checkRules() error {
	if print, _ := r.rulesPrint(r.at.types, r.at.walk); print != r.at.rules {
		return errReset
	}
	if r.at.rules == 0 {
		return nil
	}
	if r.snap.ViewAt(r.at.Sequence, func(*store.Snapshot) error { return nil }) != nil {
		return errReset
	}
	return nil
}

// shows reports whether a rule shows a version. A nil rule shows all.
func (r *reader) shows(rule *rule, row store.Record, in *store.Snapshot) bool {
	return row.Exists() && (rule == nil || in.Matches(row, rule.visible, r.query.Status))
}

// A sighting says whether the reader's rule showed a document before and after an entry of the log.
type sighting struct {
	before, after bool
	documentID    string // "" if it is known otherwise
}

// A sighted names a document in one locale.
type sighted struct {
	typ *contenttypes.ContentType
	versionOf
}

// sightings are what the reader's rules showed around one entry.
type sightings struct {
	entry *store.Entry
	known map[sighted]sighting
	edits map[*contenttypes.ContentType]map[versionOf]store.RowEdit
}

// held returns what an entry did to versions, and then which other documents it made begin or cease to meet a rule.
func (r *reader) held(e *store.Entry, list []store.VersionChange) (all []store.VersionChange, err error) {
	r.around = sightings{entry: e, known: map[sighted]sighting{},
		edits: map[*contenttypes.ContentType]map[versionOf]store.RowEdit{}}
	all = list
	for number := range r.at.types.each() {
		rule := r.rules[r.snap.NumberedType(number)]
		if rule == nil || !rule.follows() {
			continue
		}
		docs, err := r.concerned(e, rule, list)
		if err == nil && len(docs) > 0 {
			all, err = r.moved(e, rule, docs, all)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// moved adds those of some documents that a rule shows before an entry and not behind it, or the other way round, and
// that list does not have.
func (r *reader) moved(e *store.Entry, rule *rule, docs docSet, list []store.VersionChange) ([]store.VersionChange,
	error) {
	listed := map[versionOf]bool{}
	for i := range list {
		if c := &list[i]; c.Type == rule.typ && r.isOwn(c) {
			listed[versionOf{c.Locale, c.Doc}] = true
		}
	}
	var asked []versionOf
	for _, doc := range slices.Sorted(maps.Keys(docs)) {
		for _, locale := range r.localesOf(rule.typ) {
			if v := (versionOf{locale, doc}); r.query.inLocale(locale) && !listed[v] {
				asked = append(asked, v)
			}
		}
	}
	r.work += len(asked)
	found := make([]sighting, len(asked))
	for i := range 2 {
		if err := r.snap.ViewAt(e.Sequence-1+uint64(i), func(past *store.Snapshot) error {
			for k, v := range asked {
				row := past.Version(rule.typ, v.doc, r.query.Status, v.locale)
				if !row.Exists() {
					continue
				}
				found[k].documentID = row.DocumentID()
				*[]*bool{&found[k].before, &found[k].after}[i] = r.shows(rule, row, past)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for k, s := range found {
		if s.before == s.after {
			continue
		}
		r.around.known[sighted{rule.typ, asked[k]}] = s
		list = append(list, store.VersionChange{Type: rule.typ, Doc: asked[k].doc, Status: r.query.Status,
			Locale: asked[k].locale, Action: onlyLinks})
	}
	return list, nil
}

// onlyLinks is the action on a document of which an entry changed no row. It is a change for a reader whose rule begins
// or ceases to show the document, since its links changed or what they lead to.
const onlyLinks store.Action = 255

// isOwn reports whether a change is one of the version that the reader sees of a document.
func (r *reader) isOwn(v *store.VersionChange) bool {
	return !v.Type.DraftAndPublish || v.Status == r.query.Status
}

// ruled returns a change as a reader sees it whose rule showed the document before and after it, or not; ok is false
// if that is none.
func (r *reader) ruled(rule *rule, v *store.VersionChange, c Change) (_ Change, isNew, ok bool, err error) {
	s, err := r.sight(rule, v)
	if c.DocumentID == "" {
		c.DocumentID = s.documentID
	}
	own := r.isOwn(v)
	switch {
	case err != nil || !s.before && !s.after || c.Action == onlyLinks && s.before == s.after:
		return c, false, false, err
	case !s.after:
		c.Action = store.Deleted
		return c, false, own, nil
	case !own:
		return r.publication(v, c)
	case !s.before && c.Action != store.PublishedAction:
		c.Action = store.Created
	}
	return c, !s.before, true, nil
}

// publication returns a change of a published version as a reader of drafts sees it, whose rule may leave that version
// out.
func (r *reader) publication(v *store.VersionChange, c Change) (_ Change, isNew, ok bool, err error) {
	visible := r.query.Access.Visible(v.Type, store.Published)
	var seen [2]bool // before and after the entry
	for i := range seen {
		r.work += workOfPast
		sequence := r.around.entry.Sequence - 1 + uint64(i)
		if err := r.snap.ViewAt(sequence, func(past *store.Snapshot) error {
			row := past.Version(v.Type, v.Doc, store.Published, v.Locale)
			seen[i] = row.Exists() && (visible == nil || past.Matches(row, visible, store.Published))
			return nil
		}); err != nil {
			return c, false, false, err
		}
	}
	if !seen[1] {
		c.Action = store.Unpublished
	}
	return c, false, seen[0] || seen[1], nil
}

// sight returns whether a rule showed the document of a change before and after the entry.
func (r *reader) sight(rule *rule, v *store.VersionChange) (s sighting, err error) {
	key := sighted{v.Type, versionOf{v.Locale, v.Doc}}
	s, known := r.around.known[key]
	if known {
		return s, nil
	}
	edit, edited, err := r.edit(v)
	switch {
	case err != nil:
	case edited && !rule.follows():
		s = sighting{before: r.shows(rule, edit.Before, r.snap), after: r.shows(rule, edit.After, r.snap)}
	default:
		if s.before, err = r.showed(rule, v, r.around.entry.Sequence-1, &s.documentID); err == nil {
			s.after, err = r.showed(rule, v, r.around.entry.Sequence, &s.documentID)
		}
	}
	r.around.known[key] = s
	return s, err
}

// showed returns whether a rule showed a document behind an entry, and sets its documentId.
func (r *reader) showed(rule *rule, v *store.VersionChange, sequence uint64, id *string) (shown bool, err error) {
	r.work += workOfPast
	err = r.snap.ViewAt(sequence, func(past *store.Snapshot) error {
		row := past.Version(v.Type, v.Doc, r.query.Status, v.Locale)
		if row.Exists() {
			*id = row.DocumentID()
		}
		shown = r.shows(rule, row, past)
		return nil
	})
	return shown, err
}

// workOfPast is the work of reading a document as it was, in changes of the log.
const workOfPast = 20

// edit returns what the entry did to the version of a change's document that the reader sees.
func (r *reader) edit(v *store.VersionChange) (found store.RowEdit, ok bool, err error) {
	edits, read := r.around.edits[v.Type]
	if !read {
		list, err := r.snap.RowEdits(r.around.entry, v.Type, r.query.Status)
		if err != nil {
			return found, false, err
		}
		edits = make(map[versionOf]store.RowEdit, len(list))
		for _, edit := range list {
			edits[versionOf{edit.Locale, edit.Doc}] = edit
		}
		r.around.edits[v.Type] = edits
	}
	found, ok = edits[versionOf{v.Locale, v.Doc}]
	return found, ok, nil
}
