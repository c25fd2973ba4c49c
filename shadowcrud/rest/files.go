package rest

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/store"
)

// A fileUse is an attribute through which documents of a type use files.
type fileUse struct {
	typ   *contenttypes.ContentType
	attr  *contenttypes.Attribute
	shown *documents.Selection // what of such a document a file prints
}

// fileUses finds the media attributes of a model's content-types.
func fileUses(m *contenttypes.Model) []fileUse {
	var uses []fileUse
	for _, t := range m.Types {
		for _, a := range t.Attributes {
			if a.Type == contenttypes.Media && !a.Private {
				uses = append(uses, fileUse{t, a, documents.Scalars(&t.Schema)})
			}
		}
	}
	return uses
}

// users prints the documents that use a file: those of types that the caller may find.
func (p *printer) users(file store.Record) {
	if p.v4 {
		p.buf = append(p.buf, `{"data":`...)
	}
	begin := p.open(true)
	for _, use := range p.api.files {
		if !p.access.Allows(use.typ, "find") {
			continue
		}
		plane := p.status
		if !use.attr.HasDraftLinks() {
			plane = store.Published
		}
		p.snapshot.LinksTo(use.attr, plane, file.Ref(), func(l store.Link) bool {
			r := p.snapshot.Version(use.typ, l.From.Doc, p.status, l.From.Locale)
			if r.Exists() && (p.state == nil || p.snapshot.InState(r, *p.state)) {
				p.next(begin)
				p.document(r, use.shown, shape{typed: true})
			}
			return p.err == nil
		})
	}
	p.close(begin, true)
	if p.v4 {
		p.buf = append(p.buf, '}')
	}
}
