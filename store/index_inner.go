package store

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// An inner index finds the rows in whose components a unique attribute has a value. It exists for each component
// attribute or dynamic zone of a type inside which something is unique, and serves unique checks only: queries do not
// use it.
//
// Its space is that of the attribute of the type. A key has the path of the value, which is the number of the schema
// and of the field of each attribute on the way from the component to the value (Attribute.UniquePaths), then the value
// as in other indexes, and the id of the row. No path is the beginning of another, so the keys of one path stand
// together. A row has one entry for each value, however many components have it. Null and the empty text have none,
// since they are never compared.
type innerIndex struct {
	attr  *contenttypes.Attribute
	paths []innerPath
}

type innerPath struct {
	attrs []*contenttypes.Attribute // begins with attr of the index
	key   []byte                    // the path as it is in keys
}

// innerIndexes compiles the inner indexes of a type that are complete.
func (b *binding) innerIndexes(c *evolve.Catalog, s *boundSchema) (list []innerIndex) {
	for _, a := range s.schema.Attributes {
		if c.HasInner(a) {
			list = append(list, b.innerIndex(a))
		}
	}
	return list
}

func (b *binding) innerIndex(a *contenttypes.Attribute) innerIndex {
	x := innerIndex{attr: a}
	for _, path := range a.UniquePaths() {
		x.paths = append(x.paths, innerPath{attrs: path, key: b.pathKey(path)})
	}
	return x
}

func (b *binding) pathKey(path []*contenttypes.Attribute) (key []byte) {
	for _, a := range path[1:] {
		s := b.of(a.Owner)
		key = be.AppendUint16(be.AppendUint16(key, s.number), s.fields[a.Index])
	}
	return key
}

// keys returns the keys of a row of a type in the index, in order. The row may be the zero Record.
func (x *innerIndex) keys(b *boundSchema, r Record) (keys [][]byte) {
	if !r.Exists() {
		return nil
	}
	space := format.AppendSpace(nil, b.number, b.fields[x.attr.Index], r.slot)
	for _, p := range x.paths {
		leaf := p.attrs[len(p.attrs)-1]
		r.EachInside(p.attrs, func(raw []byte) bool {
			if raw != nil && string(raw) != `""` {
				key := append(append(make([]byte, 0, format.SpaceLen+len(p.key)+format.MaxIndexed+16), space...),
					p.key...)
				keys = append(keys, be.AppendUint64(format.AppendOrdered(key, leaf.Type, raw), r.ID()))
			}
			return true
		})
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

// EachInside calls yield with the stored JSON of each value at the end of a path, nil for null, until yield returns
// false. The path begins with an attribute of r and leads through those of components. all reports whether yield was
// called for every value.
func (r Record) EachInside(path []*contenttypes.Attribute, yield func(raw []byte) bool) (all bool) {
	if len(path) == 1 {
		return yield(r.JSON(path[0]))
	}
	all = true
	r.Each(path[0], func(item Record) bool {
		if item.Schema() == path[1].Owner { // and not another component of a zone
			all = item.EachInside(path[1:], yield)
		}
		return all
	})
	return all
}

// reindexInner replaces the entries of the row old in an inner index by those of next. Either may be the zero Record,
// for none.
func (tx *Tx) reindexInner(b *boundSchema, x *innerIndex, old, next Record) {
	was, is := x.keys(b, old), x.keys(b, next)
	for _, key := range was {
		if _, stays := slices.BinarySearchFunc(is, key, bytes.Compare); !stays {
			tx.indexer.remove(key)
		}
	}
	for _, key := range is {
		if _, there := slices.BinarySearchFunc(was, key, bytes.Compare); !there {
			tx.indexer.add(key, next.doc)
		}
	}
}

// EqualInside calls yield, in order of id, with the rows of (t, status, locale) that have exactly this value, given as
// stored JSON, at the end of a path, which is one of the UniquePaths of a component attribute or dynamic zone of t.
// Unique checks use it.
func (s *Snapshot) EqualInside(t *contenttypes.ContentType, status Status, locale string,
	path []*contenttypes.Attribute, value []byte, yield func(Record) bool) {
	sl, ok := s.slot(t, status, locale)
	if !ok {
		return
	}
	b := s.bound.of(&t.Schema)
	prefix := append(format.AppendSpace(nil, b.number, b.fields[path[0].Index], sl), s.bound.pathKey(path)...)
	at := len(prefix)
	prefix = format.AppendOrdered(prefix, path[len(path)-1].Type, value)
	s.eachEqual(b, sl, prefix, func(r Record) bool {
		other := format.IsCut(prefix[at:]) &&
			r.EachInside(path, func(raw []byte) bool { return !bytes.Equal(raw, value) })
		return other || yield(r)
	})
}

// buildInner carries out evolve.BuildInner.
func (c *chunk) buildInner(s *evolve.BuildInner) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	b, e := c.bound.of(&t.Schema), c.conversion.catalog.Schemas[s.Type]
	var missing []innerIndex
	for _, a := range t.Attributes {
		if c.conversion.catalog.LacksInner(a) {
			missing = append(missing, c.bound.innerIndex(a))
		}
	}
	done, err := c.eachRow(t, func(r Record) error {
		for i := range missing {
			c.reindexInner(b, &missing[i], Record{}, r)
		}
		return nil
	})
	if done {
		for _, x := range missing {
			if e.Inner == nil {
				e.Inner = map[uint16]string{}
			}
			e.Inner[b.fields[x.attr.Index]] = c.conversion.catalog.InnerKeys(x.attr)
		}
		c.conversion.dirty = true
	}
	return done, err
}
