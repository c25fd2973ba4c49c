package documents

import (
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// removeFound looks up the document of the write and removes it, if it exists.
func (wr *writing) removeFound() error {
	doc, id, err := wr.named()
	if doc == 0 {
		return err
	}
	wr.begin(doc, id)
	return wr.remove()
}

// remove deletes the localization of the document in wr.locale, or all of them for "*", with their links in both link
// sets.
func (wr *writing) remove() error {
	var locales []string
	for _, v := range wr.present {
		if wr.locale != "*" && wr.locale != v.locale {
			continue
		}
		wr.drop(v)
		if !slices.Contains(locales, v.locale) {
			locales = append(locales, v.locale)
		}
	}
	for _, locale := range locales {
		wr.clearFrom(&wr.t.Schema, wr.ref(locale))
		wr.clearTo(wr.ref(locale))
	}
	if wr.removed = len(locales) > 0; wr.removed {
		wr.unschedule(locales)
		wr.batch.Log(wr.t, wr.id, store.Deleted)
	}
	return nil
}

// clearFrom removes the links from a document or component, in both link sets.
func (wr *writing) clearFrom(s *contenttypes.Schema, ref store.Ref) {
	for _, a := range s.Attributes {
		if !a.IsRelation() || a.System || a.Mapped {
			continue
		}
		for _, set := range store.LinkSets() {
			wr.links.clear(end{a, false, set, ref})
		}
	}
}

// clearTo removes the links to a document, in both link sets.
func (wr *writing) clearTo(ref store.Ref) {
	for _, a := range wr.s.owning[ref.Type] {
		for _, set := range store.LinkSets() {
			wr.links.clear(end{a, true, set, ref})
		}
	}
}
