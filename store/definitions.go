package store

import (
	"cmp"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// load reads the catalog and converts the content if the model differs from it. If it does not differ, load reads no content and writes
// nothing.
func (f *file) load(model *contenttypes.Model, opts Options) (*Store, error) {
	c, err := f.loadConversion(opts)
	if err != nil {
		return nil, err
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("go on converting %s: %w", f.path, err)
	}
	if evolve.Converts(model, c.catalog) {
		c.pending = pending{}
		if c.pending.Steps, err = f.plan(model, c.catalog, opts); err != nil {
			return nil, err
		}
		if err := c.run(); err != nil {
			return nil, fmt.Errorf("convert %s: %w", f.path, err)
		}
	}
	bound, err := bind(model, c.catalog)
	if err != nil {
		return nil, err
	}
	return f.newStore(bound), nil
}

// loadConversion reads the definitions and locales of the file, and what is left of an interrupted conversion.
func (f *file) loadConversion(opts Options) (*conversion, error) {
	c := &conversion{store: &Store{file: f}, progress: opts.Progress, hooks: opts.hooks, by: cmp.Or(opts.By, system)}
	err := f.read(func(tx *bolt.Tx) error {
		meta := f.meta(tx)
		if err := f.checkFormat(meta); err != nil {
			return err
		}
		cat, loc, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		c.catalog = cat
		f.locales.current.Store(loc)
		f.locales.persisted = len(loc.codes) - 1
		f.revised.Store(getNumber(meta, format.KeySequence))
		if f.log.epoch, err = logentry.ParseEpoch(string(format.WithoutChecksum(meta.Get(format.KeyEpoch)))); err != nil {
			return err
		}
		part, last, err := loadPart(meta)
		if err != nil {
			return err
		}
		f.part.Store(part)
		c.last = last
		c.pending, err = loadPending(meta)
		return err
	})
	return c, err
}

// checkFormat returns an error unless the file is a store of the present format.
func (f *file) checkFormat(meta *tree) error {
	if meta.pages == nil {
		return fmt.Errorf("open store %s: this is no Lectern store", f.path)
	}
	if format := getNumber(meta, format.KeyFormat); format != known.newest {
		return fmt.Errorf("open store %s: it has format %d, and this needs format %d; start a server on it first", f.path, format, known.newest)
	}
	return nil
}

// plan returns the steps that convert the content to a model, or a *evolve.DefinitionError.
func (f *file) plan(model *contenttypes.Model, cat *evolve.Catalog, opts Options) (steps []*evolve.Step, err error) {
	err = f.read(func(tx *bolt.Tx) error {
		plan, err := f.planner(tx, opts).Convert(cat, model)
		if err == nil {
			steps = plan.Steps
		}
		return err
	})
	return steps, err
}

// planner returns a Planner for the content that a transaction sees.
func (f *file) planner(tx *bolt.Tx, opts Options) *evolve.Planner {
	return &evolve.Planner{DefaultLocale: opts.DefaultLocale, Content: func(cat *evolve.Catalog) (evolve.Content, error) {
		bound, err := bindStored(cat)
		if err != nil {
			return nil, err
		}
		return content{newSnapshot(&Store{file: f, bound: bound}, tx)}, nil
	}}
}
