package documents

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

const notUnique = "This attribute must be unique"

// isUnique reports whether no two documents may have the same value of a in one locale.
func isUnique(a *contenttypes.Attribute) bool { return a.Unique || a.Type == contenttypes.UID }

// free checks that no other document has the value of a unique attribute, in any locale it is written to. Null and the empty string
// may occur any number of times. Values are compared with published versions alone, as which all
// versions of types without drafts count.
func (br *bodyReader) free(a *contenttypes.Attribute, path []string, v any) []issue {
	if !isUnique(a) || v == nil || v == "" {
		return nil
	}
	cast := v
	if a.Type.Kind().IsTemporal() {
		var err *apierror.Error
		if cast, err = castTemporal(a, v); err != nil {
			return nil // told later, alone
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

// taken reports whether another document has a value in a version of that status and locale.
func (wr *writing) taken(a *contenttypes.Attribute, st store.Status, locale string, raw []byte) (taken bool) {
	wr.tx.Equal(wr.t, st, locale, a, raw, func(r store.Record) bool {
		taken = r.Ref().Doc != wr.doc && bytes.Equal(r.JSON(a), raw)
		return !taken
	})
	return taken
}

// checkUnique adds issues for values of unique attributes that occur more than once among the components of one attribute of the
// document. It is called with the path of each list of components when that was read, and looks at those of the document itself.
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
