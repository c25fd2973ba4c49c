package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lectern/documents"
	"lectern/store"
	"lectern/store/evolve"
)

// Migrate carries out migrations on the store of the project in dir, all or none, and returns what they removed. The definitions of
// the project are compared with what the store holds then by the next start; here they are looked at only to refuse what removes
// content that fits them. While a server runs that takes over changed definitions, it is asked to: it does what settles the
// definitions as they are, and serves them then.
//
// What fills in values is for Fill.
func Migrate(dir string, ms evolve.Migrations, o Options, progress func(what string, done, total int)) (evolve.Removed, error) {
	path := o.dataPath(dir)
	if err := hasStore(path); err != nil {
		return evolve.Removed{}, err
	}
	data, err := lockDataDir(path)
	if errors.Is(err, ErrBusy) {
		r, dialErr := dialControl(context.Background(), controlPath(path))
		if dialErr != nil {
			return evolve.Removed{}, busyError(path)
		}
		defer r.Close()
		removed, err := r.migrate(context.Background(), ms)
		if errors.Is(err, evolve.ErrNotAsked) {
			return removed, fmt.Errorf("%w: %w", err, busyError(path))
		}
		return removed, err
	}
	if err != nil {
		return evolve.Removed{}, err
	}
	defer data.release()
	opts := store.Options{Progress: progress}
	d, err := Load(dir, o.Extensions)
	if err != nil {
		// What renames and what names definitions that are gone can be done whatever the files say.
		if ms.NeedModel() {
			return evolve.Removed{}, fmt.Errorf("whether the project's definitions ask for this cannot be told while its files have problems:\n%w", err)
		}
		return store.Migrate(data.join(storeName), ms, nil, opts)
	}
	opts.DefaultLocale = d.Settings.I18n.DefaultLocale
	return store.Migrate(data.join(storeName), ms, d.Model, opts)
}

// hasStore refuses to migrate a store that is not there.
func hasStore(data string) error {
	if _, err := os.Stat(filepath.Join(data, storeName)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store in %s, so there is nothing to migrate", data)
	}
	return nil
}

// Fill carries out fillings on the content of the project in dir, by way of the server that runs on it if there is one.
func Fill(ctx context.Context, dir string, ms evolve.Migrations, o Options, progress func(what string, done, total int)) (filled documents.Filled, err error) {
	if err := hasStore(o.dataPath(dir)); err != nil {
		return filled, err
	}
	fillings := make([]documents.Filling, len(ms))
	for i, m := range ms {
		if fillings[i].Attribute = m.Args[0]; len(m.Args) > 1 {
			fillings[i].Value = &m.Args[1]
		}
	}
	a, err := Administer(ctx, dir, o)
	if err != nil {
		return filled, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return a.Fill(ctx, fillings, progress)
}

// fileLockWait is how long a start waits for the lock of the store's file, once it has that of the directory: a process that ends
// lets go of one after the other.
const fileLockWait = 2 * time.Second

// openStore opens a store file for the definitions of the project. When it refuses them, the error names the calls for this
// very project.
func (d *Definition) openStore(path string, o Options, so store.Options) (*store.Store, error) {
	so.LockTimeout = fileLockWait
	so.DefaultLocale = d.Settings.I18n.DefaultLocale
	st, err := store.Open(path, d.Model, so)
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		return nil, d.settledBy(o, err)
	}
	if err != nil {
		return nil, withAccess(fmt.Errorf("open the store: %w", err))
	}
	return st, nil
}
