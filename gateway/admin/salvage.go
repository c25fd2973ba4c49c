package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lectern/documents"
	"lectern/store"
	"lectern/store/evolve"
)

// Salvage writes what can be read of a store to w, in the format of Export, however damaged the store is. It changes nothing in the
// data directory, and fails while a server runs.
func (d *Directory) Salvage(ctx context.Context, w io.Writer) (saved store.Salvage, err error) {
	def, err := d.Load()
	if err != nil {
		return saved, err
	}
	data, err := lockAsIs(d.DataPath())
	if errors.Is(err, ErrBusy) {
		return saved, BusyError(d.DataPath())
	}
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
	if saved, err = store.SalvageTo(data.Join(StoreName), path); err != nil {
		return saved, err
	}
	st, err := d.OpenStore(path, def, store.Options{})
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) { // the content is then written as it was stored
		st, err = store.OpenAsIs(path)
	}
	if err != nil {
		return saved, fmt.Errorf("open what is saved: %w", err)
	}
	return saved, errors.Join(documents.Export(ctx, st, st.Model(), w, nil), st.Close())
}
