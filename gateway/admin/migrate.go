package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lectern/documents/misfits"
	"lectern/store"
	"lectern/store/evolve"
)

// fileLockWait is how long to wait for the lock of the store file after the directory is locked. A process that ends
// releases the two locks one after the other.
const fileLockWait = 2 * time.Second

// Migrate carries out migrations on the store, all or none, and reports the content that they removed. It refuses to
// remove content that fits the project's definitions. A running server carries out migrations only if changed files
// that it could not load need them, and then serves those files.
//
// Migrations that fill in values are carried out by Fill.
func (d *Directory) Migrate(ms evolve.Migrations,
	progress func(what string, done, total int)) (removed evolve.Removed, err error) {
	if err := d.requireStore(); err != nil {
		return removed, err
	}
	ctx := store.WithPrincipal(context.Background(),
		store.Principal{Kind: "command", Name: "migrate"}) // a migration that has begun is completed
	err = d.maintain(ctx, Lock, func(m maintainer) error {
		removed, err = m.migrate(ctx, ms, progress)
		return err
	})
	if errors.Is(err, evolve.ErrNotAsked) {
		err = fmt.Errorf("%w: %w", err, BusyError(d.DataPath()))
	}
	return removed, err
}

func (f files) migrate(_ context.Context, ms evolve.Migrations,
	progress func(what string, done, total int)) (evolve.Removed, error) {
	if err := f.RefuseChanges(); err != nil {
		return evolve.Removed{}, err
	}
	path, o := f.data.Join(StoreName),
		store.Options{Progress: progress, Upgrading: f.Upgrading, By: store.Principal{Kind: "command", Name: "migrate"}}
	d, err := f.Load()
	if err != nil {
		// Other migrations, such as renames, do not depend on the definitions.
		if ms.NeedModel() {
			return evolve.Removed{},
				fmt.Errorf("whether the project's definitions ask for this cannot be told while its files "+
					"have problems:\n%w", err)
		}
		return store.Migrate(path, ms, nil, o)
	}
	o.DefaultLocale, o.Log = d.Settings.I18n.DefaultLocale, d.Settings.Server.Log.Limits()
	o.Answers = d.Settings.Server.Idempotency.Limits()
	return store.Migrate(path, ms, d.Model, o)
}

// requireStore returns an error if there is no store to migrate.
func (d *Directory) requireStore() error {
	if _, err := os.Stat(filepath.Join(d.DataPath(), StoreName)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store in %s, so there is nothing to migrate", d.DataPath())
	}
	return nil
}

// Fill carries out the migrations that fill in values.
func (d *Directory) Fill(ctx context.Context, ms evolve.Migrations,
	progress func(what string, done, total int)) (filled misfits.Filled, err error) {
	if err := d.requireStore(); err != nil {
		return filled, err
	}
	fillings := make([]misfits.Filling, len(ms))
	for i, m := range ms {
		if fillings[i].Attribute = m.Args[0]; len(m.Args) > 1 {
			fillings[i].Value = &m.Args[1]
		}
	}
	p, err := d.Administer(ctx)
	if err != nil {
		return filled, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.Fill(ctx, fillings, progress)
}
