package media

import (
	"context"
	"sync"
)

// A gate bounds work that needs memory: how many may be inside at one time, and how much they may need together. Who needs more than
// all there is goes in alone. All wait in the order in which they came.
type gate struct {
	mu      sync.Mutex
	places  int   // how many may be inside
	room    int64 // how much they may need together
	taken   int
	used    int64
	waiting []*visitor
}

type visitor struct {
	weight int64
	enter  chan struct{} // closed when it is let in
}

func newGate(places int, room int64) *gate { return &gate{places: places, room: room} }

// enter waits for a place, until ctx ends. leave gives it back.
func (g *gate) enter(ctx context.Context, weight int64) (leave func(), err error) {
	v := &visitor{weight: min(weight, g.room), enter: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, v)
	g.admit()
	g.mu.Unlock()
	leave = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.taken--
		g.used -= v.weight
		g.admit()
	}
	select {
	case <-v.enter:
		return leave, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiting {
		if w == v {
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			g.admit()
			return nil, ctx.Err()
		}
	}
	g.taken-- // it was let in at the same moment
	g.used -= v.weight
	g.admit()
	return nil, ctx.Err()
}

// admit lets in who waits, as far as there is room.
func (g *gate) admit() {
	for len(g.waiting) > 0 {
		v := g.waiting[0]
		if g.taken >= g.places || g.used+v.weight > g.room {
			return
		}
		g.waiting = g.waiting[1:]
		g.taken++
		g.used += v.weight
		close(v.enter)
	}
}
