package misfits

import (
	"context"

	"lectern/contenttypes"
	"lectern/store"
)

// maxScanned is the maximum number of versions of a type that MissingIn reads.
const maxScanned = 100_000

// MissingIn counts the required values that stored documents lack. It uses an index of the attribute if there is one;
// otherwise it reads all versions of the type, unless there are more than maxScanned. Find counts without that limit.
func MissingIn(ctx context.Context, st *store.Store, model *contenttypes.Model) (found []Misfit, err error) {
	for _, t := range model.Types {
		if t.BuiltIn && t.UID != contenttypes.UserUID {
			continue
		}
		var counts missingCounts
		if err := counts.in(ctx, st, t); err != nil {
			return nil, err
		}
		for _, m := range counts.list {
			if m.Versions > 0 {
				found = append(found, *m)
			}
		}
	}
	return found, nil
}

// missingCounts counts, for each required attribute of a type and of its components, the versions without a value.
type missingCounts struct {
	list []*Misfit
	attr map[*contenttypes.Attribute]*Misfit
}

func (c *missingCounts) in(ctx context.Context, st *store.Store, t *contenttypes.ContentType) error {
	scanned := c.add(&t.Schema, t, map[*contenttypes.Schema]bool{})
	if len(c.list) == 0 {
		return nil
	}
	for _, status := range store.StatusesOf(t) {
		total := 0
		err := st.View(func(snap *store.Snapshot) (err error) {
			for _, a := range t.Attributes {
				if m := c.attr[a]; m != nil && counted(a) {
					n, err := countRows(snap, t, status, store.Compare{Attr: a, Op: store.Null})
					if err != nil {
						return err
					}
					m.note(status == store.Draft, n)
				}
			}
			total, err = countRows(snap, t, status, nil)
			return err
		})
		if err != nil {
			return err
		}
		if len(scanned) == 0 || total > maxScanned {
			continue
		}
		err = store.EachPage(ctx, st, t, status, func(r store.Record) {
			for _, a := range scanned {
				if lacks(r, a) {
					c.attr[a].note(status == store.Draft, 1)
				}
			}
		}, func(int, int) error { return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Misfit) note(drafts bool, n int) {
	if drafts {
		m.Drafts += n
	} else {
		m.Versions += n
	}
}

// counted reports whether the missing values of an attribute can be counted in an index.
func counted(a *contenttypes.Attribute) bool {
	_, own := a.OwnerType()
	return own && a.IsScalar() && a.Indexed
}

func countRows(snap *store.Snapshot, t *contenttypes.ContentType, st store.Status, f store.Filter) (int, error) {
	page, err := snap.Find(&store.Query{Type: t, Status: st, Locales: store.LocaleSet{All: true}, Filter: f, Limit: 1,
		Count: true})
	return page.Total, err
}

// add registers the required scalars of a schema and of the components in it. It returns those without an index, for
// which rows must be read.
func (c *missingCounts) add(s *contenttypes.Schema, t *contenttypes.ContentType,
	seen map[*contenttypes.Schema]bool) (scanned []*contenttypes.Attribute) {
	if seen[s] {
		return nil
	}
	seen[s] = true
	for _, a := range s.Attributes {
		switch {
		case a.System || a.Type == contenttypes.ID || a.IsRelation():
		case !a.IsScalar():
			for _, comp := range a.AllComponents() {
				scanned = append(scanned, c.add(&comp.Schema, t, seen)...)
			}
		case a.Required:
			if c.attr == nil {
				c.attr = map[*contenttypes.Attribute]*Misfit{}
			}
			c.attr[a] = missingMisfit(t, a)
			c.list = append(c.list, c.attr[a])
			if !counted(a) {
				scanned = append(scanned, a)
			}
		}
	}
	return scanned
}
