package consensus

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"lectern/internal/durable"
)

// snapshots is the raft.SnapshotStore of a node. The machine is durable by itself, so a snapshot that the node takes is
// a note that the machine has everything up to an index. A node that is sent a snapshot gets a copy of the machine as
// it is then, which may be of a later state: the machine skips the transactions of the log that the copy includes. A
// snapshot that was received is a file until the machine has taken it over.
//
// Only the newest snapshot is kept.
type snapshots struct {
	// closing is held while a snapshot is made the newest: Raft takes one in another goroutine than it receives one.
	closing sync.Mutex
	dir     string
	machine Machine
	gap     uint64        // is added to the index of a snapshot that is taken: see recoveryGap
	silence time.Duration // how long nothing of a copy may arrive before giveUp is called
	// giveUp ends the connection over which a copy is received. Start sets it, and nothing is received before.
	giveUp func()
	// reached reports whether the node has more than a received snapshot up to an index, which it must keep. Start sets
	// it, as giveUp.
	reached func(index uint64) (bool, error)
}

func newSnapshots(c *Config) *snapshots {
	return &snapshots{dir: c.Dir, machine: c.Machine, silence: cmp.Or(c.Silence, ioTimeout), giveUp: func() {}}
}

const (
	snapshotName = "snapshot.json"
	receivedName = "snapshot.received"
	incomingName = "snapshot.incoming"
)

// A snapshot is what snapshot.json holds.
type snapshot struct {
	raft.SnapshotMeta
	Received bool // the content is in the file snapshot.received, unless the machine has taken it over
}

func (s *snapshots) path(name string) string { return filepath.Join(s.dir, name) }

// newest returns the newest snapshot, nil if there is none.
func (s *snapshots) newest() (*snapshot, error) {
	text, err := os.ReadFile(s.path(snapshotName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &snapshot{}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.path(snapshotName), err)
	}
	return found, nil
}

// received opens the content of a received snapshot that the machine has not taken over, nil if there is none.
func (s *snapshots) received() (*os.File, error) {
	newest, err := s.newest()
	if err != nil || newest == nil || !newest.Received {
		return nil, err
	}
	f, err := os.Open(s.path(receivedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// restoreReceived gives a machine a snapshot that it had not taken over when the process ended.
func (s *snapshots) restoreReceived(machine Machine) error {
	received, err := s.received()
	if err != nil || received == nil {
		return err
	}
	defer received.Close()
	if err := machine.Restore(received); err != nil {
		return fmt.Errorf("take over the copy of another node: %w", err)
	}
	return s.taken()
}

// taken removes the content of a received snapshot once the machine has taken it over.
func (s *snapshots) taken() error {
	if err := os.Remove(s.path(receivedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDir(s.dir)
}

// Create implements raft.SnapshotStore.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	index += s.gap
	return &snapshotSink{to: s, silent: time.AfterFunc(s.silence, s.giveUp),
		snapshot: snapshot{SnapshotMeta: raft.SnapshotMeta{
			Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term,
			Configuration:      configuration,
			ConfigurationIndex: configurationIndex,
		}}}, nil
}

// List implements raft.SnapshotStore.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	newest, err := s.newest()
	if err != nil || newest == nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{&newest.SnapshotMeta}, nil
}

// Open implements raft.SnapshotStore.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	newest, err := s.newest()
	if err != nil {
		return nil, nil, err
	}
	if newest == nil || newest.ID != id {
		return nil, nil, fmt.Errorf("there is no snapshot %s any more", id)
	}
	received, err := s.received()
	if err != nil {
		return nil, nil, err
	}
	if received != nil {
		return &newest.SnapshotMeta, received, nil
	}
	size, content, err := s.machine.Copy()
	newest.Size = size
	return &newest.SnapshotMeta, content, err
}

// A snapshotSink takes a snapshot.
type snapshotSink struct {
	to *snapshots
	snapshot
	file   *os.File    // nil while nothing was written
	silent *time.Timer // calls giveUp when nothing was written for as long as silence
}

// ID implements raft.SnapshotSink.
func (s *snapshotSink) ID() string { return s.snapshot.ID }

// Write implements raft.SnapshotSink.
func (s *snapshotSink) Write(b []byte) (n int, err error) {
	s.silent.Reset(s.to.silence)
	if s.file == nil {
		if err := s.refuse(); err != nil {
			return 0, err
		}
		if s.file, err = os.OpenFile(s.to.path(incomingName), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return 0, err
		}
	}
	n, err = s.file.Write(b)
	s.Size += int64(n)
	return n, err
}

// refuse returns an error if the node has more than the snapshot that it is sent. A copy may arrive late, after another
// one and the entries that follow on it. Raft (installSnapshot in hashicorp/raft 1.8.0) would remove these entries,
// although the leader counts on them, and panic when it needs them.
func (s *snapshotSink) refuse() error {
	reached, err := s.to.reached(s.Index)
	if err == nil && reached {
		err = fmt.Errorf("the node has more than a copy up to %d", s.Index)
	}
	if err != nil {
		s.to.giveUp() // Raft would wait for the rest of the copy
	}
	return err
}

// Close implements raft.SnapshotSink. The snapshot is durable when it returns nil.
func (s *snapshotSink) Close() error {
	s.silent.Stop()
	s.to.closing.Lock()
	defer s.to.closing.Unlock()
	if s.Received = s.file != nil; s.Received {
		err := errors.Join(s.file.Sync(), s.file.Close())
		if err == nil {
			err = os.Rename(s.to.path(incomingName), s.to.path(receivedName))
		}
		if err == nil {
			err = durable.SyncDir(s.to.dir)
		}
		if err != nil {
			return err
		}
	} else if newest, err := s.to.newest(); err != nil {
		return err
	} else if newest != nil && newest.Index > s.Index { // it was received after Raft had asked for this one
		return fmt.Errorf("there is a snapshot up to %d already", newest.Index)
	}
	text, err := json.Marshal(s.snapshot)
	if err != nil {
		return err
	}
	return durable.WriteFile(s.to.path(snapshotName), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Cancel implements raft.SnapshotSink.
func (s *snapshotSink) Cancel() error {
	s.silent.Stop()
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.to.path(incomingName)))
}
