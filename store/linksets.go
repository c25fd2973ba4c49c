package store

import (
	"lectern/contenttypes"
)

// These lists of link sets and statuses are shared and must not be changed.
var (
	bothLinkSets   = linkSets[:]
	publishedLinks = linkSets[:1:1]
	publishedOnly  = []Status{Published}
	draftFirst     = []Status{Draft, Published}
)

// LinkSets returns both sets of links. The list must not be changed.
func LinkSets() []LinkSet { return bothLinkSets }

// StatusesOf returns the statuses that versions of a type can have. The first is that of the version that a body is written
// to. The list must not be changed.
func StatusesOf(t *contenttypes.ContentType) []Status {
	if t.DraftAndPublish {
		return draftFirst
	}
	return publishedOnly
}

// LinkSetsOf returns the sets in which a version of a type, and the components in it, have links. The list must not be
// changed.
func LinkSetsOf(t *contenttypes.ContentType, status Status) []LinkSet {
	if t.DraftAndPublish {
		return []LinkSet{status.Links()}
	}
	return bothLinkSets
}

// LinkSetsUnder returns those of sets that a relation attribute uses.
func LinkSetsUnder(a *contenttypes.Attribute, sets []LinkSet) []LinkSet {
	if !a.HasDraftLinks() {
		return publishedLinks
	}
	return sets
}
