package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/diskfile"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// Interrupted returns options under which a conversion converts this many rows in a transaction, and ends as if killed
// when committed returns an error after one of them.
func Interrupted(opts Options, rows int, committed func() error) Options {
	opts.hooks = &conversionHooks{rows: rows, committed: committed}
	return opts
}

// In tests the stretches of the history are short, so that a small log has several.
func init() { logentry.BlockEntries, logentry.BlockTouches = 16, 60 }

// CountedBy limits groups and spans to n parts, so that a small store has as many of them as a large one. The returned
// function ends the effect.
func CountedBy(n int) (restore func()) {
	before := maxCounted
	maxCounted = n
	return func() { maxCounted = before }
}

// ListedBy has the texts of a type indexed when a transaction ends with more than n rows on the list. The returned
// function ends the effect.
func ListedBy(n int) (restore func()) {
	before := maxUnindexed
	maxUnindexed = n
	return func() { maxUnindexed = before }
}

// Unindexed returns how many rows are on the lists of texts to be indexed.
func (s *Snapshot) Unindexed() (n int) {
	for range s.unindexed(nil) {
		n++
	}
	return n
}

// BufferedBy makes a transaction take no further write once it has buffered n changes. The returned function ends the
// effect.
func BufferedBy(n int) (restore func()) {
	before := maxBuffered
	maxBuffered = n
	return func() { maxBuffered = before }
}

// EnteredBy makes a transaction take no further write once it has n bytes of entries. The returned function ends the
// effect.
func EnteredBy(n int) (restore func()) {
	before := maxEntered
	maxEntered = n
	return func() { maxEntered = before }
}

// CacheAfter makes a state get its relation cache after n searches. The returned function ends the effect.
func CacheAfter(n uint64) (restore func()) {
	before := cacheAfter
	cacheAfter = n
	return func() { cacheAfter = before }
}

// SetsFrom makes queries find rows as sets of documents, and keep these sets, at a cost of n and more. The returned
// function ends the effect.
func SetsFrom(n int) (restore func()) {
	few, kept := fewHits, keptFrom
	fewHits, keptFrom = n, n
	return func() { fewHits, keptFrom = few, kept }
}

// CopiedTogether makes a compaction copy n bytes in a transaction and then report its progress. The returned function
// ends the effect.
func CopiedTogether(n int) (restore func()) {
	before := copiedTogether
	copiedTogether = n
	return func() { copiedTogether = before }
}

// BeforeReplace has f called when the copy of a compaction is done, before the copy replaces the file. The returned
// function ends the effect.
func BeforeReplace(f func()) (restore func()) {
	before := beforeReplace
	beforeReplace = f
	return func() { beforeReplace = before }
}

// MappedBy reserves n bytes of address space for files that are opened. The returned function ends the effect.
func MappedBy(n int) (restore func()) {
	before := mapSize
	mapSize = n
	return func() { mapSize = before }
}

// OnDiskWith makes file systems report that they have this many free bytes. The returned function ends the effect.
func OnDiskWith(left int64) (restore func()) {
	before := diskfile.Available
	diskfile.Available = func(*os.File) int64 { return left }
	return func() { diskfile.Available = before }
}

// Look makes the store check its file now.
func (s *Store) Look() error { return s.byWriter(context.Background(), s.checkState) }

// LookSeldom makes stores check their files only when Look is called. The returned function ends the effect.
func LookSeldom() (restore func()) {
	before := checkPathEvery
	checkPathEvery = time.Hour
	return func() { checkPathEvery = before }
}

// IdleSnapshots returns how many snapshots the pool keeps.
func (s *Store) IdleSnapshots() int { return s.snapshots.Idle() }

// CachedWords returns how much memory the entries of the relation cache take, in words.
func (s *Store) CachedWords() int { return s.cache.Load().relations.Load().Words() }

// State returns the number of the transaction that committed the state of the snapshot.
func (s *Snapshot) State() int { return s.tx.ID() }

// Doubt makes the store check every page again at the next read.
func (s *Store) Doubt() { s.doubtAll() }

// LogBytes returns how many bytes the log is counted to have.
func (s *Store) LogBytes() (n uint64) {
	_ = s.View(func(snap *Snapshot) error { n = getNumber(snap.bucket(format.Meta), format.KeyLogBytes); return nil })
	return n
}

// PendingIndexChanges returns how many changes of the index a transaction has not applied yet.
func PendingIndexChanges(tx *Tx) int { return len(tx.indexer.pending) }

// MaxPinned returns how many readers can see the state before a conversion at the same time.
func MaxPinned() int { return maxPinned() }

// WithoutInner removes the inner indexes of the file at path.
func WithoutInner(path string) error {
	db, err := openFile(path, Options{}, openThere)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		meta := newFile(db, path).meta(tx)
		c, _, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		for _, e := range c.Schemas {
			for f := range e.Inner {
				prefix := be.AppendUint16(be.AppendUint16(nil, e.Number), f)
				for _, name := range [][]byte{format.Index.Name(), format.Young.Name(),
					format.Groups.Name(), format.Spans.Name()} {
					b := tx.Bucket(name)
					for k, _ := b.Cursor().Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = b.Cursor().Seek(prefix) {
						if err := b.Delete(k); err != nil {
							return err
						}
					}
				}
			}
			e.Inner = nil
		}
		return saveCatalog(meta, c)
	})
	return errors.Join(err, db.Close())
}

// NextFormat makes this version of Lectern know a format after the present one, which the given release reads first.
// upgrade changes a file of the present format to it. The returned function ends the effect.
func NextFormat(major, minor, patch int, upgrade func(*bolt.Tx) error) (restore func()) {
	before := known
	known = formats{newest: before.newest + 1, reader: release(major<<32 | minor<<16 | patch),
		upgrades: append(slices.Clone(before.upgrades), upgrade)}
	return func() { known = before }
}
