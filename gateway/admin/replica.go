package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of a directory in the data directory of a replica, and of the file in it that marks the replica.
const (
	ReplicaName     = "replica"
	ReplicaMarkName = "origin.json"
)

// A ReplicaMark is the content of the file that marks a replica.
type ReplicaMark struct {
	Origin string `json:"origin"` // the address of the server that the replica follows
}

// Origin returns the address of the server that the project is a replica of, "" if it is no replica.
func (d *Directory) Origin() (string, error) {
	text, err := os.ReadFile(filepath.Join(d.DataPath(), ReplicaName, ReplicaMarkName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var mark ReplicaMark
	if err == nil {
		err = json.Unmarshal(text, &mark)
	}
	if err != nil {
		return "", fmt.Errorf("read which server the replica follows: %w", err)
	}
	return mark.Origin, nil
}

// ClusterName is the name of the directory in the data directory of a node of a cluster.
const ClusterName = "cluster"

// IsNode reports whether the data directory is that of a node that belongs to a cluster.
func (d *Directory) IsNode() (bool, error) {
	_, err := os.Stat(filepath.Join(d.DataPath(), ClusterName, "log"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// RefuseChanges returns an error that says what to do if the content of the project comes from another server: it is a
// replica, or a node of a cluster.
func (d *Directory) RefuseChanges() error {
	switch node, err := d.IsNode(); {
	case err != nil:
		return err
	case node:
		return fmt.Errorf("%s is a node of a cluster, and its content changes only as that of the cluster does; "+
			"run this while the node is served with --cluster, or at another node. "+
			"To take the content out of the cluster for good, remove %s", d.Dir,
			filepath.Join(d.DataPath(), ClusterName))
	}
	origin, err := d.Origin()
	if err != nil || origin == "" {
		return err
	}
	return fmt.Errorf("%s is a replica of %s, and changes only as that server does; serve it by `%s --token KEY`, "+
		"or make it an origin by `%s`",
		d.Dir, origin, d.Command("follow "+origin), d.Command("promote"))
}
