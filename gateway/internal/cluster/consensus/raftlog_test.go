package consensus

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"
)

// A fullDisk is a file system that makes files, and fails to give them space while it is full.
type fullDisk struct {
	types.VFS
	full *atomic.Bool // the log makes segments on a goroutine of its own
}

func (d fullDisk) Create(dir, name string, size uint64) (types.WritableFile, error) {
	file, err := d.VFS.Create(dir, name, size)
	if err == nil && d.full.Load() && size > 0 {
		return nil, fmt.Errorf("give %s its space: %w", name, cmp.Or(file.Close(), error(syscall.ENOSPC)))
	}
	return file, err
}

// TestLogOnFullDisk fills the disk while the log needs new segments: as it grows, and as Raft empties it for a copy of
// the content. The log goes on, and so it does when it is opened again.
func TestLogOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	var full atomic.Bool
	open := func() *raftLog {
		t.Helper()
		log, err := openLog(dir, segmentFiles{fullDisk{walfs.New(), &full}}, 4096, &snapshots{dir: t.TempDir()},
			newLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	log := open()
	next := uint64(1)
	fill := func(when string) { // several segments
		t.Helper()
		for range 40 {
			if err := log.StoreLog(&raft.Log{Index: next, Data: make([]byte, 500)}); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			next++
		}
	}
	check := func(when string, from uint64) {
		t.Helper()
		first, err := log.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		last, err := log.LastIndex()
		if err != nil || first != from || last != next-1 {
			t.Fatalf("%s: the log has %d to %d (%v), want %d to %d", when, first, last, err, from, next-1)
		}
		for i := from; i < next; i++ {
			if err := log.GetLog(i, &raft.Log{}); err != nil {
				t.Fatalf("%s: entry %d: %v", when, i, err)
			}
		}
	}
	fill("at first")
	full.Store(true)
	fill("full")
	check("full", 1)
	if err := log.DeleteRange(1, next-1); err != nil {
		t.Fatalf("emptied while full: %v", err)
	}
	next += 100 // after the copy
	begin := next
	fill("after a copy")
	full.Store(false)
	fill("with space again")
	check("with space again", begin)
	if err := log.DeleteRange(next-30, next-1); err != nil {
		t.Fatal(err)
	}
	next -= 30
	full.Store(true)
	fill("after entries of an earlier leader were removed")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = open()
	check("opened again", begin)
	fill("opened again")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogClosedWithFullSegment closes the log after each number of entries, at once, and opens it again. The last entry
// may have filled a segment.
func TestLogClosedWithFullSegment(t *testing.T) {
	dir := t.TempDir()
	const count = 60
	for n := uint64(1); n <= count; n++ {
		log, err := openLog(dir, newSegmentFiles(), 4096, &snapshots{dir: t.TempDir()},
			newLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		if err := log.StoreLog(&raft.Log{Index: n, Data: fmt.Append(nil, n, make([]byte, 500))}); err != nil {
			t.Fatalf("entry %d: %v", n, err)
		}
		if n == 30 { // Raft removes entries that all nodes have, and those of an earlier leader
			if err := log.DeleteRange(1, 25); err != nil {
				t.Fatal(err)
			}
		}
		for i := max(1, n-4); i <= n; i++ {
			var l raft.Log
			if err := log.GetLog(i, &l); err != nil || !bytes.HasPrefix(l.Data, fmt.Append(nil, i)) {
				t.Fatalf("after entry %d: entry %d is %.10q (%v)", n, i, l.Data, err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log, err := openLog(dir, newSegmentFiles(), 4096, &snapshots{dir: t.TempDir()},
		newLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	first, _ := log.FirstIndex()
	if last, err := log.LastIndex(); err != nil || first != 26 || last != count {
		t.Errorf("the log has %d to %d (%v), want 26 to %d", first, last, err, count)
	}
}

// TestLogAfterFailedSegment makes a segment whose file is there already, from an attempt that failed.
func TestLogAfterFailedSegment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "left"), []byte("of a failed attempt"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := newSegmentFiles().Create(dir, "left", 100)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if content, err := os.ReadFile(filepath.Join(dir, "left")); err != nil || len(content) != 0 {
		t.Errorf("the new segment has %q (%v)", content, err)
	}
}

// A packedDisk is a fullDisk whose files grow only while it is not full. A file that was given its space has it.
type packedDisk struct{ fullDisk }

func (d packedDisk) Create(dir, name string, size uint64) (types.WritableFile, error) {
	file, err := d.fullDisk.Create(dir, name, size)
	if err == nil && size == 0 {
		file = growingFile{file, d.full}
	}
	return file, err
}

type growingFile struct {
	types.WritableFile
	full *atomic.Bool
}

func (f growingFile) WriteAt(p []byte, off int64) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.WritableFile.WriteAt(p, off)
}

// TestFullDiskAtNewLeader has a node whose disk is full when a new leader replaces an entry of the one before. The node
// must take the entry once there is space, and must be able to end before.
func TestFullDiskAtNewLeader(t *testing.T) {
	var full atomic.Bool
	c := Config{Name: "n1", Address: "n1", Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Heartbeat: time.Minute}
	log, err := openLog(t.TempDir(), segmentFiles{packedDisk{fullDisk{walfs.New(), &full}}}, 1<<20,
		&snapshots{dir: t.TempDir()}, newLogger(c.Log))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, leader := raft.NewInmemTransport("leader")
	_, transport := raft.NewInmemTransport("n1")
	leader.Connect("n1", transport)
	snaps := newSnapshots(&c)
	nodes := raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "n1"},
		{ID: "leader", Address: "leader"}}}
	if err := raft.BootstrapCluster(c.settings(), log, log, snaps, transport, nodes); err != nil {
		t.Fatal(err)
	}
	node, err := raft.NewRaft(c.settings(), noopFSM{}, log, log, snaps, transport)
	if err != nil {
		t.Fatal(err)
	}
	// send has the leader of a term send entries that follow on the configuration, which is entry 1.
	send := func(term uint64, count int) (taken bool, err error) {
		header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("leader"), Addr: []byte("leader")}
		ask := &raft.AppendEntriesRequest{RPCHeader: header, Term: term, PrevLogEntry: 1, PrevLogTerm: 1}
		for i := range count {
			ask.Entries = append(ask.Entries, &raft.Log{Index: uint64(i + 2), Term: term, Data: []byte("entry")})
		}
		var answer raft.AppendEntriesResponse
		err = leader.AppendEntries("n1", "n1", ask, &answer)
		return answer.Success, err
	}
	if taken, err := send(2, 2); !taken {
		t.Fatalf("the entries of the first leader were refused: %v", err)
	}
	full.Store(true)
	if taken, err := send(3, 1); taken {
		t.Fatalf("a full disk has taken an entry: %v", err)
	}
	full.Store(false)
	if taken, err := send(3, 1); !taken {
		t.Errorf("the entry of the second leader was refused when there was space again: %v", err)
	}
	full.Store(true)
	if taken, err := send(4, 1); taken {
		t.Fatalf("a full disk has taken an entry: %v", err)
	}
	log.endRetries()
	if err := node.Shutdown().Error(); err != nil {
		t.Error(err)
	}
}

// TestFullDiskAfterCopy has a node, whose log is empty since it received a copy, store an entry on a full disk. It must
// know at once, since it may lead.
func TestFullDiskAfterCopy(t *testing.T) {
	var full atomic.Bool
	log, err := openLog(t.TempDir(), segmentFiles{packedDisk{fullDisk{walfs.New(), &full}}}, 1<<20,
		&snapshots{dir: t.TempDir()}, newLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.StoreLogs(entries(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := log.DeleteRange(1, 3); err != nil {
		t.Fatal(err)
	}
	if err := log.StoreLogs(entries(9)); err == nil {
		t.Error("a full disk has taken an entry")
	}
}

func entries(indexes ...uint64) (list []*raft.Log) {
	for _, i := range indexes {
		list = append(list, &raft.Log{Index: i, Term: 1, Data: []byte("entry")})
	}
	return list
}

// TestLogNotEmptiedAfterCopy stores an entry that follows on a copy, while the log still has entries of before. Raft
// goes on if it cannot remove them.
func TestLogNotEmptiedAfterCopy(t *testing.T) {
	log, err := openLog(t.TempDir(), newSegmentFiles(), 1<<20, &snapshots{dir: t.TempDir()},
		newLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := errors.Join(log.StoreLogs(entries(1, 2, 3)), log.StoreLogs(entries(9, 10))); err != nil {
		t.Fatal(err)
	}
	first, err := log.FirstIndex()
	if last, failed := log.LastIndex(); first != 9 || last != 10 || err != nil || failed != nil {
		t.Errorf("the log has %d to %d (%v, %v), want 9 to 10", first, last, err, failed)
	}
}
