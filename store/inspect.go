package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// An Outlook says what Open would do with the content of a store.
type Outlook struct {
	Converts bool // it would convert the content, since the definitions have changed
	// First says what the next Open does before it compares definitions, "" if it compares them at once.
	First string
}

// Inspect says what Open would do with the store file at path for a model, and returns the *evolve.DefinitionError with which Open would
// refuse it. It changes nothing. A missing file counts as a store without content; a file that another process has open is ErrLocked.
//
// If Open would not refuse the model, and Outlook.First is empty, look is called with the content as it will be. look may be nil.
func Inspect(path string, model *contenttypes.Model, opts Options, look func(*Preview) error) (o Outlook, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return o, CheckThere(path)
	}
	db, err := openBolt(path, bolt.Options{Timeout: max(opts.LockTimeout, 50*time.Millisecond), ReadOnly: true}, os.Open)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return newFile(db, path).inspect(model, opts, look)
}

// Inspect says what Redefine would do, as the function Inspect does for Open.
func (s *Store) Inspect(model *contenttypes.Model, opts Options, look func(*Preview) error) (Outlook, error) {
	return s.inspect(model, opts, look)
}

// inspect reads the definitions and the content in one transaction.
func (f *file) inspect(model *contenttypes.Model, opts Options, look func(*Preview) error) (o Outlook, err error) {
	switch u, _, err := f.plannedUpgrade(opts); {
	case err != nil:
		return o, err
	case u.Copy != "":
		o.First = fmt.Sprintf("keeps a copy of the store in %s and brings it from format %d to format %d", filepath.Base(u.Copy), u.From, u.To)
		return o, nil
	case u.From != u.To:
		o.First = fmt.Sprintf("brings the store from format %d to format %d", u.From, u.To)
		return o, nil
	}
	err = f.read(func(tx *bolt.Tx) error {
		meta := f.meta(tx)
		if err := f.checkFormat(meta); err != nil {
			return err
		}
		cat, locales, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		f.locales.current.CompareAndSwap(nil, locales)
		left, err := loadPending(meta)
		switch {
		case err != nil:
			return err
		case len(left.Steps) > 0:
			o.First = "goes on with a conversion that was interrupted"
			return nil
		}
		plan := &evolve.Plan{}
		if o.Converts = evolve.Converts(model, cat); o.Converts {
			if plan, err = f.planner(tx, opts).Convert(cat, model); err != nil {
				return err
			}
		}
		if look == nil {
			return nil
		}
		p, err := f.preview(tx, model, cat, plan)
		if err != nil {
			return err
		}
		defer p.snap.end()
		return look(p)
	})
	return o, err
}

// A Preview is the content of a store as it would be after its conversion to a model. It may be used by one goroutine, until the function
// that it was passed to returns.
type Preview struct {
	snap    *Snapshot
	catalog *evolve.Catalog
	retyped map[*contenttypes.Attribute]*evolve.Retyping
}

// preview returns the Preview of the content after a plan.
func (f *file) preview(tx *bolt.Tx, model *contenttypes.Model, cat *evolve.Catalog, plan *evolve.Plan) (*Preview, error) {
	left, err := cat.Clone() // new numbers must not get into cat
	if err != nil {
		return nil, err
	}
	p := &Preview{catalog: left, retyped: plan.Retyped}
	if plan.Define != nil {
		if err := plan.Define.Apply(left); err != nil {
			return nil, err
		}
	}
	bound, err := bind(model, left)
	if err != nil {
		return nil, err
	}
	p.snap = newSnapshot(&Store{file: f, bound: bound}, tx)
	return p, nil
}

// Model returns the model under which the content is read.
func (p *Preview) Model() *contenttypes.Model { return p.snap.bound.model }

// Each calls yield with all versions of a type. It stops, and returns the error of ctx, when ctx ends.
func (p *Preview) Each(ctx context.Context, t *contenttypes.ContentType, yield func(Record)) error {
	p.snap.eachRowOf(p.snap.bound.of(&t.Schema), func(r Record) {
		if ctx.Err() == nil {
			yield(r)
		}
	})
	return ctx.Err()
}

// Locales returns the codes of all locales that content has or had, "" included.
func (p *Preview) Locales() []string { return p.snap.store.locales.current.Load().codes }

// LocaleCodes returns the codes of all locales that content has or had.
func (s *Snapshot) LocaleCodes() []string { return s.store.locales.current.Load().codes[1:] }

// JSON returns the value of a scalar attribute as it will be after the conversion, nil if it is null.
func (p *Preview) JSON(r Record, a *contenttypes.Attribute) []byte {
	raw := r.JSON(a)
	if by := p.retyped[a]; by != nil && raw != nil {
		raw, _ = evolve.Retype(by.From, by.To, raw) // a value that cannot be converted was refused
	}
	return raw
}

// Indexed reports whether an attribute has a complete index before the conversion.
func (p *Preview) Indexed(a *contenttypes.Attribute) bool { return p.catalog.IsIndexed(a) }

// Equal is Snapshot.Equal, for attributes that are Indexed.
func (p *Preview) Equal(t *contenttypes.ContentType, status Status, locale string, a *contenttypes.Attribute, value []byte, yield func(Record) bool) {
	p.snap.Equal(t, status, locale, a, value, yield)
}

// IndexedInside reports whether the unique attributes inside a component attribute or dynamic zone have a complete index before the conversion.
func (p *Preview) IndexedInside(a *contenttypes.Attribute) bool { return p.catalog.HasInner(a) }

// EqualInside is Snapshot.EqualInside, for paths that begin with an attribute that is IndexedInside.
func (p *Preview) EqualInside(t *contenttypes.ContentType, status Status, locale string, path []*contenttypes.Attribute, value []byte, yield func(Record) bool) {
	p.snap.EqualInside(t, status, locale, path, value, yield)
}

// Related is Snapshot.Related.
func (p *Preview) Related(r Record, a *contenttypes.Attribute, status Status, yield func(Record) bool) {
	p.snap.Related(r, a, status, yield)
}
