package replication

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"lectern/internal/durable"
	"lectern/internal/within"
	"lectern/internal/yamlfile"
)

// Definitions are the files that decide how a project answers: its content-types and components, and the files of
// config/ that are the same on all servers. They contain neither config/server.yaml nor .env, which belong to one
// server.
type Definitions struct {
	Files map[string]string `json:"files"` // text by path
}

// sharedConfig lists the files of config/ that Definitions contain, without their extensions.
var sharedConfig = []string{"api", "plugins", "permissions"}

// contains reports whether Definitions contain the file with a path.
func contains(name string) bool {
	if !fs.ValidPath(name) || strings.ContainsAny(name, `\:`) || strings.ContainsFunc(name, unicode.IsControl) ||
		!slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
		return false
	}
	switch dir, rest, _ := strings.Cut(name, "/"); dir {
	case "content-types", "components":
		return true
	case "config":
		return slices.Contains(sharedConfig, strings.TrimSuffix(rest, path.Ext(rest)))
	}
	return false
}

// ReadDefinitions reads the definition files of a project.
func ReadDefinitions(project fs.FS) (*Definitions, error) {
	d := &Definitions{Files: map[string]string{}}
	for _, dir := range []string{"content-types", "components", "config"} {
		err := fs.WalkDir(project, dir, func(name string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && name == dir {
				return nil
			}
			if err != nil || e.IsDir() || !contains(name) {
				return err
			}
			text, err := yamlfile.ReadFile(project, name)
			d.Files[name] = string(text)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the definitions: %w", err)
		}
	}
	return d, nil
}

// ParseDefinitions parses the JSON of Definitions. It refuses paths of other files.
func ParseDefinitions(text []byte) (*Definitions, error) {
	d := &Definitions{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	return d, nil
}

// check returns an error if a path is not that of a definition file.
func (d *Definitions) check() error {
	for name := range d.Files {
		if !contains(name) {
			return fmt.Errorf("%q is no definition file", name)
		}
	}
	return nil
}

// Encode returns the JSON that ParseDefinitions parses.
func (d *Definitions) Encode() ([]byte, error) { return json.Marshal(d) }

// Hash returns a text that is the same for the same files, and for no others.
func (d *Definitions) Hash() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(d.Files)) {
		fmt.Fprintf(sum, "%d %s %d %s ", len(name), name, len(d.Files[name]), d.Files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Unpack makes the definition files in dir those of d. It leaves all other files alone.
func (d *Definitions) Unpack(dir string) error {
	if err := within.Make(dir, 0o755, d.unpack); err != nil {
		return fmt.Errorf("write the definitions: %w", err)
	}
	return nil
}

func (d *Definitions) unpack(root *os.Root) error {
	if err := d.check(); err != nil {
		return err
	}
	for _, own := range []string{"content-types", "config"} { // what makes a directory a project
		if err := root.MkdirAll(own, 0o755); err != nil {
			return err
		}
	}
	there, err := ReadDefinitions(root.FS())
	if err != nil {
		return err
	}
	for name := range there.Files {
		if _, keep := d.Files[name]; !keep {
			if err := root.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, text := range d.Files {
		if is, ok := there.Files[name]; ok && is == text {
			continue
		}
		if err := durable.WriteIn(root, name, 0o755, writeText([]byte(text))); err != nil {
			return err
		}
	}
	return nil
}

func writeText(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// WriteFile writes a file durably, completely or not at all, and makes its directory if there is none.
func WriteFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return durable.WriteFile(name, writeText(text))
}
