package cluster

import (
	"context"
	"encoding/json"

	"lectern/store"
)

// readNote reads a note into to, which stays as it is if there is none.
//
// It opens no snapshot of the store, because it is called while transactions are applied. During a conversion a
// snapshot may have to wait for the new definitions, which are served only once the transactions are applied: both
// would wait for each other.
func readNote(st *store.Store, name string, to any) error {
	return st.ReadNote(name, func(text []byte) error {
		if text == nil {
			return nil
		}
		return json.Unmarshal(text, to)
	})
}

// putNotes stores notes in one transaction.
func putNotes(ctx context.Context, st *store.Store, values map[string]any) error {
	notes, err := encodeNotes(values)
	if err != nil {
		return err
	}
	return st.Write(ctx, func(tx *store.Tx) error {
		for name, text := range notes {
			if err := tx.PutNote(name, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// encodeNotes returns notes as a store keeps them.
func encodeNotes(values map[string]any) (notes map[string][]byte, err error) {
	notes = make(map[string][]byte, len(values))
	for name, value := range values {
		if notes[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return notes, nil
}
