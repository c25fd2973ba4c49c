package documents

import (
	"context"
	"fmt"
	"strings"

	"lectern/store"
)

// A Query finds documents of one type that meet all of its conditions: published ones in the default locale, unless
// Status and Locale are called.
//
//	rows, err := service.Query("api::article.article").
//		Where(documents.Eq("owner.username", "ada"), documents.Gt("readers", 100)).
//		Sort("publishedAt:desc").Limit(10).All(ctx)
//
// It is for trusted code of a program: it checks no permissions. An invalid call is reported as the error of All,
// First, Count or Build. A Query may be used once, by one goroutine.
type Query struct {
	service *Service
	query   store.Query
	where   []Condition
	err     error
}

// Query returns a query for documents of the type with this uid.
func (s *Service) Query(uid string) *Query {
	q := &Query{service: s, query: store.Query{Type: s.model.Type(uid), Limit: -1}}
	if q.query.Type == nil {
		q.err = fmt.Errorf("query: there is no content-type %q", uid)
	}
	return q.Locale(s.defaultLocale)
}

// Where adds conditions, all of which must hold.
func (q *Query) Where(conditions ...Condition) *Query {
	q.where = append(q.where, conditions...)
	return q
}

// Sort orders the documents by attributes, the first one first: "title", "createdAt:desc", "owner.username". Documents
// with equal values, and those of a query without Sort, are ordered by id.
func (q *Query) Sort(keys ...string) *Query {
	for _, key := range keys {
		if q.err == nil {
			q.sort(key)
		}
	}
	return q
}

func (q *Query) sort(key string) {
	path, order, _ := strings.Cut(key, ":")
	attrs, err := pathOf(&q.query.Type.Schema, path)
	if err == nil && order != "" && order != "asc" && order != "desc" {
		err = fmt.Errorf("the order is asc or desc, not %q", order)
	}
	if err != nil {
		q.err = fmt.Errorf("query %s: sort %q: %w", q.query.Type.UID, key, err)
		return
	}
	q.query.Sort = append(q.query.Sort, store.SortKey{Path: attrs, Desc: order == "desc"})
}

// Status selects the published versions or the drafts. Types without drafts have only published versions.
func (q *Query) Status(status store.Status) *Query {
	q.query.Status = status
	return q
}

// Locale selects a localization; "*" selects all. It has no effect on types that are not localized.
func (q *Query) Locale(code string) *Query {
	q.query.Locales = store.LocaleSet{All: code == "*", Codes: []string{code}}
	return q
}

// Limit sets the maximum number of documents; the default is all. Offset sets how many are skipped first.
func (q *Query) Limit(n int) *Query  { q.query.Limit = n; return q }
func (q *Query) Offset(n int) *Query { q.query.Offset = n; return q }

// Build returns the query for a snapshot of the store, for code that reads several things in the same state.
func (q *Query) Build() (store.Query, error) {
	if q.err == nil && len(q.where) > 0 {
		if q.query.Filter, q.err = FilterOf(q.query.Type, q.where...); q.err != nil {
			q.err = fmt.Errorf("query %w", q.err)
		}
	}
	return q.query, q.err
}

// All returns the documents.
func (q *Query) All(ctx context.Context) (rows []*Row, err error) {
	err = q.find(ctx, func(page store.Page) {
		rows = make([]*Row, len(page.Rows))
		for i, r := range page.Rows {
			rows[i] = NewRow(r)
		}
	})
	return rows, err
}

// First returns the first document, nil if there is none.
func (q *Query) First(ctx context.Context) (*Row, error) {
	rows, err := q.Limit(1).All(ctx)
	if len(rows) == 0 || err != nil {
		return nil, err
	}
	return rows[0], nil
}

// Count returns the number of documents. It ignores Limit and Offset.
func (q *Query) Count(ctx context.Context) (n int, err error) {
	q.query.Count, q.query.Limit, q.query.Offset = true, 0, 0
	err = q.find(ctx, func(page store.Page) { n = page.Total })
	return n, err
}

// find runs the query and calls f with the result, within its snapshot.
func (q *Query) find(ctx context.Context, f func(store.Page)) error {
	query, err := q.Build()
	if err != nil {
		return err
	}
	return q.service.store.View(func(s *store.Snapshot) error {
		s.Within(ctx, 0)
		if err := s.Covers(&query); err != nil {
			return err
		}
		page, err := s.Find(&query)
		if err == nil {
			f(page)
		}
		return err
	})
}
