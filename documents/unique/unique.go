// Package unique finds the document that has the value of a unique attribute, in the document itself or in its
// components.
package unique

import (
	"bytes"

	"lectern/contenttypes"
	"lectern/store"
)

// IsFree reports whether any number of documents may have a stored value: null and the empty string.
func IsFree(raw []byte) bool { return raw == nil || string(raw) == `""` }

// A Finder finds versions by the values of unique attributes. It is a *store.Snapshot or a *store.Preview.
type Finder interface {
	Equal(*contenttypes.ContentType, store.Status, string, *contenttypes.Attribute, []byte, func(store.Record) bool)
	EqualInside(*contenttypes.ContentType, store.Status, string, []*contenttypes.Attribute, []byte,
		func(store.Record) bool)
}

// Other returns a version of this status and locale that has a value at the end of a path of attributes, or the zero
// Record if there is none. own reports whether a version is one of the document that may have the value.
func Other(
	f Finder, t *contenttypes.ContentType, st store.Status, locale string, attrs []*contenttypes.Attribute, raw []byte,
	own func(store.Record) bool,
) (other store.Record) {
	yield := func(r store.Record) bool {
		if own(r) || r.EachInside(attrs, func(there []byte) bool { return !bytes.Equal(there, raw) }) {
			return true
		}
		other = r
		return false
	}
	if len(attrs) == 1 {
		f.Equal(t, st, locale, attrs[0], raw, yield)
	} else {
		f.EqualInside(t, st, locale, attrs, raw, yield)
	}
	return other
}
