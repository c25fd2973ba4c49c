// Package clock tells the time to what waits for it, from the system or, in tests, from a clock that they set.
package clock

import "time"

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
