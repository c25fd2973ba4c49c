package cluster

import (
	"errors"
	"os"
	"path/filepath"

	"lectern/gateway/admin"
	"lectern/gateway/internal/replication"
	"lectern/store"
)

// ProjectDir returns the directory below a data directory from which a node reads the project. The node writes to it
// the definitions of the cluster, which the store has, and copies of the files of its own.
func ProjectDir(data string) string { return filepath.Join(data, admin.ClusterName, "project") }

// unpackStored is unpack for the definitions of the cluster that a store has.
func (n *Node) unpackStored(from *store.Store) error {
	n.unpacking.Lock() // the last to write must have read the latest definitions
	defer n.unpacking.Unlock()
	return from.ReadNote(definitionsNote, func(text []byte) error {
		files, err := replication.ParseDefinitions(text)
		if err != nil {
			return err
		}
		return n.unpack(files)
	})
}

// unpack writes the definitions of the cluster, and the files of this node's own, to the directory from which the
// project is read.
func (n *Node) unpack(files *replication.Definitions) error { return n.unpackTo(n.Files(), files) }

// unpackTo is unpack for another directory.
func (n *Node) unpackTo(dir string, files *replication.Definitions) error {
	if err := files.Unpack(dir); err != nil {
		return err
	}
	own, err := readOwnFiles(n.options.Dir)
	if err != nil {
		return err
	}
	return own.write(dir)
}

// load reads the project in a directory, after unpack. If the files of this node's own have a mistake, load replaces
// them there by those that are served: a node must be able to take over definitions, and to lead, while somebody edits
// its files.
func (n *Node) load(dir string, served ownFiles) (Definition, error) {
	d, err := n.project.Load(dir)
	if err == nil {
		return d, nil
	}
	n.unpacking.Lock()
	failed := served.write(dir)
	n.unpacking.Unlock()
	if failed == nil {
		d, failed = n.project.Load(dir)
	}
	if failed != nil {
		return nil, err
	}
	n.log.Warn("the files of this node have a problem, and will keep it from starting; it goes on with those it serves",
		"project", n.options.Dir, "error", err)
	return d, nil
}

// ownFiles are the files of a project that belong to each node, by their names.
type ownFiles map[string][]byte

// ownFileNames are the names of all files that belong to each node.
var ownFileNames = []string{".env", "config/server.yaml", "config/server.yml", "config/server.json",
	"config/webhooks.yaml", "config/webhooks.yml", "config/webhooks.json"}

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
