//go:build unix

package within_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// pipe makes a named pipe in a directory.
func pipe(t *testing.T, dir string) string {
	t.Helper()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "pipe"
}
