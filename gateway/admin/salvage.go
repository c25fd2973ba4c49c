package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lectern/documents/transfer"
	"lectern/store"
	"lectern/store/evolve"
)

// Salvage writes all content that can still be read from a damaged store to w, in the format of Export. It changes
// nothing in the data directory, and fails while a server runs.
func (d *Directory) Salvage(ctx context.Context, w io.Writer) (saved store.Salvage, err error) {
	open, err := d.salvagedOpener()
	if err != nil {
		return saved, err
	}
	data, err := d.lockStopped(lockAsIs)
	if err != nil {
		return saved, err
	}
	defer data.Release()
	temporary, err := os.MkdirTemp("", "lectern-salvage-")
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	path := filepath.Join(temporary, StoreName)
	if saved, err = store.SalvageTo(ctx, data.Join(StoreName), path); err != nil {
		return saved, err
	}
	st, err := open(path)
	if err != nil {
		return saved, fmt.Errorf("open the salvaged copy: %w", err)
	}
	return saved, errors.Join(transfer.Export(ctx, st, st.Model(), w, nil), st.Close())
}

// salvagedOpener returns a function that opens a salvaged copy: under the definitions of the project if its content
// fits them, and otherwise under those that it was stored under. The latter are also those of a node of a cluster,
// beside which there may be none.
func (d *Directory) salvagedOpener() (func(path string) (*store.Store, error), error) {
	if node, err := d.IsNode(); err != nil || node {
		return store.OpenAsIs, err
	}
	def, err := d.Load()
	return func(path string) (*store.Store, error) {
		st, err := d.OpenStore(path, def, store.Options{})
		var refused *evolve.DefinitionError
		if errors.As(err, &refused) {
			return store.OpenAsIs(path)
		}
		return st, err
	}, err
}
