package store

import (
	"testing"
	"time"
)

// TestOldestReader expects the age of the oldest snapshot in use, less the interval of the clock, and no snapshot that
// is idle or closed.
func TestOldestReader(t *testing.T) {
	now := time.Now()
	var r readers
	old, young, idle, closed := &Snapshot{}, &Snapshot{}, &Snapshot{}, &Snapshot{}
	old.since.Store(now.Add(-time.Minute).UnixNano())
	young.since.Store(now.UnixNano())
	closed.since.Store(now.Add(-time.Hour).UnixNano())
	for _, s := range []*Snapshot{old, young, idle, closed} {
		r.add(s)
	}
	r.remove(closed)
	if u := r.usage(now); u.Snapshots != 2 || u.Oldest != time.Minute-checkPathEvery {
		t.Errorf("%+v", u)
	}
}
