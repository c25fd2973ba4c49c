package cluster

import (
	"crypto/subtle"
	"fmt"
	"os"

	"lectern/gateway/internal/replication"
)

// shareSecret stores the secret that signs JWTs in a note for the other nodes, sealed with the cluster key, unless the
// configuration of every node has it. A secret that was sealed with an older key is sealed anew with the first one.
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

// takeSecret opens the sealed secret of JWTs, and writes it to the file from which the server reads it.
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
