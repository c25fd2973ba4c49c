package documents

import (
	"context"
	"fmt"
	"strings"

	"lectern/store"
)

// A Query asks for documents of one type: those that meet all of its conditions, published, in the default locale, unless it says
// otherwise.
//
//	rows, err := service.Query("api::article.article").
//		Where(documents.Eq("owner.username", "ada"), documents.Gt("readers", 100)).
//		Sort("publishedAt:desc").Limit(10).All(ctx)
//
// It is for the code of a program, which may see everything: no permission is asked for. What is wrong with a query is the error of
// the call that runs it. A Query is used once, by one goroutine.
type Query struct {
	service *Service
	query   store.Query
	where   []Condition
	err     error
}

// Query begins a question for documents of the type of that uid.
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

// Sort orders by attributes, the first one first: "title", "createdAt:desc", "owner.username". Documents that are equal in them, or
// where nothing is said, are in the order of their ids.
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

// Status says which version is looked at: published, or the draft. Types without drafts have published versions alone.
func (q *Query) Status(status store.Status) *Query {
	q.query.Status = status
	return q
}

// Locale says which localization is looked at; "*" is all of them. It has no effect on types that are not localized.
func (q *Query) Locale(code string) *Query {
	q.query.Locales = store.LocaleSet{All: code == "*", Codes: []string{code}}
	return q
}

// Limit is how many documents are wanted at most; without it all are. Offset is how many are passed over before.
func (q *Query) Limit(n int) *Query  { q.query.Limit = n; return q }
func (q *Query) Offset(n int) *Query { q.query.Offset = n; return q }

// Build is the query for a snapshot of the store, for who reads more than one thing in the same state.
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

// First returns the first document, nil where there is none.
func (q *Query) First(ctx context.Context) (*Row, error) {
	rows, err := q.Limit(1).All(ctx)
	if len(rows) == 0 || err != nil {
		return nil, err
	}
	return rows[0], nil
}

// Count returns how many documents there are, whatever Limit and Offset say.
func (q *Query) Count(ctx context.Context) (n int, err error) {
	q.query.Count, q.query.Limit, q.query.Offset = true, 0, 0
	err = q.find(ctx, func(page store.Page) { n = page.Total })
	return n, err
}

// find calls f with what is found, within its snapshot.
func (q *Query) find(ctx context.Context, f func(store.Page)) error {
	query, err := q.Build()
	if err != nil {
		return err
	}
	return q.service.store.View(func(s *store.Snapshot) error {
		s.Within(ctx, 0)
		page, err := s.Find(&query)
		if err == nil {
			f(page)
		}
		return err
	})
}
