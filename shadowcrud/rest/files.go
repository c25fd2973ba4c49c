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
				uses = append(uses, fileUse{t, a, scalars(&t.Schema)})
			}
		}
	}
	return uses
}

// scalars selects what everybody may see of a document without populating anything.
func scalars(s *contenttypes.Schema) *documents.Selection {
	var all documents.Selection
	for _, a := range s.Attributes {
		if a.IsScalar() && documents.FullAccess.Sees(a) {
			all.Fields = append(all.Fields, a)
		}
	}
	return &all
}

// users prints the documents that use a file, as far as the asker may find them.
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
		if !store.Planed(use.attr) {
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
