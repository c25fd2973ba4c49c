//go:build linux

package clusters

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/internal/servertest"
)

// TestFailover kills the leader under load, and measures how long it takes until a write is acknowledged again. Reads
// at the other nodes never fail, and a write at another node waits for the next leader.
func TestFailover(t *testing.T) {
	if *failovers == 0 {
		t.Skip("measures times; run it with -failovers 20")
	}
	w := newWorld(t, *nodes, 0, rand.New(rand.NewPCG(*seed, 1)))
	var took []time.Duration
	for range *failovers {
		load := newLoad(w)
		load.start(*clients, rand.Uint64())
		load.progress()
		leader := w.leader()
		leader.Kill()
		killed := time.Now()
		stop := w.readLocally(leader)
		// The other nodes learn meanwhile that their connections are closed: what is sent on one of them has an unknown
		// outcome. Nothing outside of them shows when they have.
		time.Sleep(50 * time.Millisecond)
		other := w.nodes[(slices.Index(w.nodes, leader)+1)%len(w.nodes)]
		if a, err := w.ask("POST", other.base+"/api/registers", `{"data":{"value":"after the kill"}}`); err != nil ||
			a.status != 201 {
			t.Errorf("a write at %s right after the leader was killed: %v %v", other.name, a, err)
		}
		acked := load.acked.Load() + int64(*clients) // answers that were under way may have been read after the kill
		servertest.Await(t, "writes go on", func() error {
			if load.acked.Load() <= acked {
				return errors.New(w.logs())
			}
			return nil
		})
		took = append(took, time.Since(killed))
		t.Logf("%v, %d reads", took[len(took)-1], stop())
		leader.Start()
		load.stop()
		w.await(leader)
	}
	slices.Sort(took)
	t.Logf("median %v, longest %v", took[len(took)/2], took[len(took)-1])
}

// readLocally reads from all nodes but one until the returned function is called, which returns how many reads there
// were.
func (w *world) readLocally(except *node) (stop func() int64) {
	var (
		count atomic.Int64
		ended atomic.Bool
		all   sync.WaitGroup
	)
	for _, n := range w.nodes {
		if n == except {
			continue
		}
		all.Go(func() {
			for !ended.Load() {
				a, err := w.ask("GET", n.base+"/api/registers?pagination[pageSize]=5", "")
				if err != nil || a.status != 200 {
					w.Errorf("a read at %s fails: %v %v", n.name, a, err)
					return
				}
				count.Add(1)
				time.Sleep(2 * time.Millisecond) // leaves the processors to the nodes
			}
		})
	}
	return func() int64 {
		ended.Store(true)
		all.Wait()
		return count.Load()
	}
}
