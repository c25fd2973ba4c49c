package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// Migrate carries out migrations on a store that no process has open, all or none, and returns what they removed. If it is interrupted,
// the next Open, or the same call again, carries out the rest.
//
// model is the model of the project, or nil if that is not known. With a model, Migrate refuses operations that change content alone
// unless the model asks for them.
func Migrate(path string, ms evolve.Migrations, model *contenttypes.Model, opts Options) (removed evolve.Removed, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return removed, fmt.Errorf("there is no store %s, so there is nothing to migrate", path)
	}
	if ms, err = ms.Checked(); err != nil {
		return removed, err
	}
	db, err := openFile(path, opts, openThere)
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := newFile(db, path)
	s.log.limits = opts.Log.withDefaults()
	c, err := s.loadConversion(opts)
	if err != nil {
		return removed, err
	}
	begun := c.pending.Migrations
	if err := c.run(); err != nil {
		return removed, fmt.Errorf("finish the conversion that was begun: %w", err)
	}
	if len(begun) > 0 && begun.String() == ms.String() {
		return c.pending.Removed, nil
	}
	c.pending = pending{Migrations: ms}
	if err := s.read(func(tx *bolt.Tx) (err error) {
		c.pending.Steps, err = s.planner(tx, opts).Migrate(c.catalog, ms, model)
		return err
	}); err != nil {
		return removed, err
	}
	if err := c.run(); err != nil {
		return removed, fmt.Errorf("migrate %s: %w", path, err)
	}
	return c.pending.Removed, nil
}
