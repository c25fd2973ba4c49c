package media

import (
	"errors"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A Use is a document that uses a file, in one localization.
type Use struct {
	Row    store.Record // the draft if the draft uses the file, otherwise the published version
	Draft  bool         // the draft uses it
	Public bool         // the published version uses it
	Fields []string     // the media attributes that do, with dots where they lie in components
}

// A Usage is where a file is used.
type Usage struct {
	Uses   []Use // by documents that the caller may see, in the order of types
	Hidden bool  // it is also used where the caller may not look
}

// fileAttributes returns the media attributes of all types and components.
func (l *Library) fileAttributes() (list []*contenttypes.Attribute) {
	add := func(s *contenttypes.Schema) {
		for _, a := range s.Attributes {
			if a.Type == contenttypes.Media {
				list = append(list, a)
			}
		}
	}
	for _, t := range l.model.Types {
		if !t.Internal {
			add(&t.Schema)
		}
	}
	for _, c := range l.model.Components {
		add(&c.Schema)
	}
	return list
}

// Unused returns the condition on files that nothing uses: no draft, no published version, and no component of one.
func (l *Library) Unused() store.Filter { return store.Unlinked{Attrs: l.fileAttributes()} }

// Usage returns where a file is used, as far as access sees that. The links lead to the documents; those in components
// lead to a component, whose document is then sought in the types that may have such a component. hold is called with
// the memory that the result takes so far.
func (l *Library) Usage(s *store.Snapshot, file store.Record, access *permission.Access,
	hold func(bytes int64) error) (Usage, error) {
	u := usage{snap: s, access: access, hold: hold, at: map[useKey]int{}, inside: map[store.Ref][]*contenttypes.Attribute{}}
	if err := s.Covers(&store.Query{Type: l.typ, Filter: l.Unused()}); err != nil {
		return Usage{}, err
	}
	for _, a := range l.fileAttributes() {
		for _, set := range []store.LinkSet{store.DraftLinks, store.PublishedLinks} {
			if set == store.PublishedLinks || a.HasDraftLinks() {
				s.LinksTo(a, set, file.Ref(), func(link store.Link) bool { return u.link(l.model, link) })
			}
		}
	}
	for _, t := range l.model.Types {
		if err := u.seek(t); err != nil {
			return Usage{}, err
		}
	}
	u.Hidden = u.Hidden || len(u.inside) > 0 // in what no reader sees
	if u.err == nil {
		u.err = s.Err()
	}
	slices.SortStableFunc(u.Uses, func(x, y Use) int {
		return slices.Index(l.model.Types, x.Row.Type()) - slices.Index(l.model.Types, y.Row.Type())
	})
	return u.Usage, u.err
}

// usage collects a Usage.
type usage struct {
	Usage
	snap   *store.Snapshot
	access *permission.Access
	hold   func(bytes int64) error
	at     map[useKey]int                          // positions in Uses
	inside map[store.Ref][]*contenttypes.Attribute // components that use the file and whose document was not found yet
	held   int64
	err    error
}

type useKey struct {
	typ    *contenttypes.ContentType
	doc    uint64
	locale string
}

// useBytes is about the memory of a Use, or of a component that is sought.
const useBytes = 256

// take counts memory, and reports whether to continue.
func (u *usage) take() bool {
	if u.held += useBytes; u.held%(64*useBytes) == 0 {
		u.err = u.hold(u.held)
	}
	return u.err == nil
}

// link notes a link to the file, and reports whether to continue.
func (u *usage) link(m *contenttypes.Model, link store.Link) bool {
	if !u.take() {
		return false
	}
	t := m.Type(link.From.Type)
	if t == nil {
		end := store.Ref{Type: link.From.Type, Doc: link.From.Doc}
		if !slices.Contains(u.inside[end], link.Attr) {
			u.inside[end] = append(u.inside[end], link.Attr)
		}
		return true
	}
	status := store.Published
	if link.Set == store.DraftLinks {
		status = store.Draft
	}
	if status == store.Draft && !t.DraftAndPublish {
		return true // the same link is among those of published versions
	}
	if row := u.snap.Version(t, link.From.Doc, status, link.From.Locale); row.Exists() {
		u.add(row, link.Attr.Name, u.access.Follows(link.Attr))
	}
	return true
}

// add records that a version uses the file in a field. sees says whether the caller may see that field, provided that
// they see the document.
func (u *usage) add(row store.Record, field string, sees bool) {
	t, isDraft := row.Type(), row.Status() == store.Draft
	if !sees || !u.sees(row) {
		u.Hidden = true
		return
	}
	key := useKey{t, row.Doc(), row.Locale()}
	i, known := u.at[key]
	if !known {
		i = len(u.Uses)
		u.at[key], u.Uses = i, append(u.Uses, Use{Row: row})
	}
	use := &u.Uses[i]
	if isDraft {
		use.Row, use.Draft = row, true
	} else {
		use.Public = true
	}
	if !slices.Contains(use.Fields, field) {
		use.Fields = append(use.Fields, field)
	}
}

// sees reports whether the caller sees a version of a document.
func (u *usage) sees(row store.Record) bool {
	t, status := row.Type(), row.Status()
	if !u.access.Allows(t, "find") || status == store.Draft && !u.access.FindsDrafts(t) {
		return false
	}
	only := u.access.Visible(t, status)
	return only == nil || u.snap.Matches(row, only, status)
}

// seek looks for the components that use the file in the documents of a type that may have them. It ends when all are
// found.
func (u *usage) seek(t *contenttypes.ContentType) error {
	if t.Internal || u.err != nil || !u.mayHold(t) {
		return u.err
	}
	statuses := []store.Status{store.Published}
	if t.DraftAndPublish {
		statuses = append(statuses, store.Draft)
	}
	for _, status := range statuses {
		q := &store.Query{Type: t, Status: status, Locales: store.LocaleSet{All: true}, Limit: -1}
		err := u.snap.Each(q, u.hold, func(rows []store.Record) error {
			for _, row := range rows {
				if len(u.inside) == 0 {
					return errAllFound
				}
				u.look(row, row, "", true)
			}
			return nil
		})
		if err == errAllFound {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errAllFound ends a search.
var errAllFound = errors.New("all are found")

// mayHold reports whether documents of a type may have a component that is sought.
func (u *usage) mayHold(t *contenttypes.ContentType) bool {
	for end := range u.inside {
		for _, a := range u.inside[end][:1] {
			if t.Holds(a.Owner) {
				return true
			}
		}
	}
	return false
}

// look notes the components of a version, or of one of its components, that use the file.
func (u *usage) look(row, at store.Record, path string, sees bool) {
	for _, a := range at.Schema().Attributes {
		if a.IsScalar() || a.IsRelation() {
			continue
		}
		at.Each(a, func(item store.Record) bool {
			seesItem, under := sees && u.access.Sees(a), path+a.Name+"."
			end := item.Ref()
			for _, by := range u.inside[end] {
				u.add(row, under+by.Name, seesItem && u.access.Follows(by))
			}
			delete(u.inside, end)
			u.look(row, item, under, seesItem)
			return len(u.inside) > 0
		})
	}
}

// View calls f with a snapshot of the store that has the documents of the files.
func (l *Library) View(f func(*store.Snapshot) error) error { return l.store.View(f) }
