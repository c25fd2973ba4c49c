package webhooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Pause lets no request begin until Resume is called or Run has returned. It waits until those under way have ended; an
// error means that ctx has ended before. Events are kept meanwhile. Flush can then store what was delivered, for the
// server that goes on with the hooks.
func (d *Dispatcher) Pause(ctx context.Context) error {
	return d.pausing(true, func(r *running) error {
		var idle chan struct{}
		if err := r.call(ctx, func(s *sender) error { idle = s.pause(); return nil }); err != nil {
			return err
		}
		select {
		case <-idle:
			return nil
		case <-r.done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the webhook %s has no answer to requests under way: %w", r.sender.hook.Name, ctx.Err())
		}
	})
}

// Resume ends what Pause has begun.
func (d *Dispatcher) Resume() {
	_ = d.pausing(false, func(r *running) error {
		return r.call(context.Background(),
			func(s *sender) error { s.idle = nil; return nil }) // it fails only if the sender has ended
	})
}

// Flush stores how far each hook has come. Of what was delivered until then nothing is sent again, whatever was not
// delivered before it.
func (d *Dispatcher) Flush(ctx context.Context) error {
	return d.all(func(r *running) error {
		return r.call(ctx, func(s *sender) error { return s.write(ctx, s.deliveredUpTo()) })
	})
}

// pausing notes whether senders that are started are paused, and calls f for those that run.
func (d *Dispatcher) pausing(paused bool, f func(*running) error) error {
	d.mu.Lock()
	d.paused = paused
	d.mu.Unlock()
	return d.all(f)
}

// all calls f for all senders that run, at the same time.
func (d *Dispatcher) all(f func(*running) error) error {
	d.mu.Lock()
	list := slices.Collect(maps.Values(d.running))
	d.mu.Unlock()
	errs := make([]error, len(list))
	var calls sync.WaitGroup
	for i, r := range list {
		calls.Go(func() { errs[i] = f(r) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

// pause lets the sender begin no request. The channel that it returns is closed once none is under way.
func (s *sender) pause() (idle chan struct{}) {
	s.idle = make(chan struct{})
	if s.sending == 0 {
		close(s.idle)
	}
	return s.idle
}
