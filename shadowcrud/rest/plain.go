package rest

import (
	"context"
	"slices"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/store"
)

// A Plain prints documents without the envelope {data, meta}, as the routes of files and users have them.
type Plain struct {
	API    *API
	Access *permission.Access
	Limits *AnswerLimits // nil: the default ones
	// Status is the status of the related documents that are printed.
	Status store.Status
	// Memory is the memory of the answer, which the caller releases; nil: no limit.
	Memory *budget.Answer
	// Last is added to the end of each document, as members of its object, such as `"isUrlSigned":false`. It may be
	// empty.
	Last string
}

// view calls read with a snapshot, within the limits.
func (f *Plain) view(ctx context.Context, read func(*store.Snapshot) error) error {
	b := f.bound(ctx)
	return b.view(f.API.store, func(s *store.Snapshot) error {
		s.Within(ctx, b.limits.Time)
		return read(s)
	})
}

// List returns the documents that a query finds, as an array.
func (f *Plain) List(ctx context.Context, q *store.Query, shown *documents.Selection) (body []byte, err error) {
	err = f.view(ctx, func(s *store.Snapshot) error {
		page, err := s.Find(q)
		if err != nil {
			return err
		}
		body, err = f.appendList(ctx, nil, s, page.Rows, shown)
		return err
	})
	return body, err
}

// Count returns how many documents a query finds, on all pages.
func (f *Plain) Count(ctx context.Context, q store.Query) (total int, err error) {
	q.Offset, q.Limit, q.Count, q.Sort = 0, 0, true, nil
	err = f.view(ctx, func(s *store.Snapshot) error {
		page, err := s.Find(&q)
		total = page.Total
		return err
	})
	return total, err
}

// One returns the document that look finds as an object; nil if there is none or it does not match the filter of q.
func (f *Plain) One(ctx context.Context, q *store.Query, shown *documents.Selection,
	look func(*store.Snapshot) store.Record) (body []byte, err error) {
	err = f.view(ctx, func(s *store.Snapshot) error {
		row := look(s)
		if !row.Exists() || q.Filter != nil && !s.Matches(row, q.Filter, q.Status) {
			return nil
		}
		body, err = f.Append(ctx, nil, s, row, shown)
		return err
	})
	return body, err
}

// Append appends a document of a snapshot as an object.
func (f *Plain) Append(ctx context.Context, dst []byte, s *store.Snapshot, row store.Record,
	shown *documents.Selection) ([]byte, error) {
	p := f.printer(ctx, dst, s)
	defer p.releaseLoader()
	f.print(p, p.load([]store.Record{row}, plainShape(shown)), 0)
	return p.buf, p.err
}

// appendList appends documents as an array.
func (f *Plain) appendList(ctx context.Context, dst []byte, s *store.Snapshot, rows []store.Record,
	shown *documents.Selection) ([]byte, error) {
	p := f.printer(ctx, dst, s)
	defer p.releaseLoader()
	top := p.load(rows, plainShape(shown))
	begin := p.open(true)
	for i := range rows {
		if p.err != nil {
			break
		}
		p.next(begin)
		f.print(p, top, i)
	}
	p.close(begin, true)
	return p.buf, p.err
}

func (f *Plain) printer(ctx context.Context, dst []byte, s *store.Snapshot) *printer {
	return &printer{api: f.API, access: f.Access, status: f.Status, buf: dst, snapshot: s, bound: f.bound(ctx)}
}

// bound returns the bound of an answer.
func (f *Plain) bound(ctx context.Context) bound {
	limits := f.Limits
	if limits == nil {
		limits = unlimited
	}
	if f.Memory == nil {
		memory := (&AnswerLimits{Bytes: limits.Bytes}).Answer()
		f.Memory = &memory
	}
	return bound{ctx: ctx, limits: limits, memory: f.Memory}
}

// plainShape returns the shape of documents with a selection. The populate of the documents that use a file becomes
// shape.used, since it is not a relation of the store.
func plainShape(shown *documents.Selection) shape {
	isUse := func(x documents.Populate) bool { return x.Related && x.Of == nil }
	if !slices.ContainsFunc(shown.Populate, isUse) {
		return shape{Selection: shown}
	}
	rest := slices.DeleteFunc(slices.Clone(shown.Populate), isUse)
	return shape{Selection: &documents.Selection{Fields: shown.Fields, Populate: rest}, used: true}
}

// print prints row i of a level.
func (f *Plain) print(p *printer, l *level, i int) {
	p.document(l, i)
	if f.Last == "" || p.err != nil {
		return
	}
	p.buf = p.buf[:len(p.buf)-1]
	if p.buf[len(p.buf)-1] != '{' {
		p.buf = append(p.buf, ',')
	}
	p.buf = append(p.buf, f.Last...)
	p.buf = append(p.buf, '}')
}
