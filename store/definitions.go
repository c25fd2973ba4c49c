package store

import (
	"cmp"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// load reads the catalog and converts the content if the model differs from it. If it does not differ, load reads no content and writes
// nothing.
func (s *file) load(model *contenttypes.Model, opts Options) (*Store, error) {
	c, err := s.loadConversion(opts)
	if err != nil {
		return nil, err
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("go on converting %s: %w", s.path, err)
	}
	if evolve.Changed(model, c.catalog) {
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

// loadConversion reads the definitions and locales of the file, and what is left of an interrupted conversion.
func (s *file) loadConversion(opts Options) (*conversion, error) {
	c := &conversion{store: &Store{file: s}, progress: opts.Progress, hooks: opts.hooks, by: cmp.Or(opts.By, system)}
	err := s.read(func(tx *bolt.Tx) error {
		meta := s.meta(tx)
		if err := s.checkFormat(meta); err != nil {
			return err
		}
		cat, loc, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		c.catalog = cat
		s.locales.current.Store(loc)
		s.locales.persisted = len(loc.codes) - 1
		s.revised.Store(getNumber(meta, keySequence))
		if s.log.epoch, err = parseEpoch(string(textOf(meta.Get(keyEpoch)))); err != nil {
			return err
		}
		part, last, err := loadPart(meta)
		if err != nil {
			return err
		}
		s.part.Store(part)
		c.last = last
		c.pending, err = loadPending(meta)
		return err
	})
	return c, err
}

// checkFormat returns an error unless the file is a store of the present format.
func (s *file) checkFormat(meta *tree) error {
	if meta.pages == nil {
		return fmt.Errorf("open store %s: this is no Lectern store", s.path)
	}
	if f := getNumber(meta, keyFormat); f != Format {
		return fmt.Errorf("open store %s: it has format %d, and this needs format %d; start a server on it first", s.path, f, Format)
	}
	return nil
}

// plan returns the steps that convert the content to a model, or a *evolve.DefinitionError.
func (s *file) plan(model *contenttypes.Model, cat *evolve.Catalog, opts Options) (steps []*evolve.Step, err error) {
	err = s.read(func(tx *bolt.Tx) error {
		plan, err := s.planner(tx, opts).Convert(cat, model)
		if err == nil {
			steps = plan.Steps
		}
		return err
	})
	return steps, err
}

// planner returns a Planner for the content that a transaction sees.
func (s *file) planner(tx *bolt.Tx, opts Options) *evolve.Planner {
	return &evolve.Planner{DefaultLocale: opts.DefaultLocale, Content: func(cat *evolve.Catalog) (evolve.Content, error) {
		bound, err := bindStored(cat)
		if err != nil {
			return nil, err
		}
		return content{newSnapshot(&Store{file: s, bound: bound}, tx)}, nil
	}}
}
