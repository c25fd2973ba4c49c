package store

import (
	"bytes"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
)

// load reads the catalog and brings the content in step with the model. Where no definition has changed it reads nothing else
// and writes nothing.
func (s *file) load(model *contenttypes.Model, opts Options) (*Store, error) {
	c, err := s.loadConversion(opts)
	if err != nil {
		return nil, err
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("go on converting %s: %w", s.path, err)
	}
	if changed(model, c.catalog) {
		c.pending = pending{}
		if c.pending.Steps, err = s.plan(model, c.catalog, opts); err != nil {
			return nil, err
		}
		if err := c.run(); err != nil {
			return nil, fmt.Errorf("convert %s: %w", s.path, err)
		}
	}
	bound, err := bind(model, c.catalog)
	if err != nil {
		return nil, err
	}
	return s.newStore(bound), nil
}

// loadConversion reads what the file says of definitions, and what is left of a conversion that was interrupted.
func (s *file) loadConversion(opts Options) (*conversion, error) {
	c := &conversion{store: &Store{file: s}, progress: opts.Progress, hooks: opts.hooks}
	err := s.read(func(tx *bolt.Tx) error {
		meta := s.meta(tx)
		if meta.pages == nil {
			return fmt.Errorf("open store %s: this is no Lectern store", s.path)
		}
		if f := getNumber(meta, keyFormat); f != formatNumber {
			return fmt.Errorf("open store %s: format %d, this version of Lectern reads format %d", s.path, f, formatNumber)
		}
		cat, loc, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		c.catalog = cat
		s.locales.current.Store(loc)
		s.locales.persisted = len(loc.codes) - 1
		c.pending, err = loadPending(meta)
		return err
	})
	return c, err
}

// changed reports whether a model has other definitions than a catalog. Built-in types that are switched off are no change.
func changed(model *contenttypes.Model, cat *catalog) bool {
	same := 0
	differs := func(uid string, definition []byte) bool {
		e := cat.Schemas[uid]
		same++
		return e == nil || !bytes.Equal(e.Definition, definition)
	}
	for _, t := range model.Types {
		if differs(t.UID, t.Definition()) {
			return true
		}
	}
	for _, c := range model.Components {
		if differs(c.UID, c.Definition()) {
			return true
		}
	}
	for uid, e := range cat.Schemas {
		if e.Definition != nil && !isDormant(model, uid) {
			same--
		}
	}
	return same != 0
}

// isDormant reports whether a schema is a built-in type that a model goes without, since its plugin is switched off. Its
// content stays for when it is switched on again.
func isDormant(model *contenttypes.Model, uid string) bool {
	return strings.Contains(uid, "::") && !strings.HasPrefix(uid, "api::") && model.Type(uid) == nil
}

// plan compares a model with what content was written under, and returns the steps that convert it, or a DefinitionError.
func (s *file) plan(model *contenttypes.Model, cat *catalog, opts Options) (steps []*step, err error) {
	err = s.read(func(tx *bolt.Tx) error {
		steps, err = s.planIn(tx, model, cat, opts)
		return err
	})
	return steps, err
}

// planIn is plan in a transaction; the catalog is that of its state.
func (s *file) planIn(tx *bolt.Tx, model *contenttypes.Model, cat *catalog, opts Options) ([]*step, error) {
	c, err := s.compareIn(tx, model, cat, opts)
	if err != nil {
		return nil, err
	}
	return c.steps(), nil
}

// compareIn compares a model with what content was written under; what is refused is a DefinitionError.
func (s *file) compareIn(tx *bolt.Tx, model *contenttypes.Model, cat *catalog, opts Options) (*comparison, error) {
	bound, err := bindStored(cat)
	if err != nil {
		return nil, err
	}
	snap := newSnapshot(&Store{file: s, bound: bound}, tx)
	defer snap.end()
	c := newComparison(snap, cat, model, opts.DefaultLocale)
	c.compare()
	if len(c.refusals) > 0 {
		return nil, c.advise()
	}
	return c, nil
}

// eachKey calls yield with the keys and values of a bucket that begin with prefix.
func (s *Snapshot) eachKey(n bucket, prefix []byte, yield func(k, v []byte) bool) {
	cur := s.bucket(n).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		if !yield(k, v) {
			return
		}
	}
}

// eachRowOf calls yield with all rows of a type.
func (s *Snapshot) eachRowOf(b *boundSchema, yield func(Record)) {
	s.eachKey(rows, be.AppendUint16(nil, b.number), func(k, v []byte) bool {
		s.stats.rows++
		yield(Record{table: s.bound.tables[be.Uint16(v)], slot: slot(be.Uint16(k[2:])), doc: be.Uint64(k[4:]), snap: s, data: v})
		return true
	})
}

// documentCount is how many documents a type has.
func (s *Snapshot) documentCount(b *boundSchema) int {
	n := 0
	s.eachKey(docs, be.AppendUint16(nil, b.number), func(_, _ []byte) bool { n++; return true })
	return n
}

// isEmpty reports whether a type has no row.
func (s *Snapshot) isEmpty(b *boundSchema) bool {
	empty := true
	s.eachKey(rows, be.AppendUint16(nil, b.number), func(_, _ []byte) bool { empty = false; return false })
	return empty
}
