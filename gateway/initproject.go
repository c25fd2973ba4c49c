package gateway

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// The example project that Init writes. A file "gitignore" is written as .gitignore.
//
//go:embed initproject
var initProject embed.FS

const (
	initRoot    = "initproject"
	initContent = "content/example.jsonl"
)

// InitResult is the number of files and documents' versions that Init made.
type InitResult struct{ Files, Versions int }

// Init writes an example project into dir and imports its content, so that it is ready to be served. dir may exist as long as nothing
// in it would be overwritten.
func Init(ctx context.Context, dir string, o Options) (InitResult, error) {
	files, err := initFiles()
	if err != nil {
		return InitResult{}, err
	}
	for _, name := range append([]string{"data", "content-types", "config"}, files...) {
		if _, err := os.Lstat(filepath.Join(dir, initTarget(name))); !errors.Is(err, fs.ErrNotExist) {
			return InitResult{}, fmt.Errorf("%s is there already; name a directory without a project in it", filepath.Join(dir, initTarget(name)))
		}
	}
	for _, name := range files {
		text, err := initProject.ReadFile(path.Join(initRoot, name))
		if err != nil {
			return InitResult{}, err
		}
		file := filepath.Join(dir, initTarget(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return InitResult{}, err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return InitResult{}, err
		}
	}
	p, err := Open(dir, o)
	if err != nil {
		return InitResult{}, err
	}
	content, err := initProject.ReadFile(path.Join(initRoot, initContent))
	if err != nil {
		return InitResult{}, errors.Join(err, p.Close())
	}
	imported, err := p.Import(ctx, bytes.NewReader(content), false, nil)
	return InitResult{Files: len(files), Versions: imported.Versions}, errors.Join(err, p.Close())
}

// initFiles lists the files of the example project.
func initFiles() (files []string, err error) {
	err = fs.WalkDir(initProject, initRoot, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name[len(initRoot)+1:])
		}
		return err
	})
	return files, err
}

// initTarget returns the path at which a file of the example project is written.
func initTarget(name string) string {
	if name == "gitignore" {
		return ".gitignore"
	}
	return filepath.FromSlash(name)
}
