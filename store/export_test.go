package store

import (
	"context"
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

// PlacesAfter has places remembered after n searches in one state, until restored.
func PlacesAfter(n uint64) (restore func()) {
	before := placesAfter
	placesAfter = n
	return func() { placesAfter = before }
}

// Look has the store look after its file now.
func (s *Store) Look() error { return s.byWriter(context.Background(), s.lookAfter) }

// LookSeldom has stores look after their files only when asked to, until restored.
func LookSeldom() (restore func()) {
	before := lookEvery
	lookEvery = time.Hour
	return func() { lookEvery = before }
}

// Resting is how many snapshots wait for another use.
func (s *Store) Resting() int {
	s.resting.mu.Lock()
	defer s.resting.mu.Unlock()
	return len(s.resting.list)
}

// TargetWords is how much memory the places of targets take that are remembered.
func (s *Store) TargetWords() int { return s.places.Load().targets.used }

// Doubt has every page checked again when it is read next.
func (s *Store) Doubt() { s.doubtAll() }
