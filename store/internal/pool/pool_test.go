package pool

import (
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// A reader is a value of a pool. It knows the state in which it was made, and must be closed once.
type reader struct {
	state  int
	epoch  Epoch
	closed bool
}

// TestAgreesWithNone reads and writes at random, and compares the pool with a new reader for each read. Each pooled
// reader must see the same state and be closed once, and none may be kept during a write.
func TestAgreesWithNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state, open := 0, map[*reader]bool{}
		p := Pool[*reader]{Size: rapid.IntRange(0, 4).Draw(t, "size"), Close: func(r *reader) {
			if r.closed {
				t.Fatal("a reader is closed twice")
			}
			r.closed = true
			delete(open, r)
		}}
		var using []*reader
		var releases []func()
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"get", "get", "put", "put", "write", "commit", "release"}).Draw(
				t, "step") {
			case "get":
				r, epoch, ok := p.Get()
				if !ok {
					r = &reader{state: state, epoch: epoch}
					open[r] = true
				}
				if r.closed || r.state != state {
					t.Fatalf("a reader (closed: %v) sees state %d in state %d", r.closed, r.state, state)
				}
				using = append(using, r)
			case "put":
				if n := len(using); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "which")
					r := using[i]
					using = append(using[:i], using[i+1:]...)
					p.Put(r, r.epoch)
				}
			case "write":
				releases = append(releases, p.Drain())
			case "commit":
				if len(releases) > 0 {
					state++
				}
			case "release":
				if n := len(releases); n > 0 {
					releases[n-1]()
					releases[n-1]() // a second call does nothing
					releases = releases[:n-1]
				}
			}
			if idle := p.Idle(); idle > p.Size || idle > 0 && len(releases) > 0 || idle+len(using) != len(open) {
				t.Fatalf("%d readers are kept of at most %d while %d write; %d are open, and %d in use", idle, p.Size,
					len(releases), len(open), len(using))
			}
		}
	})
}

// TestConcurrent reads in several goroutines while another one writes. No reader may see a state from before the last
// write that had ended when it was taken from the pool, and all must be closed at the end.
func TestConcurrent(t *testing.T) {
	var mu sync.Mutex // of state and open
	state, open := 0, 0
	p := Pool[*reader]{Size: 4, Close: func(*reader) {
		mu.Lock()
		open--
		mu.Unlock()
	}}
	read := func() {
		mu.Lock()
		written := state
		mu.Unlock()
		r, epoch, ok := p.Get()
		if !ok {
			mu.Lock()
			r, open = &reader{state: state, epoch: epoch}, open+1
			mu.Unlock()
		}
		if r.state < written {
			t.Errorf("a reader sees state %d after state %d was written", r.state, written)
		}
		p.Put(r, r.epoch)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				read()
			}
		})
	}
	for range 100 {
		release := p.Drain()
		if n := p.Idle(); n > 0 {
			t.Errorf("%d readers are kept while somebody writes", n)
		}
		mu.Lock()
		state++
		mu.Unlock()
		release()
	}
	all.Wait()
	p.Drain()
	if open != 0 {
		t.Errorf("%d readers are open at the end", open)
	}
}
