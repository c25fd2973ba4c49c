package gateway

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"lectern/documents/transfer"
)

// The projects that Init and InitEmpty write: initproject is the example, initempty holds what an empty project has in
// its place. A file "gitignore" is written as .gitignore.
//
//go:embed initproject initempty
var initProjects embed.FS

const (
	initRoot    = "initproject"
	emptyRoot   = "initempty"
	initContent = "content/example.jsonl"
)

// InitResult is the number of files and documents' versions that Init made.
type InitResult struct{ Files, Versions int }

// Init writes an example project into dir and imports its content, so that it is ready to be served. dir may exist as
// long as nothing in it would be overwritten.
func Init(ctx context.Context, dir string, o Options) (InitResult, error) {
	files, err := initFiles(initRoot)
	if err != nil {
		return InitResult{}, err
	}
	if err := writeProject(dir, files); err != nil {
		return InitResult{}, err
	}
	p, err := Open(dir, o)
	if err != nil {
		return InitResult{}, err
	}
	imported, err := p.Import(ctx, bytes.NewReader(files[initContent]), transfer.ImportOptions{})
	return InitResult{Files: len(files), Versions: imported.Versions}, errors.Join(err, p.Close())
}

// InitEmpty writes a project without content-types and content into dir, which may exist as long as nothing in it would
// be overwritten.
func InitEmpty(dir string) (InitResult, error) {
	example, err := initFiles(initRoot)
	if err != nil {
		return InitResult{}, err
	}
	files, err := initFiles(emptyRoot)
	if err != nil {
		return InitResult{}, err
	}
	for _, name := range []string{"config/server.yaml", "config/api.yaml", "gitignore"} {
		files[name] = example[name]
	}
	if err := writeProject(dir, files); err != nil {
		return InitResult{}, err
	}
	for _, name := range []string{"content-types", "components"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return InitResult{}, err
		}
	}
	return InitResult{Files: len(files)}, nil
}

// writeProject writes the files of a project into dir, unless there is one already.
func writeProject(dir string, files map[string][]byte) error {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range append([]string{"data", "content-types", "config"}, names...) {
		if file := filepath.Join(dir, initTarget(name)); exists(file) {
			return fmt.Errorf("%s is there already; name a directory without a project in it", file)
		}
	}
	for _, name := range names {
		file := filepath.Join(dir, initTarget(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// exists reports whether something has the path, or may have it.
func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// initFiles returns the texts of the files below a root of initProjects, by path.
func initFiles(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(initProjects, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[name[len(root)+1:]], err = initProjects.ReadFile(name)
		return err
	})
	return files, err
}

// initTarget returns the path at which a file is written.
func initTarget(name string) string {
	if name == "gitignore" {
		return ".gitignore"
	}
	return filepath.FromSlash(name)
}
