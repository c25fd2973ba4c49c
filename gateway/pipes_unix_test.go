//go:build unix

package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lectern/gateway"
)

// TestPipesAndDevicesAreNotRead checks a project in which a named pipe, a device or a directory lies where a file
// belongs. Reading a pipe would wait for its writer, without end.
func TestPipesAndDevicesAreNotRead(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	device := func(path string) error { return os.Symlink("/dev/zero", path) }
	directory := func(path string) error { return os.Mkdir(path, 0o700) }
	for _, c := range []struct {
		file string
		make func(path string) error
		want string
	}{
		{"content-types/pipe.yaml", pipe, "is a named pipe, not a regular file; remove it, or put a file in its place"},
		{"content-types/pipe.json", pipe, "is a named pipe"},
		{"content-types/zero.yaml", device, "is a device, not a regular file"},
		{"content-types/dir.yaml", directory, "is a directory"},
		{"components", pipe, "is a named pipe, not a directory; remove it, and make a directory in its place"},
		{"components/a/pipe.yaml", pipe, "is a named pipe"},
		{"components/a/dir.yaml", directory, "is a directory"},
		{"config/api.yaml", pipe, "is a named pipe"},
		{"config/plugins.json", pipe, "is a named pipe"},
		{"config/permissions.yml", pipe, "is a named pipe"},
		{"config/webhooks.yaml", pipe, "is a named pipe"},
		{"config/server.yaml", directory, "is a directory, not a regular file"},
		{".env", pipe, "is a named pipe"},
		{".env", device, "is a device"},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := writeProject(t, nil)
			path := filepath.Join(dir, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			_, problems, _, err := gateway.Check(dir, gateway.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if text := problems.Error(); !strings.Contains(text, c.file+": ") || !strings.Contains(text, c.want) {
				t.Errorf("problems: %s", text)
			}
			if _, err := gateway.Open(dir, gateway.Options{LogTo: t.Output()}); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("it opens: %v", err)
			}
			if _, err := gateway.DefinitionFiles(dir); err != nil && !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}
