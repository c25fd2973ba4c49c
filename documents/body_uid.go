package documents

import (
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/values"
	"lectern/internal/slug"
	"lectern/jsontree"
	"lectern/store"
)

// maxUID is the maximum length of a generated uid, unless the attribute has a smaller maxLength.
const maxUID = 120

// newUID generates the uid of a new document or localization: the slug of the attribute targetField of a, and a number
// if another document has that uid. If there is no letter or digit to make a slug from, it uses the default of a, or
// else the name of the content-type.
func (wr *writing) newUID(a *contenttypes.Attribute, data *jsontree.Object) string {
	base := slug.Of(wr.uidSource(a, data))
	if base == "" {
		base = wr.t.Singular
		if a.Default != nil {
			base, _ = a.Default.(string)
		}
	}
	longest := maxUID
	if a.MaxLength != nil {
		longest = min(longest, *a.MaxLength)
	}
	numbered := func(n int) string {
		if n == 0 {
			return slug.Cut(base, longest)
		}
		suffix := "-" + strconv.Itoa(n)
		return slug.Cut(base, max(1, longest-len(suffix))) + suffix
	}
	// Numbers are assigned in order, so a binary search finds the first free one quickly even if many documents have
	// the same title.
	taken, free := -1, 0
	for wr.uidTaken(a, numbered(free)) {
		taken, free = free, max(1, 2*free)
	}
	for free-taken > 1 {
		if n := taken + (free-taken)/2; wr.uidTaken(a, numbered(n)) {
			taken = n
		} else {
			free = n
		}
	}
	return numbered(free)
}

// uidSource returns the text from which a uid is generated.
func (wr *writing) uidSource(a *contenttypes.Attribute, data *jsontree.Object) string {
	source := wr.t.Attribute(a.TargetField)
	v, ok := data.Get(source.Name)
	if !ok {
		v = source.Default
	}
	text, _ := v.(string)
	return text
}

// uidTaken reports whether another document has this uid, as a draft or published, in the locale that is written.
func (wr *writing) uidTaken(a *contenttypes.Attribute, uid string) bool {
	raw := values.Encode(uid)
	for _, st := range store.StatusesOf(wr.t) {
		if wr.isTaken([]*contenttypes.Attribute{a}, st, wr.locale, raw) {
			return true
		}
	}
	return false
}
