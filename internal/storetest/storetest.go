// Package storetest loads definitions, opens stores and compares exports for tests.
package storetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"lectern/contenttypes"
	"lectern/store"
)

// A TB is what testing.TB and rapid.T have in common.
type TB interface {
	Helper()
	Error(...any)
	Fatal(...any)
	Cleanup(func())
}

// Files returns a file system with files given by name.
func Files(files map[string]string) fs.FS {
	project := fstest.MapFS{}
	for name, text := range files {
		project[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return project
}

// Archive returns a file system with the files of a txtar archive.
func Archive(t TB, path string) fs.FS {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	project := fstest.MapFS{}
	for _, f := range archive.Files {
		project[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return project
}

// Model loads the definitions of a project, which must have no problems.
func Model(t TB, project fs.FS) *contenttypes.Model {
	t.Helper()
	model, problems := contenttypes.LoadFS(project, contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return model
}

// Open opens an empty store. When the test ends, it checks the store's consistency and closes it.
func Open(t TB, model *contenttypes.Model) *store.Store {
	t.Helper()
	return OpenWith(t, model, store.Options{})
}

// OpenWith is Open with options of the store.
func OpenWith(t TB, model *contenttypes.Model, o store.Options) *store.Store {
	t.Helper()
	dir, err := os.MkdirTemp("", "storetest-") // a rapid.T has no TempDir
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(filepath.Join(dir, "content.db"), model, o)
	if err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(st.Check(), st.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return st
}
