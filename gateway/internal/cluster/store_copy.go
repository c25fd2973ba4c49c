package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/internal/durable"
	"lectern/store"
)

// Copy implements consensus.Machine. The copy has all transactions that were applied, also those of a conversion that
// has not ended: a snapshot of the store would lack them, and they may not be in Raft's log any more.
func (n *Node) Copy() (int64, io.ReadCloser, error) {
	if err := n.waitForStore(); err != nil {
		return 0, nil, err
	}
	reader, writer := io.Pipe()
	size := make(chan int64, 1)
	failed := make(chan error, 1)
	go func() { // ends when the reader is closed
		err := n.store().CopyStored(func(n int64) io.Writer {
			size <- n
			return writer
		})
		writer.CloseWithError(err)
		failed <- err
	}()
	select {
	case n := <-size:
		return n, reader, nil
	case err := <-failed:
		return 0, nil, err
	}
}

// Restore implements consensus.Machine.
func (n *Node) Restore(from io.Reader) error {
	path := filepath.Join(n.options.Data, admin.StoreName)
	write := func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	}
	if unopened, err := n.restoreUnopened(path, write); unopened || err != nil {
		return err
	}
	if err := n.waitForStore(); err != nil {
		return err
	}
	if err := durable.WriteFile(path, write); err != nil {
		return err
	}
	old, unserved := n.project.Store(), n.halfConverted.Load()
	err := n.takeStored(path)
	if err == nil {
		err = n.replace(Replacement{
			Load: func() (Definition, error) { return n.project.Load(n.Files()) }, Store: n.openCopy, Copied: true,
		})
	}
	switch {
	case errors.Is(err, store.ErrOtherDefinitions): // the content before is served until the rest is converted
		old = nil
	case err != nil:
		return fmt.Errorf("serve the copy of another node: %w", err)
	default:
		n.halfConverted.Store(nil)
	}
	if unserved != nil {
		n.closeLater(unserved)
	}
	return n.leave(old)
}

// restoreUnopened writes a copy if the project has not opened the store yet, and reports whether that is so.
func (n *Node) restoreUnopened(path string, write func(io.Writer) error) (unopened bool, err error) {
	n.taking.Lock()
	defer n.taking.Unlock()
	if n.taken {
		return false, nil
	}
	if err := durable.WriteFile(path, write); err != nil {
		return true, err
	}
	select {
	case n.restored <- struct{}{}:
	default: // the value before was not taken yet
	}
	return true, nil
}

// openCopy opens a copy of another node's content under the definitions of d. If its content is half converted to them,
// it becomes n.halfConverted, and the error is store.ErrOtherDefinitions.
func (n *Node) openCopy(_ context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
	st, err := n.project.OpenStore(d)
	if err == nil && st.Model() != d.Model {
		n.halfConverted.Store(st)
		return nil, store.ErrOtherDefinitions
	}
	return st, err
}

// serveConverted serves n.halfConverted, or returns store.ErrOtherDefinitions if more of it is to be converted. convert
// returns it under the definitions of the cluster.
func (n *Node) serveConverted(st *store.Store, convert Redefiner) error {
	old := n.project.Store()
	if err := n.serve(st, Replacement{Store: convert, Copied: true}); err != nil {
		return err
	}
	n.halfConverted.Store(nil)
	return n.leave(old)
}

// leave abandons a store that is not served any more, and closes it later. old may be nil.
func (n *Node) leave(old *store.Store) error {
	if old == nil {
		return nil
	}
	err := old.Abandon(n.ctx)
	n.closeLater(old)
	return err
}

// closeLater closes a store once its readers have ended. The node does not wait for them: it could neither vote nor
// apply transactions meanwhile.
func (n *Node) closeLater(st *store.Store) {
	n.served.Go(func() {
		if err := st.Close(); err != nil {
			n.log.Error("a store that is not served any more could not be closed", "error", err)
		}
	})
}

// store returns the store to which transactions of the cluster are applied: n.halfConverted if there is one, or else
// the one that is served.
func (n *Node) store() *store.Store {
	if st := n.halfConverted.Load(); st != nil {
		return st
	}
	return n.project.Store()
}

// lockTimeout is how long a node waits for the lock of a store that it has not open.
const lockTimeout = 20 * time.Millisecond

// takeStored writes the definitions of the cluster and the secret of JWTs, both from a store that is not open, to the
// files from which the server reads them.
func (n *Node) takeStored(path string) (err error) {
	r, err := store.OpenReplica(path, store.Options{LockTimeout: lockTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.ReadNote(definitionsNote, func(text []byte) error {
		if text == nil {
			return fmt.Errorf("%s has not the content of the cluster: put the file of this node back, or remove the "+
				"node by `lectern cluster remove DIR %s` at another node, "+
				"and let it join anew with an empty data directory", path, n.options.Name)
		}
		files, err := replication.ParseDefinitions(text)
		if err == nil {
			err = n.logDifferences(files)
		}
		if err != nil {
			return err
		}
		return n.unpack(files)
	}); err != nil {
		return err
	}
	return r.ReadNote(secretNote, func(text []byte) error {
		if text == nil {
			return nil
		}
		var sealed []byte
		if err := json.Unmarshal(text, &sealed); err != nil {
			return err
		}
		return n.takeSecret(sealed)
	})
}
