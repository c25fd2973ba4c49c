package documents

import (
	"slices"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/unique"
	"lectern/documents/values"
	"lectern/store"
)

const notUnique = "This attribute must be unique"

// A uniqueValue is the value of a unique attribute in a component.
type uniqueValue struct {
	issues.Issue                           // what to report if the value is taken
	attrs        []*contenttypes.Attribute // the attributes that lead from the document to the value
	raw          []byte
}

// checkUnique returns an issue if another published document has the value of a unique attribute, in any locale that it
// is written to. All versions of types without drafts count as published. Null and the empty string are always free.
// Values in components are kept for checkInside. The issue shows the value if shown is true.
func (br *bodyReader) checkUnique(a *contenttypes.Attribute, path []string, v any, shown bool) []issues.Issue {
	if !a.IsUnique() || v == nil || v == "" {
		return nil
	}
	cast := v
	if a.Type.Kind().IsTemporal() {
		var err *apierror.Error
		if cast, err = values.CastTime(a, v); err != nil {
			return nil // castTimes reports it later
		}
	}
	taken := issues.Issue{Path: path, Message: notUnique, Value: v, HasValue: shown}
	value := uniqueValue{taken, append(slices.Clone(br.inside), a), values.Encode(cast)}
	if len(br.inside) > 0 {
		value.Path = slices.Clone(path)
		br.values = append(br.values, value)
		return nil
	}
	if br.isTaken(value) {
		return []issues.Issue{taken}
	}
	return nil
}

// isTaken reports whether another published document has a value, in any locale that it is written to.
func (br *bodyReader) isTaken(v uniqueValue) bool {
	locales := br.locales
	if v.attrs[0].IsPerLocale() {
		locales = []string{br.wr.locale}
	}
	return slices.ContainsFunc(
		locales, func(locale string) bool { return br.wr.isTaken(v.attrs, store.Published, locale, v.raw) })
}

// isTaken reports whether another document has a value at the end of a path of attributes, in a version of this status
// and locale.
func (wr *writing) isTaken(attrs []*contenttypes.Attribute, st store.Status, locale string, raw []byte) bool {
	return unique.Other(wr.tx.Snapshot, wr.t, st, locale, attrs, raw,
		func(r store.Record) bool { return r.Doc() == wr.doc }).Exists()
}

// checkInside adds an issue for each value of a unique attribute in the components of one attribute that another
// document has, or that occurs more than once at the same path of attributes. It is called with the path of each list
// of components after that was read; only the lists of the document itself are checked, together with what is inside
// them.
func (br *bodyReader) checkInside(path []string) {
	if len(path) > 1 || len(br.values) == 0 {
		return
	}
	name := func(v uniqueValue) string { return contenttypes.PathName(v.attrs) + string(v.raw) }
	count := make(map[string]int, len(br.values))
	for _, v := range br.values {
		count[name(v)]++
	}
	for _, v := range br.values {
		if !br.wr.tx.Step() {
			break
		}
		if count[name(v)] > 1 || br.isTaken(v) {
			br.issues = append(br.issues, v.Issue)
		}
	}
	br.values = br.values[:0]
}

// checkUniqueItems returns an issue for each unique value in components that another document has in the locale that is
// written. attrs and path lead to the items.
func (wr *writing) checkUniqueItems(attrs []*contenttypes.Attribute, path []string,
	items []*store.Item) (list []issues.Issue) {
	last := attrs[len(attrs)-1]
	for i, item := range items {
		at := path
		if last.Repeatable || last.Type == contenttypes.DynamicZone {
			at = issues.Below(path, strconv.Itoa(i))
		}
		for _, a := range item.Component.Attributes {
			v := item.Values[a.Index]
			switch inner := append(slices.Clip(attrs), a); {
			case len(v.Items) > 0:
				list = append(list, wr.checkUniqueItems(inner, issues.Below(at, a.Name), v.Items)...)
			case a.IsScalar() && a.IsUnique() && !unique.IsFree(v.JSON) &&
				wr.isTaken(inner, store.Published, wr.locale, v.JSON):
				list = append(list, issues.Issue{Path: issues.Below(at, a.Name), Message: notUnique,
					Value: values.Decode(v.JSON), HasValue: !a.Private})
			}
		}
	}
	return list
}
