package documents

import (
	"lectern/contenttypes"
	"lectern/store"
)

// These lists of link sets and statuses are shared and must not be changed.
var (
	bothLinkSets   = []store.LinkSet{store.PublishedLinks, store.DraftLinks}
	publishedLinks = bothLinkSets[:1:1]
	publishedOnly  = []store.Status{store.Published}
	draftFirst     = []store.Status{store.Draft, store.Published}
)

// statusesOf returns the statuses that versions of a type can have. The first is that of the version that a body is written to.
func statusesOf(t *contenttypes.ContentType) []store.Status {
	if t.DraftAndPublish {
		return draftFirst
	}
	return publishedOnly
}

// linkSetsOf returns the sets in which a version of a type, and the components in it, have links.
func linkSetsOf(t *contenttypes.ContentType, status store.Status) []store.LinkSet {
	if t.DraftAndPublish {
		return []store.LinkSet{status.Links()}
	}
	return bothLinkSets
}

// linkSetName names a set in exported content, by the versions that show it.
func linkSetName(set store.LinkSet) string {
	if set == store.DraftLinks {
		return store.Draft.String()
	}
	return store.Published.String()
}

// linkSetsUnder returns those of sets that a relation attribute uses.
func linkSetsUnder(a *contenttypes.Attribute, sets []store.LinkSet) []store.LinkSet {
	if !a.HasDraftLinks() {
		return publishedLinks
	}
	return sets
}
