package store

import (
	"context"
	"os"
	"time"
)

// Interrupted returns options under which a conversion goes through that many rows a transaction and ends, as by a kill, with
// the error that committed returns after one of them.
func Interrupted(opts Options, rows int, committed func() error) Options {
	opts.hooks = &conversionHooks{rows: rows, committed: committed}
	return opts
}

// CountedBy makes groups and spans of at most n parts, as a large store has many of, until restored.
func CountedBy(n int) (restore func()) {
	before := maxCounted
	maxCounted = n
	return func() { maxCounted = before }
}

// BufferedBy has a transaction take no further write once it has buffered n changes, until restored.
func BufferedBy(n int) (restore func()) {
	before := maxBuffered
	maxBuffered = n
	return func() { maxBuffered = before }
}

// CacheAfter has a state get its relation cache after n searches, until restored.
func CacheAfter(n uint64) (restore func()) {
	before := cacheAfter
	cacheAfter = n
	return func() { cacheAfter = before }
}

// CopiedTogether has a compaction copy n bytes in a transaction, and then tell its progress, until restored.
func CopiedTogether(n int) (restore func()) {
	before := copiedTogether
	copiedTogether = n
	return func() { copiedTogether = before }
}

// MappedBy reserves n bytes of address space for files that are opened, until restored.
func MappedBy(n int) (restore func()) {
	before := mapSize
	mapSize = n
	return func() { mapSize = before }
}

// OnDiskWith has file systems say that they have so many bytes left, until restored.
func OnDiskWith(left int64) (restore func()) {
	before := available
	available = func(*os.File) int64 { return left }
	return func() { available = before }
}

// Look has the store look after its file now.
func (s *Store) Look() error { return s.byWriter(context.Background(), s.checkState) }

// LookSeldom has stores look after their files only when asked to, until restored.
func LookSeldom() (restore func()) {
	before := checkPathEvery
	checkPathEvery = time.Hour
	return func() { checkPathEvery = before }
}

// IdleSnapshots is how many snapshots wait for another use.
func (s *Store) IdleSnapshots() int { return s.snapshots.Idle() }

// CachedWords is how much memory the lists in the relation cache take.
func (s *Store) CachedWords() int { return s.cache.Load().relations.Load().Words() }

// State is the number of the transaction that committed what the snapshot sees.
func (s *Snapshot) State() int { return s.tx.ID() }

// Doubt has every page checked again when it is read next.
func (s *Store) Doubt() { s.doubtAll() }
