package documents

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

const notUnique = "This attribute must be unique"

// isUnique reports whether two documents must not have the same value of a in one locale.
func isUnique(a *contenttypes.Attribute) bool { return a.Unique || a.Type == contenttypes.UID }

// uniquePaths lists the paths of attributes from a type to its unique attributes, those in components included.
func uniquePaths(t *contenttypes.ContentType) (paths [][]*contenttypes.Attribute) {
	for _, a := range t.Attributes {
		if IsUnique(a) {
			paths = append(paths, []*contenttypes.Attribute{a})
		}
		paths = append(paths, a.UniquePaths()...)
	}
	return paths
}

// isFree reports whether a stored value is one that any number of documents may have: null or the empty string.
func isFree(raw []byte) bool { return raw == nil || string(raw) == `""` }

// A uniqueValue is the value of a unique attribute in a component.
type uniqueValue struct {
	issue                           // what to report if the value is taken
	attrs []*contenttypes.Attribute // the attributes that lead from the document to the value
	raw   []byte
}

// unique reports an issue if another published document has the value of a unique attribute, in any locale that it is written to.
// All versions of types without drafts count as published. Null and the empty string are always free. Values in components are kept for
// checkInside. The issue shows the value if shown is true.
func (br *bodyReader) unique(a *contenttypes.Attribute, path []string, v any, shown bool) []issue {
	if !isUnique(a) || v == nil || v == "" {
		return nil
	}
	cast := v
	if a.Type.Kind().IsTemporal() {
		var err *apierror.Error
		if cast, err = castTemporal(a, v); err != nil {
			return nil // castDates reports it later
		}
	}
	taken := issue{path: path, message: notUnique, value: v, hasValue: shown}
	value := uniqueValue{taken, append(slices.Clone(br.inside), a), storedJSON(cast)}
	if len(br.inside) > 0 {
		value.path = slices.Clone(path)
		br.values = append(br.values, value)
		return nil
	}
	if br.taken(value) {
		return []issue{taken}
	}
	return nil
}

// taken reports whether another published document has a value, in any locale that it is written to.
func (br *bodyReader) taken(v uniqueValue) bool {
	locales := br.locales
	if perLocale(v.attrs[0]) {
		locales = []string{br.wr.locale}
	}
	return slices.ContainsFunc(locales, func(locale string) bool { return br.wr.taken(v.attrs, store.Published, locale, v.raw) })
}

// taken reports whether another document has a value at the end of a path of attributes, in a version of this status and locale.
func (wr *writing) taken(attrs []*contenttypes.Attribute, st store.Status, locale string, raw []byte) bool {
	return otherWith(wr.tx.Snapshot, wr.t, st, locale, attrs, raw, func(r store.Record) bool { return r.Doc() == wr.doc }).Exists()
}

// finder finds versions by the values of unique attributes. It is a *store.Snapshot or *store.Preview.
type finder interface {
	Equal(*contenttypes.ContentType, store.Status, string, *contenttypes.Attribute, []byte, func(store.Record) bool)
	EqualInside(*contenttypes.ContentType, store.Status, string, []*contenttypes.Attribute, []byte, func(store.Record) bool)
}

// otherWith returns a version of this status and locale that has a value at the end of a path of attributes, or the zero Record if there is none. own
// reports whether a version is one of the document that may have the value.
func otherWith(
	f finder, t *contenttypes.ContentType, st store.Status, locale string, attrs []*contenttypes.Attribute, raw []byte, own func(store.Record) bool,
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

// checkInside adds an issue for each value of a unique attribute in the components of one attribute that another document has, or that occurs more
// than once at the same path of attributes. It is called with the path of each list of components after that was read; only the lists of the document
// itself are checked, together with what is inside them.
func (br *bodyReader) checkInside(path []string) {
	if len(path) > 1 || len(br.values) == 0 {
		return
	}
	name := func(v uniqueValue) string { return attrsName(v.attrs) + string(v.raw) }
	count := make(map[string]int, len(br.values))
	for _, v := range br.values {
		count[name(v)]++
	}
	for _, v := range br.values {
		if !br.wr.tx.Step() {
			break
		}
		if count[name(v)] > 1 || br.taken(v) {
			br.issues = append(br.issues, v.issue)
		}
	}
	br.values = br.values[:0]
}

// attrsName names a path of attributes: parts.quote.code for the attribute code of the component quote in the zone parts. Other paths of the type
// have other names.
func attrsName(attrs []*contenttypes.Attribute) string {
	var b strings.Builder
	for i, a := range attrs {
		if zone := i > 0 && attrs[i-1].Type == contenttypes.DynamicZone; zone {
			b.WriteString("." + a.Owner.UID)
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(a.Name)
	}
	return b.String()
}

// takenInside returns an issue for each unique value in components that another document has in the locale that is written. attrs and path lead to
// the items.
func (wr *writing) takenInside(attrs []*contenttypes.Attribute, path []string, items []*store.Item) (issues []issue) {
	last := attrs[len(attrs)-1]
	for i, item := range items {
		at := path
		if last.Repeatable || last.Type == contenttypes.DynamicZone {
			at = below(path, strconv.Itoa(i))
		}
		for _, a := range item.Component.Attributes {
			v := item.Values[a.Index]
			switch inner := append(slices.Clip(attrs), a); {
			case len(v.Items) > 0:
				issues = append(issues, wr.takenInside(inner, below(at, a.Name), v.Items)...)
			case a.IsScalar() && isUnique(a) && !isFree(v.JSON) && wr.taken(inner, store.Published, wr.locale, v.JSON):
				issues = append(issues, issue{path: below(at, a.Name), message: notUnique, value: decode(v.JSON), hasValue: !a.Private})
			}
		}
	}
	return issues
}
