package gateway

import (
	"errors"
	"os"
	"path/filepath"

	"lectern/gateway/internal/replication"
	"lectern/store"
)

// A node reads the project from a directory of its own, in which it puts together the definitions of the cluster, from the store, and copies of the files
// that belong to each node.

// clusterProject is the name of that directory among the files of a node.
const clusterProject = "project"

// Files implements role: the directory has the definitions that the node serves.
func (m *member) Files() string { return filepath.Join(m.dir, clusterProject) }

// unpackStored writes the definitions of the cluster, which a store has, and the files of this node's own, where the project is read from.
func (m *member) unpackStored(from *store.Store) error {
	m.unpacking.Lock() // the last to write must have read the latest definitions
	defer m.unpacking.Unlock()
	return from.ReadNote(definitionsNote, func(text []byte) error {
		files, err := replication.ParseDefinitions(text)
		if err != nil {
			return err
		}
		return m.unpack(files)
	})
}

// unpack is unpackStored for definitions that were read already.
func (m *member) unpack(files *replication.Definitions) error { return m.unpackTo(m.Files(), files) }

// unpackTo is unpack for another directory.
func (m *member) unpackTo(dir string, files *replication.Definitions) error {
	if err := files.Unpack(dir); err != nil {
		return err
	}
	own, err := readOwnFiles(m.own)
	if err != nil {
		return err
	}
	return own.write(dir)
}

// load reads the project in a directory, after unpack. If the files of this node's own have a mistake now, load takes those that are served at the moment:
// while somebody edits them, a node that runs must still follow the cluster, and be able to lead it.
func (m *member) load(dir string, served ownFiles) (*Definition, error) {
	d, err := m.project.loadFrom(dir)
	if err == nil {
		return d, nil
	}
	m.unpacking.Lock()
	failed := served.write(dir)
	m.unpacking.Unlock()
	if failed == nil {
		d, failed = m.project.loadFrom(dir)
	}
	if failed != nil {
		return nil, err
	}
	m.log.Warn("the files of this node have a problem, and will keep it from starting; it goes on with the former ones", "project", m.own, "error", err)
	return d, nil
}

// ownFiles are the files of a project that belong to each node, by their names.
type ownFiles map[string][]byte

var ownFileNames = []string{".env", "config/server.yaml", "config/server.yml", "config/server.json", "config/webhooks.yaml", "config/webhooks.yml", "config/webhooks.json"}

func readOwnFiles(dir string) (ownFiles, error) {
	files := ownFiles{}
	for _, name := range ownFileNames {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case err == nil:
			files[name] = text
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	return files, nil
}

// write makes the files in a directory those of f.
func (f ownFiles) write(dir string) error {
	for _, name := range ownFileNames {
		to := filepath.Join(dir, filepath.FromSlash(name))
		text, there := f[name]
		if there {
			if err := replication.WriteFile(to, text); err != nil {
				return err
			}
		} else if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
