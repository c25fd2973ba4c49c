package cluster

import (
	"context"
	"time"
)

// ageInterval is how often a node finds out whether its content is that of the cluster.
const ageInterval = 500 * time.Millisecond

// watchAge keeps current up to date until ctx ends.
func (n *Node) watchAge(ctx context.Context) {
	tick := time.NewTicker(ageInterval)
	defer tick.Stop()
	for {
		asked := time.Now()
		if n.await(ctx, "", "linearizable") == nil {
			n.current.Store(&asked)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// age returns how long ago the node was last known to have all that was written in the cluster; negative if it never
// was. It takes the longer one of two times: the monotonic clock stands still while the machine sleeps, and the wall
// clock (Round removes the other one) may be set back.
func (n *Node) age() time.Duration {
	current := n.current.Load()
	if current == nil {
		return -1
	}
	now := time.Now()
	return max(now.Sub(*current), now.Round(0).Sub(current.Round(0)))
}
