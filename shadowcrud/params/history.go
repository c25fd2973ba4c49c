package params

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// A History holds the parameters of a request for the history of a document.
type History struct {
	Paging Paging
	Match  func(store.Status, string) bool // by status and locale; nil: all
}

// History reads the parameters of a request for the history of a document: locale, status and pagination. Drafts are
// left out for a caller who may not read them.
func (p *Parser) History(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*History, error) {
	for _, key := range q.Keys {
		if key != "locale" && key != "status" && key != "pagination" {
			return nil, apierror.UnknownKey(key, "", "query", key)
		}
	}
	r := p.request(t, q, nil, everyIssue)
	h := &History{Paging: r.paging()}
	if err := r.issues.err; err != nil {
		return nil, err
	}
	locale, ok := q.Value("locale").(string)
	if q.Value("locale") != nil && !ok {
		return nil, invalidLocale(q.Value("locale"))
	}
	status, ok := q.Value("status").(string)
	if q.Value("status") != nil && !ok || status != "" && status != "draft" && status != "published" {
		return nil, apierror.Validation(`status must be "draft" or "published"`)
	}
	if status == "draft" && !a.FindsDrafts(t) {
		return nil, apierror.Forbidden()
	}
	if status == "" && !a.FindsDrafts(t) {
		status = "published"
	}
	if byLocale := locale != "" && locale != "*" && t.Localized; byLocale || status != "" {
		h.Match = func(st store.Status, in string) bool {
			return (!byLocale || in == locale) && (status == "" || st.String() == status)
		}
	}
	return h, nil
}

// readAsOf reads the parameter asOf. Filters, sort, search and publication states cannot be combined with it on any
// level, because former versions are not indexed.
func (o *One) readAsOf(q *jsontree.Object) error {
	v, ok := q.Get("asOf")
	if !ok {
		return nil
	}
	if o.AsOf, ok = v.(string); !ok || o.AsOf == "" {
		return apierror.Validation("asOf must be a time such as 2030-01-01T09:00:00Z, or a seq from the history")
	}
	for _, key := range []string{"filters", "sort", "_q", "publicationFilter", "hasPublishedVersion"} {
		if q.Value(key) != nil {
			return notWithAsOf(key)
		}
	}
	return plainPopulate(o.Selection)
}

// plainPopulate returns an error if a populate filters or sorts.
func plainPopulate(s *documents.Selection) error {
	if s == nil {
		return nil
	}
	for i := range s.Populate {
		shown := &s.Populate[i]
		if q := shown.Query; q != nil && (q.Filter != nil || len(q.Sort) > 0) {
			return notWithAsOf("filters and sort in populate")
		}
		if err := plainPopulate(shown.Of); err != nil {
			return err
		}
		for k := range shown.On {
			if shown.On[k].Filter != nil {
				return notWithAsOf("filters and sort in populate")
			}
			if err := plainPopulate(shown.On[k].Of); err != nil {
				return err
			}
		}
	}
	return nil
}

func notWithAsOf(what string) error {
	return apierror.Validation(what + " cannot be combined with asOf")
}
