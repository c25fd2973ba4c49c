package media

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// flights runs the same work once for all requests that need its result at the same time. It cancels work whose
// requests have all ended, which package singleflight of golang.org/x/sync cannot do.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
}

// A flight is work that is being done, and the requests that wait for it.
type flight struct {
	waiting int // guarded by flights.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed when the result is set
	result  []byte
	err     error
}

// do returns the result of work. It calls work unless a call for the same key is running; then it waits for that one.
// When ctx ends, do returns its error. The context of work ends when no request waits for it any more; the last of them
// returns only when work has returned.
func (s *flights) do(ctx context.Context, key string, work func(context.Context) ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	f := s.byKey[key]
	if f == nil {
		f = s.start(key, work)
	}
	f.waiting++
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
		s.leave(key, f)
		return nil, ctx.Err()
	}
}

// start begins work. It is called with mu held.
func (s *flights) start(key string, work func(context.Context) ([]byte, error)) *flight {
	ctx, cancel := context.WithCancel(context.Background())
	f := &flight{cancel: cancel, done: make(chan struct{})}
	if s.byKey == nil {
		s.byKey = map[string]*flight{}
	}
	s.byKey[key] = f
	go func() {
		defer close(f.done)
		defer s.end(key, f)
		defer func() {
			if fault := recover(); fault != nil {
				f.err = fmt.Errorf("make an image: panic: %v\n%s", fault, debug.Stack())
			}
		}()
		f.result, f.err = work(ctx)
	}()
	return f
}

// end cancels a flight. Requests that come later start another one.
func (s *flights) end(key string, f *flight) {
	f.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key] == f {
		delete(s.byKey, key)
	}
}

// leave ends a request's wait. If it is the last one, the work is cancelled.
func (s *flights) leave(key string, f *flight) {
	s.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last && s.byKey[key] == f {
		delete(s.byKey, key)
	}
	s.mu.Unlock()
	if last {
		f.cancel()
		<-f.done
	}
}
