package program

import (
	"path/filepath"

	"lectern/gateway"
	"lectern/store"
)

// CheckStore opens the store of a data directory and verifies rows, indexes, counts and links.
func CheckStore(dir, data string) error {
	d, err := gateway.Load(dir, nil)
	if err != nil {
		return err
	}
	s, err := store.Open(filepath.Join(data, "content.db"), d.Model, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Check()
}

// WholeLog returns the entries of a snapshot's log. It is an error if the log does not begin with the store.
func WholeLog(snap *store.Snapshot) (list []*store.Entry, err error) {
	since, err := snap.Position()
	if err != nil {
		return nil, err
	}
	since.Sequence = 0
	entries, err := snap.Entries(since)
	if err != nil {
		return nil, err
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
