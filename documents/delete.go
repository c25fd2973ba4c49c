package documents

import (
	"slices"

	"lectern/store"
)

// removeFound deletes of the document that w names what remove does, if there is such a document.
func (wr *writing) removeFound() error {
	doc, id, err := wr.named()
	if doc == 0 {
		return err
	}
	wr.begin(doc, id)
	return wr.remove()
}

// remove deletes a localization of the document, or all of them, with its links in both planes.
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
		ref := wr.ref(locale)
		for _, plane := range []store.Status{store.Published, store.Draft} {
			for _, a := range wr.t.Attributes {
				if a.IsRelation() && !a.System && !a.Mapped {
					wr.links.clear(end{a, false, plane, ref})
				}
			}
			for _, a := range wr.s.owning[wr.t.UID] {
				wr.links.clear(end{a, true, plane, ref})
			}
		}
	}
	if len(locales) > 0 {
		wr.batch.Log(wr.t, wr.id, store.Deleted)
	}
	return nil
}
