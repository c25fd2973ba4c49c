package definitions

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"lectern/internal/within"
	"lectern/internal/yamlfile"
)

// Files returns the paths of the project's files, sorted.
func (p *Converted) Files() []string { return slices.Sorted(maps.Keys(p.files)) }

// File returns the contents of a file, or nil if there is none of that path.
func (p *Converted) File(name string) []byte {
	if n := p.files[name]; n != nil {
		return yamlfile.Print(n)
	}
	return nil
}

// Write writes the files of the project into dir, which it makes. It replaces no file, and writes none outside of dir,
// whatever the names in the source are.
func (p *Converted) Write(dir string) error {
	if err := within.Make(dir, 0o755, p.write); err != nil {
		return fmt.Errorf("write the project: %w", err)
	}
	return nil
}

func (p *Converted) write(root *os.Root) error {
	for _, name := range []string{"config", "content-types"} { // they may stay empty
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	}
	for _, name := range p.Files() {
		if err := create(root, name, p.File(name), 0o644); err != nil {
			return err
		}
	}
	if p.env != nil {
		return create(root, ".env", p.env, 0o600) // it holds secrets
	}
	return nil
}

func create(root *os.Root, file string, text []byte, mode os.FileMode) error {
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Set sets a value in a file of the project, which it adds if there is none. keys lead to the value.
func (p *Converted) Set(file string, value *yamlfile.Node, keys ...string) {
	if p.files[file] == nil {
		p.files[file] = newWriter().node
	}
	(&writer{p.files[file]}).setAt(value, keys...)
}
