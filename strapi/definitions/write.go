package definitions

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"lectern/internal/yamlfile"
)

// Files returns the paths of the project's files, sorted.
func (p *Project) Files() []string { return slices.Sorted(maps.Keys(p.files)) }

// File returns the contents of a file, or nil if there is none of that path.
func (p *Project) File(name string) []byte {
	if n := p.files[name]; n != nil {
		return yamlfile.Print(n)
	}
	return nil
}

// Write writes the files of the project into dir, which it makes. It replaces no file.
func (p *Project) Write(dir string) error {
	for _, name := range []string{"config", "content-types"} { // they may stay empty
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("write the project: %w", err)
		}
	}
	for _, name := range p.Files() {
		if err := create(filepath.Join(dir, filepath.FromSlash(name)), p.File(name), 0o644); err != nil {
			return err
		}
	}
	if p.env != nil {
		return create(filepath.Join(dir, ".env"), p.env, 0o600) // it holds secrets
	}
	return nil
}

func create(file string, text []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write the project: %w", err)
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return fmt.Errorf("write the project: %w", err)
	}
	return f.Close()
}

// Set sets a value in a file of the project, which it adds if there is none. keys lead to the value.
func (p *Project) Set(file string, value *yamlfile.Node, keys ...string) {
	if p.files[file] == nil {
		p.files[file] = newWriter().node
	}
	(&writer{p.files[file]}).setAt(value, keys...)
}
