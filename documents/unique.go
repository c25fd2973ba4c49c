package documents

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

const notUnique = "This attribute must be unique"

// isUnique reports whether two documents must not have the same value of a in one locale.
func isUnique(a *contenttypes.Attribute) bool { return a.Unique || a.Type == contenttypes.UID }

// free reports an issue if another published document has the value of a unique attribute, in any locale that it is written to.
// All versions of types without drafts count as published. Null and the empty string are always free.
func (br *bodyReader) free(a *contenttypes.Attribute, path []string, v any) []issue {
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
	raw := storedJSON(cast)
	if _, isDocument := a.OwnerType(); !isDocument {
		br.unique[a] = append(br.unique[a], uniqueValue{slices.Clone(path), v, string(raw)})
		return nil
	}
	locales := br.locales
	if perLocale(a) {
		locales = []string{br.wr.locale}
	}
	for _, locale := range locales {
		if br.wr.taken(a, store.Published, locale, raw) {
			return []issue{{path: path, message: notUnique, value: v, hasValue: true}}
		}
	}
	return nil
}

// taken reports whether another document has a value in a version of this status and locale.
func (wr *writing) taken(a *contenttypes.Attribute, st store.Status, locale string, raw []byte) (taken bool) {
	wr.tx.Equal(wr.t, st, locale, a, raw, func(r store.Record) bool {
		taken = r.Ref().Doc != wr.doc && bytes.Equal(r.JSON(a), raw)
		return !taken
	})
	return taken
}

// checkUnique adds an issue for each value of a unique attribute that occurs more than once among the components of one
// attribute. It is called with the path of each list of components after that was read, and with the path of the document.
func (br *bodyReader) checkUnique(path []string) {
	if len(path) > 1 || len(br.unique) == 0 {
		return
	}
	var twice []issue
	for _, values := range br.unique {
		count := make(map[string]int, len(values))
		for _, v := range values {
			count[v.json]++
		}
		for _, v := range values {
			if count[v.json] > 1 {
				twice = append(twice, issue{path: v.path, message: notUnique, value: v.value, hasValue: true})
			}
		}
	}
	slices.SortStableFunc(twice, func(a, b issue) int { return slices.Compare(a.path, b.path) })
	br.issues = append(br.issues, twice...)
	clear(br.unique)
}
