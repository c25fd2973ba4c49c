package cluster

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

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

// TestLogOnFullDisk fills the disk while the log needs new segments: as it grows, and as Raft empties it for a copy of the content. The log goes
// on, and so it does when it is opened again.
func TestLogOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	var full atomic.Bool
	open := func() *raftLog {
		t.Helper()
		log, err := openLog(dir, segmentFiles{fullDisk{walfs.New(), &full}}, 4096, newLogger(slog.New(slog.DiscardHandler)))
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
	fill("after entries of a former leader were removed")
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

// TestLogClosedWithFullSegment closes the log after each number of entries, at once, and opens it again. The last entry may have filled a segment.
func TestLogClosedWithFullSegment(t *testing.T) {
	dir := t.TempDir()
	const count = 60
	for n := uint64(1); n <= count; n++ {
		log, err := openLog(dir, newSegmentFiles(), 4096, newLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		if err := log.StoreLog(&raft.Log{Index: n, Data: fmt.Append(nil, n, make([]byte, 500))}); err != nil {
			t.Fatalf("entry %d: %v", n, err)
		}
		if n == 30 { // Raft removes entries that all nodes have, and those of a former leader
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
	log, err := openLog(dir, newSegmentFiles(), 4096, newLogger(slog.New(slog.DiscardHandler)))
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
