package documents

import (
	"lectern/contenttypes"
	"lectern/store"
)

// Lists of planes and statuses, which nobody changes.
var (
	bothPlanes    = []store.Status{store.Published, store.Draft}
	publishedOnly = []store.Status{store.Published}
	draftFirst    = []store.Status{store.Draft, store.Published}
)

// statusesOf are those that versions of a type can have, the one that is written to first.
func statusesOf(t *contenttypes.ContentType) []store.Status {
	if t.DraftAndPublish {
		return draftFirst
	}
	return publishedOnly
}

// planesOf are those in which a version of a type, and the components in it, have links.
func planesOf(t *contenttypes.ContentType, status store.Status) []store.Status {
	if t.DraftAndPublish {
		return []store.Status{status}
	}
	return bothPlanes
}

// planesUnder are those of planes in which there can be links under an attribute.
func planesUnder(a *contenttypes.Attribute, planes []store.Status) []store.Status {
	if !a.HasDraftLinks() {
		return publishedOnly
	}
	return planes
}
