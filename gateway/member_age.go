package gateway

import (
	"context"
	"time"
)

// ageInterval is how often a node finds out whether its content is that of the cluster.
const ageInterval = 500 * time.Millisecond

// watchAge keeps current up to date until ctx ends.
func (m *member) watchAge(ctx context.Context) {
	tick := time.NewTicker(ageInterval)
	defer tick.Stop()
	for {
		asked := time.Now()
		if m.hasLatest(ctx) {
			m.current.Store(&asked)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hasLatest reports whether reads of this node show all that was written in the cluster when hasLatest was called. It waits for that for a while.
func (m *member) hasLatest(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, m.maxElection())
	defer cancel()
	revision, err := m.latest(ctx)
	return err == nil && m.reach(ctx, revision) == nil
}

// age returns how long ago the node was last known to have all that was written in the cluster; negative if it never was.
func (m *member) age() time.Duration {
	current := m.current.Load()
	if current == nil {
		return -1
	}
	return time.Since(*current)
}
