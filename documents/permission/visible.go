package permission

import (
	"lectern/contenttypes"
	"lectern/store"
)

// Visible returns the condition that a version of a document of t must meet for the caller to see it in an answer that
// shows versions of this status. It returns nil if the caller sees all of them. It does not say whether the caller may
// find t at all: see Allows.
func (a *Access) Visible(t *contenttypes.ContentType, status store.Status) store.Filter {
	if a.rules == nil {
		return nil
	}
	return a.rules.limits[t]["find"].visible
}

// StatusOf returns which versions of documents of t the caller reads in an answer that shows versions of this status.
func (a *Access) StatusOf(t *contenttypes.ContentType, status store.Status) store.Status {
	return status
}
