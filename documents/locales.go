package documents

import (
	"slices"

	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/documents/unique"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// sibling returns the localization from which a new one of the same status copies the values that all localizations
// share: the one in the default locale, or else the first. It returns nil when there is no other localization.
func (wr *writing) sibling(v version) *store.Row {
	if !wr.t.Localized {
		return nil
	}
	locales := wr.locales(v.status)[1:]
	if len(locales) == 0 {
		return nil
	}
	if slices.Contains(locales, wr.s.defaultLocale) {
		return wr.row(version{v.status, wr.s.defaultLocale})
	}
	return wr.row(version{v.status, locales[0]})
}

// withoutSharedNulls returns the body of a new localization without the nulls of attributes that all localizations
// share. Such a null does not clear the value in the others: the new localization copies the value from them instead.
func withoutSharedNulls(t *contenttypes.ContentType, data *jsontree.Object) *jsontree.Object {
	given := jsontree.NewObject()
	for _, key := range data.Keys {
		if a := t.Attribute(key); data.Value(key) != nil || a == nil || a.IsPerLocale() {
			given.Set(key, data.Value(key))
		}
	}
	return given
}

// takeOver copies from another localization the shared values that the body does not contain.
func (wr *writing) takeOver(row, source *store.Row, in *input) error {
	for _, a := range wr.t.Attributes {
		if a.IsPerLocale() || in.values[a.Index].set {
			continue
		}
		wr.copyShared(a, source, row)
		if wr.t.DraftAndPublish {
			continue
		}
		if found := wr.checkSharedUnique(a, row.Values[a.Index]); len(found) > 0 {
			return wr.refuse(found)
		}
	}
	return nil
}

// checkSharedUnique returns an issue for each unique value of an attribute, or in its components, that another document
// has in the locale that is written.
func (wr *writing) checkSharedUnique(a *contenttypes.Attribute, v store.Value) []issues.Issue {
	attrs, path := []*contenttypes.Attribute{a}, []string{a.Name}
	switch {
	case !a.IsScalar():
		return wr.checkUniqueItems(attrs, path, v.Items)
	case a.IsUnique() && !unique.IsFree(v.JSON) && wr.isTaken(attrs, store.Published, wr.locale, v.JSON):
		return []issues.Issue{{Path: path, Message: notUnique, Value: values.Decode(v.JSON), HasValue: true}}
	}
	return nil
}

// share copies the values that all localizations have in common from one version to the others of the same status.
// only, if set, selects the attributes that were written.
func (wr *writing) share(v version, only func(*contenttypes.Attribute) bool) []version {
	if !wr.t.Localized {
		return nil
	}
	var changed []version
	source := wr.rows[v]
	for _, locale := range wr.locales(v.status)[1:] {
		other := version{v.status, locale}
		row := wr.row(other)
		if row == nil {
			continue
		}
		differs := false
		for _, a := range wr.t.Attributes {
			if a.IsPerLocale() || only != nil && !only(a) || wr.sameShared(a, source, row) {
				continue
			}
			wr.copyShared(a, source, row)
			differs = true
		}
		if !differs {
			continue
		}
		if v.status == store.Draft || !wr.t.DraftAndPublish {
			wr.setTime(row, "updatedAt")
		}
		wr.put(other, row)
		changed = append(changed, other)
	}
	return changed
}

func (wr *writing) sameShared(a *contenttypes.Attribute, x, y *store.Row) bool {
	switch {
	case a.IsScalar():
		return sameJSON(x.Values[a.Index], y.Values[a.Index])
	case a.IsStored():
		return wr.sameItems(x.Values[a.Index].Items, y.Values[a.Index].Items, x.Status.Links(), y.Status.Links(),
			wr.carryTo(y.Locale))
	}
	for _, set := range wr.linkSets(a, x.Status) {
		if !wr.sameLinks(endOf(a, set, wr.ref(x.Locale)), endOf(a, set, wr.ref(y.Locale)), nil) {
			return false
		}
	}
	return true
}

// copyShared copies an attribute from one localization to another of the same status. For links inside components see
// carryTo.
func (wr *writing) copyShared(a *contenttypes.Attribute, from, to *store.Row) {
	switch {
	case a.IsScalar():
		to.Values[a.Index] = from.Values[a.Index]
	case a.IsStored():
		for _, item := range to.Values[a.Index].Items {
			wr.forget(item)
		}
		sets := store.LinkSetsOf(wr.t, from.Status)
		c := cloning{wr: wr, from: sets, to: sets, carry: wr.carryTo(to.Locale)}
		to.Values[a.Index] = c.value(from.Values[a.Index])
	default:
		for _, set := range wr.linkSets(a, from.Status) {
			wr.links.copy(endOf(a, set, wr.ref(from.Locale)), endOf(a, set, wr.ref(to.Locale)), copying{})
		}
	}
}

// carryTo returns a function that tells where a link leads when a component is copied to another localization: a link
// to a localized document becomes one to its localization in that locale, and is left out if there is none.
func (wr *writing) carryTo(locale string) func(store.Ref) (store.Ref, bool) {
	return func(r store.Ref) (store.Ref, bool) {
		if r.Locale == "" {
			return r, true
		}
		r.Locale = locale
		self := r.Type == wr.t.UID && r.Doc == wr.doc
		return r, self || store.HasLocalization(wr.tx.Snapshot, wr.s.model.Type(r.Type), r.Doc, locale)
	}
}
