package rest

import (
	"net/http"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// GET /api/{plural}/_deleted: the documents that were deleted, the last one first.
func (rt *Route) deleted(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.past(w, r, c, func(p *printer, s *store.Snapshot, asked *params.History) (total int, err error) {
		q := store.DeletedQuery{Type: rt.Type, Match: asked.Match,
			Offset: asked.Paging.Start, Limit: asked.Paging.Limit}
		if c.Access.HasRules() {
			q.Visible = rt.visibleTo(c.Access)
		}
		list, total, err := s.Deleted(q)
		if err != nil {
			return 0, err
		}
		p.begin(s)
		p.deleted(list)
		return total, nil
	})
}

// deleted prints documents that were deleted.
func (p *printer) deleted(list []store.DeletedDocument) {
	p.buf = append(p.buf, '[')
	for i := range list {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		d := &list[i]
		versions := make([]any, len(d.Versions))
		for k, v := range d.Versions {
			versions[k] = jsontree.ObjectOf("locale", localeOrNull(v.Locale), "status", v.Status.String())
		}
		p.buf = jsontree.Append(p.buf, jsontree.ObjectOf("documentId", d.DocumentID, "seq", d.Position.String(),
			"before", d.Before.String(), "at", d.Time.UTC().Format(contenttypes.TimeFormat), "by", p.writer(d.By),
			"versions", versions))
	}
	p.buf = append(p.buf, ']')
}

// writer returns who has written something, as the caller sees it.
func (p *printer) writer(by store.Principal) *jsontree.Object {
	return jsontree.ObjectOf("kind", by.Kind, "name", p.nameOf(by))
}

func localeOrNull(code string) any {
	if code == "" {
		return nil
	}
	return code
}
