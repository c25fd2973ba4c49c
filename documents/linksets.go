package documents

import (
	"lectern/contenttypes"
	"lectern/store"
)

// Lists of link sets and statuses, which nobody changes.
var (
	bothLinkSets   = []store.LinkSet{store.PublishedLinks, store.DraftLinks}
	publishedLinks = bothLinkSets[:1:1]
	publishedOnly  = []store.Status{store.Published}
	draftFirst     = []store.Status{store.Draft, store.Published}
)

// statusesOf are those that versions of a type can have, the one that is written to first.
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
		return statusName(store.Draft)
	}
	return statusName(store.Published)
}

// linkSetsUnder returns those of sets that a relation attribute uses.
func linkSetsUnder(a *contenttypes.Attribute, sets []store.LinkSet) []store.LinkSet {
	if !a.HasDraftLinks() {
		return publishedLinks
	}
	return sets
}
