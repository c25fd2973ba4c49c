// Package clock tells the time to what waits for it, from the system or, in tests, from a clock that they set.
package clock

import (
	"context"
	"time"
)

// A Clock tells the time, and when some of it has passed.
type Clock interface {
	Now() time.Time
	// After returns a channel that gets a value once d has passed.
	After(d time.Duration) <-chan time.Time
}

// System is the clock of the system.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time                         { return time.Now() }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Sleep waits for d, by the system. If ctx ends before, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
