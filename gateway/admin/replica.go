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

// RefuseReplica returns an error that says what to do if the project is a replica.
func (d *Directory) RefuseReplica() error {
	origin, err := d.Origin()
	if err != nil || origin == "" {
		return err
	}
	return fmt.Errorf("%s is a replica of %s, and changes only as that server does; serve it by `%s --token KEY`, or make it an origin by `%s`",
		d.Dir, origin, d.Command("follow "+origin), d.Command("promote"))
}
