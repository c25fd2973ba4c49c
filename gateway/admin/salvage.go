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

// Salvage writes all content that can still be read from a damaged store to w, in the format of Export. It changes nothing in the data
// directory, and fails while a server runs.
func (d *Directory) Salvage(ctx context.Context, w io.Writer) (saved store.Salvage, err error) {
	def, err := d.Load()
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
	st, err := d.OpenStore(path, def, store.Options{})
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) { // write the content by the definitions that it was stored under
		st, err = store.OpenAsIs(path)
	}
	if err != nil {
		return saved, fmt.Errorf("open the salvaged copy: %w", err)
	}
	return saved, errors.Join(documents.Export(ctx, st, st.Model(), w, nil), st.Close())
}
