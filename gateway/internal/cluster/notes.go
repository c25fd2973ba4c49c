package cluster

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"os"

	"lectern/gateway/internal/replication"
	"lectern/store"
)

// readNote reads a note. It changes nothing if there is none.
//
// It does not open a snapshot of the store. During a conversion that can wait until the new definitions are served, and
// these are served only after the node has applied transactions. The code that applies them calls readNote, so both
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

// shareSecret gives the other nodes the secret that signs JWTs, if they do not have one. If the one that they have is
// sealed with a cluster key that is to be replaced, shareSecret seals it anew.
func (n *Node) shareSecret() error {
	st := n.project.Store()
	var sealed []byte
	err := readNote(st, secretNote, &sealed)
	if err != nil {
		return err
	}
	var secret []byte
	var current bool
	switch {
	case sealed != nil:
		secret, current, err = n.credentials.Open(secretNote, sealed)
	default:
		secret, err = n.project.MadeSecret()
		current = secret == nil // it is in the configuration of every node
	}
	if current || err != nil {
		return err
	}
	if err := putNotes(n.ctx, st, map[string]any{secretNote: n.credentials.Seal(secretNote, secret)}); err != nil {
		return err
	}
	n.log.Info("the secret of JWTs was sealed with the first key in cluster.key")
	return nil
}

// takeSecret writes the secret of the cluster, if there is one, where the server reads it.
func (n *Node) takeSecret(sealed []byte) error {
	secret, _, err := n.credentials.Open(secretNote, sealed)
	if err != nil {
		return fmt.Errorf("open the secret for JWTs that the nodes share: %w", err)
	}
	name := n.options.Secret
	if there, err := os.ReadFile(name); err == nil && subtle.ConstantTimeCompare(there, append(secret, '\n')) == 1 {
		return nil
	}
	return replication.WriteFile(name, append(secret, '\n'))
}
