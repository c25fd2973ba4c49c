package documents

import (
	"context"
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// maxScanned is how many versions of a type MissingIn reads to find missing values for which there is no index.
const maxScanned = 100_000

// MissingIn finds the required values that stored documents lack, with little work. It counts in an index where an attribute has one.
// Otherwise it reads all versions of the type, unless there are more than 100,000: AuditOf finds what such a type lacks in attributes
// without an index and in components.
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

// missingCounts are the required attributes of a type and of the components in it, with how many versions lack each.
type missingCounts struct {
	list []*Misfit
	attr map[*contenttypes.Attribute]*Misfit
}

func (c *missingCounts) in(ctx context.Context, st *store.Store, t *contenttypes.ContentType) error {
	scanned := c.add(&t.Schema, t, map[*contenttypes.Schema]bool{})
	if len(c.list) == 0 {
		return nil
	}
	for _, status := range statusesOf(t) {
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
		err = eachPage(ctx, st, t, status, func(r store.Record) {
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

// counted reports whether an attribute has an index in which missing values are counted.
func counted(a *contenttypes.Attribute) bool {
	_, own := a.OwnerType()
	return own && a.IsScalar() && a.Indexed
}

func countRows(snap *store.Snapshot, t *contenttypes.ContentType, st store.Status, f store.Filter) (int, error) {
	page, err := snap.Find(&store.Query{Type: t, Status: st, Locales: store.LocaleSet{All: true}, Filter: f, Limit: 1, Count: true})
	return page.Total, err
}

// add registers the required scalars of a schema and of the components in it. It returns those for which rows must be read.
func (c *missingCounts) add(s *contenttypes.Schema, t *contenttypes.ContentType, seen map[*contenttypes.Schema]bool) (scanned []*contenttypes.Attribute) {
	if seen[s] {
		return nil
	}
	seen[s] = true
	for _, a := range s.Attributes {
		switch {
		case a.System || a.Type == contenttypes.ID || a.IsRelation():
		case !a.IsScalar():
			for _, comp := range append(slices.Clone(a.Components), a.Component) {
				if comp != nil {
					scanned = append(scanned, c.add(&comp.Schema, t, seen)...)
				}
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
