package permission

import (
	"sync"

	"lectern/contenttypes"
	"lectern/store"
)

// FindDrafts is the action of reading drafts of the documents that a caller may read.
const FindDrafts = "findDrafts"

// EveryDraft is the permission to read the drafts of all documents that a caller may read, and to publish what they may
// write. It is given to an Access where drafts are no action of their own, and cannot be granted.
const EveryDraft = "*." + FindDrafts

// FindsDrafts reports whether the caller may read the drafts of t where they may read its documents. A type without
// draft & publish has none.
func (a *Access) FindsDrafts(t *contenttypes.ContentType) bool {
	return !t.DraftAndPublish || a.Allows(t, FindDrafts) || a.actions[everyDraft]
}

var everyDraft = parseGrant(EveryDraft)

// Publishes reports whether a create or update of t may publish what it writes, for a caller who may write t. Where
// drafts are an action of their own, that takes the permission to publish.
func (a *Access) Publishes(t *contenttypes.ContentType) bool {
	return !t.DraftAndPublish || a.Allows(t, "publish") || a.actions[everyDraft]
}

// hidesDrafts reports whether a type that the caller may find may have drafts that they may not read.
func (a *Access) hidesDrafts() bool {
	if a.actions[everyDraft] {
		return false
	}
	for g := range a.actions {
		if g.action == "find" && !a.actions[grant{g.subject, FindDrafts}] {
			return true
		}
	}
	return false
}

// StatusOf returns which versions of documents of t the caller reads behind rows that are shown in a status: the
// published ones if they may not read the drafts.
func (a *Access) StatusOf(t *contenttypes.ContentType, status store.Status) store.Status {
	if status == store.Draft && !a.FindsDrafts(t) {
		return store.Published
	}
	return status
}

// Reads reports whether a caller who may find t may also read its versions of a status, those that are in a publication
// state unless that is nil. That a document has a published version is no secret to who reads those; whether it has a
// draft, or another draft, is.
func (a *Access) Reads(t *contenttypes.ContentType, status store.Status, state *store.PublicationState) bool {
	tells := status == store.Draft ||
		state != nil && *state != store.HasPublishedVersion && *state != store.HasPublishedVersionDocument
	return !tells || a.FindsDrafts(t)
}

// A sight is the store.Sight of an Access, made when it is first asked for.
type sight struct {
	once sync.Once
	made store.Sight
}

// Sight returns what the caller sees behind relations in an answer that shows versions of a status; nil if that is all
// that there is. It does not say which relations the caller may follow: see Follows.
func (a *Access) Sight(status store.Status) *store.Sight {
	if a.rules == nil && (status == store.Published || !a.narrow) {
		return nil
	}
	a.sight.once.Do(func() { a.sight.made = store.Sight{StatusOf: a.StatusOf, Visible: a.Visible} })
	return &a.sight.made
}

// InState returns the condition that documents are in a publication state. Documents of types whose drafts the caller
// may not read are in every state.
func (a *Access) InState(state store.PublicationState) store.Publication {
	return store.Publication{State: state, Sight: a.Sight(store.Draft)}
}
