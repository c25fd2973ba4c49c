package consensus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// A raftLog is Raft's log of a node on disk.
type raftLog struct {
	*wal.WAL
	meta      *logState
	snapshots *snapshots
	log       hclog.Logger

	// cut is the entry from which on all were removed, if none were stored since; otherwise 0. Only the goroutine of
	// Raft that stores entries uses it.
	cut    uint64
	closed chan struct{} // when no attempt to store entries is repeated any more
}

// retryStore is how long StoreLogs waits between attempts.
const retryStore = 100 * time.Millisecond

// GetLog implements raft.LogStore. After a node has received a copy of the content, its log begins with the entry after
// the copy. For the last entry that the copy includes, GetLog returns an entry with nothing but its term. A node
// compares that with the term that the leader names before it takes the next entries (appendEntries in hashicorp/raft
// 1.8.0). Without it, a node that has to replace all entries after the copy could not.
func (l *raftLog) GetLog(index uint64, to *raft.Log) error {
	err := l.WAL.GetLog(index, to)
	if !errors.Is(err, raft.ErrLogNotFound) ||
		index == 1 { // a leader would send the first entry, which it does not have, to a node without any
		return err
	}
	newest, failed := l.snapshots.newest()
	if failed != nil {
		return failed
	}
	if newest == nil || newest.Index != index {
		return err // as it is: Raft compares it
	}
	*to = raft.Log{Index: index, Term: newest.Term, Type: raft.LogNoop}
	return nil
}

// DeleteRange implements raft.LogStore.
func (l *raftLog) DeleteRange(first, last uint64) error {
	end, err := l.LastIndex()
	if err == nil {
		err = l.WAL.DeleteRange(first, last)
	}
	if err == nil && end > 0 && last >= end {
		l.cut = first
	}
	return err
}

// StoreLogs implements raft.LogStore. A node removes entries of an earlier leader before it stores those of the present
// one in their place. If it cannot store them, Raft takes the removed entries for present, and the node can never store
// any again (appendEntries in hashicorp/raft 1.8.0). In this case, StoreLogs tries again until there is space on the
// disk or endRetries is called. The node does not vote meanwhile.
func (l *raftLog) StoreLogs(entries []*raft.Log) error {
	if err := l.empty(entries[0].Index); err != nil {
		return err
	}
	replaces := entries[0].Index == l.cut // not those that a node stores after it received a copy, maybe as the leader
	l.cut = 0
	for logged := false; ; logged = true {
		err := l.WAL.StoreLogs(entries)
		if err == nil || !replaces {
			return err
		}
		if !logged {
			l.log.Error("entries of the leader cannot be stored in place of others, and are tried again", "error", err)
		}
		select {
		case <-time.After(retryStore):
		case <-l.closed:
			return err
		}
	}
}

// empty removes all entries if the next one does not follow on them. Raft does so itself when a node receives a copy,
// but goes on if it cannot.
func (l *raftLog) empty(next uint64) error {
	first, err := l.FirstIndex()
	last, failed := l.LastIndex()
	if err := errors.Join(err, failed); err != nil || last == 0 || next <= last+1 {
		return err
	}
	return l.WAL.DeleteRange(first, last)
}

// endRetries has StoreLogs return an error rather than try again.
func (l *raftLog) endRetries() { close(l.closed) }

// Close closes the files.
func (l *raftLog) Close() error { return errors.Join(l.WAL.Close(), l.meta.Close()) } // the WAL does not close meta

// openLog opens the log in a directory. size is that of its segments in bytes.
func openLog(dir string, files types.VFS, size int, snapshots *snapshots, log hclog.Logger) (*raftLog, error) {
	segments := segment.NewFiler(dir, files)
	meta := &logState{segments: segments}
	opened, err := wal.Open(dir, wal.WithSegmentSize(size), wal.WithLogger(log), wal.WithMetaStore(meta),
		wal.WithSegmentFiler(segments))
	if err != nil {
		return nil, errors.Join(err, meta.Close())
	}
	return &raftLog{WAL: opened, meta: meta, snapshots: snapshots, log: log, closed: make(chan struct{})}, nil
}

// A logState has the segments that belong to a log.
type logState struct {
	metadb.BoltMetaDB
	segments types.SegmentFiler
}

// Load implements types.MetaStore. A process may end after an append that has filled a segment and before the state
// says so. raft-wal opens such a log, but never appends to it. Load therefore puts a larger segment with the same
// entries in place of the full one.
func (l *logState) Load(dir string) (types.PersistentState, error) {
	state, err := l.BoltMetaDB.Load(dir)
	if err != nil || len(state.Segments) == 0 {
		return state, err
	}
	last := &state.Segments[len(state.Segments)-1]
	full, err := l.full(*last)
	if err != nil || full == nil {
		return state, err
	}
	last.ID, last.BaseIndex, last.SizeLimit = state.NextSegmentID, last.MinIndex,
		2*last.SizeLimit // without the entries that were removed
	state.NextSegmentID++
	larger, err := l.segments.Create(*last)
	if err == nil {
		err = errors.Join(copyEntries(larger, full, last.BaseIndex), larger.Close())
	}
	if err = errors.Join(err, full.Close()); err == nil {
		err = l.CommitState(state)
	}
	if err != nil {
		return state, fmt.Errorf("replace a full segment: %w", err)
	}
	return state, nil
}

// full returns the segment if it is full and the state does not say so, and otherwise nil.
func (l *logState) full(info types.SegmentInfo) (types.SegmentWriter, error) {
	if !info.SealTime.IsZero() {
		return nil, nil
	}
	s, err := l.segments.RecoverTail(info)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // raft-wal creates it
	}
	if err != nil {
		return nil, err
	}
	sealed, _, err := s.Sealed()
	if err != nil || !sealed {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// copyEntries appends the entries of a segment, which begin with an index, to another segment.
func copyEntries(to, from types.SegmentWriter, begin uint64) error {
	var entries []types.LogEntry
	for i := begin; i <= from.LastIndex(); i++ {
		entry, err := from.GetLog(i)
		if err != nil {
			return err
		}
		entries = append(entries, types.LogEntry{Index: i, Data: bytes.Clone(entry.Bs)})
		if err := entry.Close(); err != nil {
			return err
		}
	}
	return to.Append(entries)
}

// segmentFiles is the file system with the files of Raft's log, which are called segments. A new segment gets all its
// space at once, so that appending to it cannot fail later. Where there is no space for all of it, segmentFiles creates
// the segment nevertheless: then appends fail while there is none, which is an error that the log recovers from. It
// does not recover from a segment that it could not create: it takes no entries until it is opened again, also when
// there is space again.
type segmentFiles struct{ types.VFS }

func newSegmentFiles() segmentFiles { return segmentFiles{walfs.New()} }

// Create implements types.VFS.
func (f segmentFiles) Create(dir, name string, size uint64) (types.WritableFile, error) {
	file, err := f.VFS.Create(dir, name, size)
	if err == nil {
		return file, nil
	}
	// What is there is left of an attempt that failed: segments never have the name of another.
	if failed := os.Remove(filepath.Join(dir, name)); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		return nil, errors.Join(err, failed)
	}
	return f.VFS.Create(dir, name, 0)
}
