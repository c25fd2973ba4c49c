package rest

import (
	"net/http"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/span"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/qs"
	"lectern/store"
)

// addReads adds the routes that read documents of a type.
func (a *API) addReads(t *contenttypes.ContentType) {
	if t.DraftAndPublish {
		a.addPreview(t)
	}
	if t.Kind == contenttypes.SingleType {
		a.add("GET", "/"+t.Singular, t, "find", (*Route).single)
		a.add("GET", "/"+t.Singular+"/_history", t, "history", (*Route).history)
		return
	}
	a.add("GET", "/"+t.Plural, t, "find", (*Route).list)
	a.add("GET", "/"+t.Plural+"/_deleted", t, historyAction, (*Route).deleted)
	a.add("GET", "/"+t.Plural+"/{documentId}", t, "findOne", (*Route).one)
	a.add("GET", "/"+t.Plural+"/{documentId}/_history", t, "history", (*Route).history)
}

// GET /api/{plural}: a list of documents.
func (rt *Route) list(w http.ResponseWriter, r *http.Request, c Call) error {
	if c.Lines != nil {
		return rt.lines(w, r, c)
	}
	if done, err := rt.unchanged(w, r, &c); done || err != nil {
		return err
	}
	list, err := plan(rt, r, c, (*params.Parser).List)
	if err != nil {
		return err
	}
	p := rt.printer(r, c, list.Query.Status, list.Publication)
	defer p.release()
	p.tagging(rt, r, &c, &list.Query, list.Selection, false)
	err = p.bound.view(rt.api.store, func(s *store.Snapshot) error {
		if err := p.tagger.check(s); err != nil {
			return err
		}
		s.Within(r.Context(), p.bound.limits.Time)
		if err := s.Covers(&list.Query); err != nil {
			return err
		}
		page, err := s.Find(&list.Query)
		if err != nil {
			return err
		}
		p.begin(s)
		p.list(page.Rows, list.Selection)
		p.pagination(&list.Paging, page.Total)
		return p.err
	})
	return p.sendRead(w, err)
}

// GET /api/{plural}/{documentId}: one document.
func (rt *Route) one(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.find(w, r, c, func(s *store.Snapshot, q *store.Query) (store.Record, error) {
		return rt.version(s, c.DocumentID, q), nil
	})
}

// version returns the version of a document that a query names, the zero Record if there is none.
func (rt *Route) version(s *store.Snapshot, documentID string, q *store.Query) store.Record {
	if doc, ok := s.Document(rt.Type, documentID); ok {
		return s.FindVersion(doc, q)
	}
	return store.Record{}
}

// GET /api/{singular}: the document of a single type.
func (rt *Route) single(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.find(w, r, c, func(s *store.Snapshot, q *store.Query) (store.Record, error) {
		if s.IsPast() {
			id, _ := s.Only(rt.Type)
			return rt.version(s, id, q), nil
		}
		page, err := s.Find(q)
		if err != nil || len(page.Rows) == 0 {
			return store.Record{}, err
		}
		return page.Rows[0], nil
	})
}

// find answers with the row that lookup finds, or with 404 if it finds none.
func (rt *Route) find(w http.ResponseWriter, r *http.Request, c Call,
	lookup func(*store.Snapshot, *store.Query) (store.Record, error)) error {
	if done, err := rt.unchanged(w, r, &c); done || err != nil {
		return err
	}
	one, err := plan(rt, r, c, (*params.Parser).One)
	if err != nil {
		return err
	}
	p := rt.printer(r, c, one.Query.Status, one.Publication)
	defer p.release()
	answer := func(s *store.Snapshot) error {
		if err := s.Covers(&one.Query); err != nil {
			return err
		}
		row, err := lookup(s, &one.Query)
		if err != nil {
			return err
		}
		if !row.Exists() {
			return apierror.NotFound()
		}
		p.begin(s)
		p.single(row, one.Selection)
		return p.err
	}
	if one.AsOf != "" {
		if answer, err = rt.asOf(c, one, answer); err != nil {
			return err
		}
	} else {
		p.tagging(rt, r, &c, &one.Query, one.Selection, true)
	}
	err = p.bound.view(rt.api.store, func(s *store.Snapshot) error {
		if err := p.tagger.check(s); err != nil {
			return err
		}
		s.Within(r.Context(), p.bound.limits.Time)
		return answer(s)
	})
	return p.sendRead(w, err)
}

// plan reads the parameters of a request by a method of params.Parser.
func plan[T any](rt *Route, r *http.Request, c Call,
	read func(*params.Parser, *contenttypes.ContentType, *jsontree.Object, *permission.Access) (T, error)) (planned T,
	err error) {
	err = span.Timed(r.Context(), "plan", func() error {
		query, err := ParseQuery(r)
		if err == nil {
			planned, err = read(rt.api.params, rt.Type, query, c.Access)
		}
		return err
	})
	return planned, err
}

// noQuery is the query of a request without a query string. It must not be changed.
var noQuery = jsontree.NewObject()

// ParseQuery returns the parameters in the query string of a request, which the caller must not change. An error is the
// answer to the request.
func ParseQuery(r *http.Request) (*jsontree.Object, error) {
	if r.URL.RawQuery == "" {
		return noQuery, nil
	}
	query, err := qs.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, apierror.Validation(err.Error())
	}
	return query, nil
}

// pagination prints the pagination of a list and the end of the answer.
func (p *printer) pagination(g *params.Paging, total int) {
	p.buf = append(p.buf, `,"meta":{"pagination":{`...)
	begin := len(p.buf)
	member := func(name string, n int) {
		p.key(begin, name)
		p.buf = strconv.AppendInt(p.buf, int64(n), 10)
	}
	if g.ByOffset {
		member("start", g.Start)
		member("limit", g.Limit)
	} else {
		member("page", g.Page)
		member("pageSize", g.PageSize)
	}
	if g.WithCount {
		if !g.ByOffset {
			member("pageCount", pages(total, g.PageSize))
		}
		member("total", total)
	}
	p.buf = append(p.buf, "}}}"...)
}

func pages(total, size int) int {
	if size < 1 {
		return min(total, 1)
	}
	return (total + size - 1) / size
}
