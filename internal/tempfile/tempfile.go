// Package tempfile makes temporary files that have no name, so that nothing is left of them when the process ends in
// any way.
package tempfile

import (
	"errors"
	"fmt"
	"os"
)

// New creates a file in a directory and removes its name there. The file lasts until it is closed. An empty dir is the
// default of the system.
func New(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".lectern-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make a temporary file: %w", err), f.Close())
	}
	return f, nil
}
