package permission

import (
	"lectern/contenttypes"
	"lectern/store"
)

// Visible returns the condition that a version of a document of t must meet for the caller to see it in an answer that
// shows versions of this status. It returns nil if the caller sees all of them. It does not say whether the caller may
// find t at all, nor their drafts: see Allows and FindsDrafts. A rule of findDrafts holds for drafts in place of that
// of find.
func (a *Access) Visible(t *contenttypes.ContentType, status store.Status) store.Filter {
	if a.rules == nil {
		return nil
	}
	limits := a.rules.limits[t]
	if status == store.Draft && t.DraftAndPublish {
		if l := limits["findDrafts"]; l != nil {
			return l.Where
		}
	}
	if l := limits["find"]; l != nil {
		return l.Where
	}
	return nil
}

// VisibleAlone is Visible for the document that a request for a single one names. A rule of findOne takes the place of
// that of find.
func (a *Access) VisibleAlone(t *contenttypes.ContentType, status store.Status) store.Filter {
	if a.rules == nil {
		return nil
	}
	if l := a.rules.limits[t]["findOne"]; l != nil && t.Kind != contenttypes.SingleType {
		if drafts := a.rules.limits[t]["findDrafts"]; status == store.Published || !t.DraftAndPublish || drafts == nil {
			return l.Where
		}
	}
	return a.Visible(t, status)
}

// LimitOf returns what limits an action on documents of t, such as update; nil if nothing does. The action that
// destroys users or files is delete.
func (a *Access) LimitOf(t *contenttypes.ContentType, action string) *Limit {
	if a == nil || a.rules == nil {
		return nil
	}
	return a.rules.limits[t][action]
}

// LimitsFields reports whether a rule says which attributes of a schema the caller reads. Then Sees and Follows may
// hold for private ones, too.
func (a *Access) LimitsFields(s *contenttypes.Schema) bool {
	return a.rules != nil && a.rules.shown[s] != nil
}

// shows reports whether an attribute is read as far as privacy and rules are concerned.
func (a *Access) shows(attr *contenttypes.Attribute) bool {
	if a.rules != nil {
		if f := a.rules.shown[attr.Owner]; f != nil {
			return f.shows(attr)
		}
	}
	return !attr.Private
}
