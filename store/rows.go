package store

import (
	"context"
	"fmt"

	"lectern/contenttypes"
)

// rowsAtOnce is how many rows EachRow and EachPage read at a time, so that their memory does not depend on the content.
const rowsAtOnce = 500

// EachRow calls do with the rows of one type and status, in all locales, in order of id. It ends when ctx does.
func EachRow(ctx context.Context, s *Snapshot, t *contenttypes.ContentType, status Status, do func(Record) error) error {
	for last := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := s.Find(rowsAfter(t, status, last))
		if err != nil {
			return fmt.Errorf("read %s: %w", t.UID, err)
		}
		for _, r := range page.Rows {
			if err := do(r); err != nil {
				return err
			}
			last = r.ID()
		}
		if len(page.Rows) < rowsAtOnce {
			return nil
		}
	}
}

// EachPage calls yield with the rows of one type and status, in all locales, in order of id. Unlike EachRow, it reads each
// page from a new snapshot, so that it may take long. It calls next after each page.
func EachPage(
	ctx context.Context, s *Store, t *contenttypes.ContentType, status Status, yield func(Record), next func(done, total int) error,
) error {
	total, done := 0, 0
	for last := uint64(0); ; {
		rows := 0
		err := s.View(func(snap *Snapshot) error {
			q := rowsAfter(t, status, last)
			q.Count = last == 0
			page, err := snap.Find(q)
			if last == 0 {
				total = page.Total
			}
			rows = len(page.Rows)
			for _, r := range page.Rows {
				last = r.ID()
				yield(r)
			}
			return err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || rows == 0 {
			return err
		}
		done += rows
		if err := next(done, max(done, total)); err != nil {
			return err
		}
	}
}

// rowsAfter returns the query of the next rowsAtOnce rows after the one with the id last.
func rowsAfter(t *contenttypes.ContentType, status Status, last uint64) *Query {
	id := t.Attribute("id")
	return &Query{
		Type: t, Status: status, Locales: LocaleSet{All: true}, Sort: []SortKey{{Path: []*contenttypes.Attribute{id}}},
		Filter: Compare{Attr: id, Op: Gt, Values: []any{float64(last)}}, Limit: rowsAtOnce,
	}
}

// HasLocalization reports whether a document has a version in this locale.
func HasLocalization(s *Snapshot, t *contenttypes.ContentType, doc uint64, locale string) bool {
	return s.Version(t, doc, Published, locale).Exists() || t.DraftAndPublish && s.Version(t, doc, Draft, locale).Exists()
}
