package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/internal/durable"
	"lectern/store"
)

// Copy implements consensus.Machine. The copy has all transactions that were applied. A snapshot would not have those of a conversion, and they may not be
// in the log any more.
func (m *member) Copy() (int64, io.ReadCloser, error) {
	if err := m.waitForStore(); err != nil {
		return 0, nil, err
	}
	reader, writer := io.Pipe()
	size := make(chan int64, 1)
	failed := make(chan error, 1)
	go func() { // ends when the reader is closed
		err := m.store().CopyStored(func(n int64) io.Writer {
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
func (m *member) Restore(from io.Reader) error {
	path := filepath.Join(m.data, admin.StoreName)
	write := func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	}
	if unopened, err := m.restoreUnopened(path, write); unopened || err != nil {
		return err
	}
	if err := m.waitForStore(); err != nil {
		return err
	}
	if err := durable.WriteFile(path, write); err != nil {
		return err
	}
	former, unserved := m.project.Store(), m.halfConverted.Load()
	err := m.takeStored(path)
	if err == nil {
		err = m.replace(replacement{load: m.project.load, store: m.openCopy, copied: true})
	}
	switch {
	case errors.Is(err, store.ErrOtherDefinitions): // the former content is served until the rest is converted
		former = nil
	case err != nil:
		return fmt.Errorf("serve the copy of another node: %w", err)
	default:
		m.halfConverted.Store(nil)
	}
	if unserved != nil {
		m.closeLater(unserved)
	}
	return m.leave(former)
}

// restoreUnopened is Restore before the project opens the store. It reports whether that was so.
func (m *member) restoreUnopened(path string, write func(io.Writer) error) (unopened bool, err error) {
	m.taking.Lock()
	defer m.taking.Unlock()
	if m.taken {
		return false, nil
	}
	if err := durable.WriteFile(path, write); err != nil {
		return true, err
	}
	select {
	case m.restored <- struct{}{}:
	default: // it was told already
	}
	return true, nil
}

// openCopy opens the copy of another node's content. If that is half converted, it becomes m.halfConverted, and the error is
// store.ErrOtherDefinitions.
func (m *member) openCopy(_ context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
	st, err := m.project.openStore(d)
	if err == nil && st.Model() != d.Model {
		m.halfConverted.Store(st)
		return nil, store.ErrOtherDefinitions
	}
	return st, err
}

// serveConverted serves m.halfConverted, or returns store.ErrOtherDefinitions if more of it is to be converted. convert returns it under the
// definitions of the cluster.
func (m *member) serveConverted(st *store.Store, convert redefiner) error {
	former := m.project.Store()
	if err := m.redefine(st, replacement{store: convert, copied: true}); err != nil {
		return err
	}
	m.halfConverted.Store(nil)
	return m.leave(former)
}

// leave ends the use of a store that is not served any more, unless it is nil.
func (m *member) leave(former *store.Store) error {
	if former == nil {
		return nil
	}
	err := former.Abandon(m.ctx)
	m.closeLater(former)
	return err
}

// closeLater closes a store once its readers have ended. The node does not wait for them: it could neither vote nor follow meanwhile.
func (m *member) closeLater(st *store.Store) {
	m.served.Go(func() {
		if err := st.Close(); err != nil {
			m.log.Error("a store that is not served any more could not be closed", "error", err)
		}
	})
}

// store returns the store with what the node has of the cluster's content. It is served, but for m.halfConverted.
func (m *member) store() *store.Store {
	if st := m.halfConverted.Load(); st != nil {
		return st
	}
	return m.project.Store()
}

// takeStored writes what a store that is not open has for all nodes, the definitions and the secret for JWTs, where the server reads them.
func (m *member) takeStored(path string) (err error) {
	r, err := store.OpenReplica(path, store.Options{LockTimeout: lockRetry})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.ReadNote(definitionsNote, func(text []byte) error {
		if text == nil {
			return fmt.Errorf("%s has not the content of the cluster: put the file of this node back, or remove the node by `lectern cluster remove DIR %s` at another node, "+
				"and let it join anew with an empty data directory", path, m.options.Name)
		}
		files, err := replication.ParseDefinitions(text)
		if err == nil {
			err = m.tellDifferences(files)
		}
		if err != nil {
			return err
		}
		return m.unpack(files)
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
		return m.takeSecret(sealed)
	})
}
