package store

import (
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// dropIndex carries out evolve.DropIndex.
func (c *chunk) dropIndex(d *evolve.DropIndex) (bool, error) {
	prefix := be.AppendUint16(be.AppendUint16(nil, d.Schema), d.Field)
	for _, n := range []format.Bucket{format.Index, format.Groups, format.Spans} {
		removed, last, err := c.deletePrefix(n, prefix)
		if n == format.Index {
			c.at.Done += removed
		}
		if err != nil || !last {
			return false, err
		}
	}
	return true, nil
}

// deletePrefix removes the next keys with a prefix, and reports whether these were the last. It removes links at both ends.
func (c *chunk) deletePrefix(n format.Bucket, prefix []byte) (removed int, last bool, err error) {
	at := c.at.After
	c.at.After = nil // start at the prefix, since the keys before the position are removed
	keys, last := c.keys(n, prefix, 4*c.limit())
	c.at.After = at
	for _, k := range keys {
		if n == format.Links {
			v := c.get(format.Links, k)
			if v == nil {
				continue // removed with its other end
			}
			twin := format.LinkTwin(k, v)
			c.logLinkKey(logentry.DeleteLink, k, v)
			c.delete(format.Links, k)
			c.delete(format.Links, twin)
			continue
		}
		if err := c.bucket(n).Delete(k); err != nil {
			return 0, false, err
		}
	}
	return len(keys), last, nil
}

// buildIndex carries out evolve.BuildIndex.
func (c *chunk) buildIndex(s *evolve.BuildIndex) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	b, e := c.bound.of(&t.Schema), c.conversion.catalog.Schemas[s.Type]
	missing := slices.DeleteFunc(slices.Clone(t.Attributes), func(a *contenttypes.Attribute) bool {
		return !evolve.HasIndex(a) || slices.Contains(e.Indexed, b.fields[a.Index])
	})
	done, err := c.eachRow(t, func(r Record) error {
		for _, a := range missing {
			c.indexer.add(indexKey(b, a, r), r.doc)
		}
		return nil
	})
	if done {
		for _, a := range missing {
			e.Indexed = append(e.Indexed, b.fields[a.Index])
		}
		slices.Sort(e.Indexed)
		c.conversion.dirty = true
	}
	return done, err
}
