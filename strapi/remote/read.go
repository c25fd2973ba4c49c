package remote

import (
	"context"
	"errors"
	"fmt"

	"lectern/jsontree"
)

// readListing reads a listing to its end. Pages that are staged already are not asked for again.
func (r *reader) readListing(ctx context.Context, l *listing) error {
	var cursor uint64
	total, count := int64(-1), int64(0)
	size := r.o.PageSize
	for n := 1; ; n++ {
		h, ok, err := r.staging.readPage(l, n, nil)
		if err != nil {
			return err
		}
		if !ok {
			if h, err = r.readPage(ctx, l, n, cursor, &size); err != nil {
				return err
			}
		}
		if h.end() {
			return nil
		}
		if n == 1 {
			total = h.total
		}
		cursor = h.cursor
		count += int64(h.rows)
		if limit := 2*total + slack; total >= 0 && count > limit || count > maxRows {
			return fmt.Errorf("GET %s: the server gives more rows than it counts: %d, and it counted %d", l.path, count,
				total)
		}
		r.progress(func(p *Progress) { p.Rows += int64(h.rows) })
	}
}

const (
	slack   = 10_000      // rows that may be new since the server counted
	maxRows = 100_000_000 // of a listing
)

// readPage reads and stages the n-th page of a listing: the rows after cursor. It makes *size smaller if the server
// does not manage pages of that size.
func (r *reader) readPage(ctx context.Context, l *listing, n int, cursor uint64, size *int) (header, error) {
	if l.schema.single {
		return r.readSingle(ctx, l, n)
	}
	params := after(cursor)
	if n > 1 && !l.bare {
		params = append(params, "pagination[withCount]=false")
	}
	p, err := r.list(ctx, l, *size, params)
	for *size > 1 && errors.Is(err, errTooLarge) {
		*size = max(1, *size/4)
		p, err = r.list(ctx, l, *size, params)
	}
	if err != nil {
		return header{}, err
	}
	h := header{total: p.total, rows: len(p.rows), cursor: cursor}
	for _, row := range p.rows {
		id, _ := idOf(row) // checked by request
		if id <= h.cursor {
			return header{}, l.outOfOrder(id, h.cursor)
		}
		h.cursor = id
	}
	if err := r.checkRows(l, p.rows); err != nil {
		return header{}, err
	}
	return h, r.staging.addPage(l, n, h, p.rows)
}

// readSingle stages the rows of a single type as the first page, and an empty second one.
func (r *reader) readSingle(ctx context.Context, l *listing, n int) (header, error) {
	if n > 1 {
		return header{}, r.staging.addPage(l, n, header{}, nil)
	}
	p, err := r.single(ctx, l)
	if err == nil {
		err = r.checkRows(l, p.rows)
	}
	if err != nil {
		return header{}, err
	}
	h := header{rows: len(p.rows), total: -1}
	return h, r.staging.addPage(l, n, h, p.rows)
}

// checkRows makes sure that rows have all that was asked for. Strapi leaves out silently what a token may not see.
func (r *reader) checkRows(l *listing, rows []*jsontree.Object) error {
	for _, row := range rows {
		if _, err := r.definitions.split(l.schema, row, func(linkFrom) {}); err != nil {
			return fmt.Errorf("GET %s: row %v: %w", l.path, row.Value("id"), err)
		}
	}
	return nil
}
