package store

import "sync/atomic"

// snapshotStats counts the work that one snapshot has done.
type snapshotStats struct {
	seeks   uint64 // searches from the root of a tree
	rows    uint64 // rows read
	entries uint64 // index entries walked over
	links   uint64 // links walked over
	flushes uint64 // walks over a bucket to write a buffer into it
}

type counters struct {
	commits, writes, seeks, rows, entries, links, flushes atomic.Uint64
}

func (c *counters) add(s *snapshotStats) {
	c.seeks.Add(s.seeks)
	c.rows.Add(s.rows)
	c.entries.Add(s.entries)
	c.links.Add(s.links)
	c.flushes.Add(s.flushes)
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	Writes  uint64 // calls of Write that changed something, each durable
	Commits uint64 // transactions that committed these writes; one may commit several
	Fsyncs  uint64 // two in each transaction: one for the pages, one for the meta page
	Seeks   uint64 // searches from the root of a tree
	Rows    uint64 // rows read
	Entries uint64 // index entries walked over
	Links   uint64 // links walked over
	Flushes uint64 // walks over a bucket to write a buffer into it
}

// Stats returns the counters. They include the work of a snapshot once it has ended.
func (s *Store) Stats() Stats {
	c := &s.stats
	return Stats{
		Writes: c.writes.Load(), Commits: c.commits.Load(), Fsyncs: 2 * c.commits.Load(),
		Seeks: c.seeks.Load(), Rows: c.rows.Load(), Entries: c.entries.Load(), Links: c.links.Load(), Flushes: c.flushes.Load(),
	}
}
