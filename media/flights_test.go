package media

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// waitFor waits until n requests wait for the work of a key.
func (s *flights) waitFor(t *testing.T, key string, n int) {
	t.Helper()
	for t.Context().Err() == nil {
		s.mu.Lock()
		f := s.byKey[key]
		there := f != nil && f.waiting == n
		s.mu.Unlock()
		if there {
			return
		}
		runtime.Gosched()
	}
}

// TestFlightsTogether sends a hundred requests for the same key. All get the result of one call, and a later request
// that of another.
func TestFlightsTogether(t *testing.T) {
	var all flights
	var calls atomic.Int32
	proceed := make(chan struct{})
	work := func(context.Context) ([]byte, error) {
		calls.Add(1)
		<-proceed
		return []byte("result"), nil
	}
	var requests sync.WaitGroup
	for range 100 {
		requests.Go(func() {
			if got, err := all.do(t.Context(), "key", work); string(got) != "result" || err != nil {
				t.Errorf("%q %v", got, err)
			}
		})
	}
	all.waitFor(t, "key", 100)
	close(proceed)
	requests.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
	if _, err := all.do(t.Context(), "key", work); err != nil || calls.Load() != 2 {
		t.Errorf("later: %v, %d calls", err, calls.Load())
	}
}

// TestFlightEndsWhenItsLastRequestLeaves lets the requests for one key leave one after the other. The work goes on
// until the last has left, and the next request does not get the cancelled work's result.
func TestFlightEndsWhenItsLastRequestLeaves(t *testing.T) {
	var all flights
	var cancelled atomic.Bool
	work := func(ctx context.Context) ([]byte, error) {
		<-ctx.Done()
		cancelled.Store(true)
		return nil, ctx.Err()
	}
	first, leaveFirst := context.WithCancel(t.Context())
	second, leaveSecond := context.WithCancel(t.Context())
	left := make(chan error, 2)
	for i, ctx := range []context.Context{first, second} {
		go func() {
			_, err := all.do(ctx, "key", work)
			left <- err
		}()
		all.waitFor(t, "key", i+1)
	}
	leaveFirst()
	if err := <-left; !errors.Is(err, context.Canceled) || cancelled.Load() {
		t.Errorf("the first: %v, cancelled: %v", err, cancelled.Load())
	}
	leaveSecond()
	if err := <-left; !errors.Is(err, context.Canceled) || !cancelled.Load() {
		t.Errorf("the last: %v, cancelled: %v", err, cancelled.Load())
	}
	got, err := all.do(t.Context(), "key", func(context.Context) ([]byte, error) { return []byte("anew"), nil })
	if string(got) != "anew" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if len(all.byKey) != 0 {
		t.Errorf("left: %v", all.byKey)
	}
}

// TestFlightTurnsAPanicIntoAnError checks that a panic of the work is an error of its requests and does not end the
// process.
func TestFlightTurnsAPanicIntoAnError(t *testing.T) {
	var all flights
	_, err := all.do(t.Context(), "key", func(context.Context) ([]byte, error) { panic("fault") })
	if err == nil || !strings.Contains(err.Error(), "fault") || len(all.byKey) != 0 {
		t.Errorf("%v, left: %v", err, all.byKey)
	}
}
