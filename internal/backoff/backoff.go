// Package backoff says how long to wait between attempts at something that fails.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"

	"lectern/internal/clock"
)

const (
	shortest = 250 * time.Millisecond
	// Longest is about the longest wait.
	Longest = 30 * time.Second
)

// A Backoff waits between attempts: longer each time, and never as long as another that began at the same time. It is
// not safe for concurrent use.
type Backoff struct{ next time.Duration }

// New returns a Backoff that begins with a short wait.
func New() *Backoff { return &Backoff{shortest} }

// Wait waits before the next attempt. It returns the error of ctx if that ends.
func (b *Backoff) Wait(ctx context.Context) error {
	d := b.next/2 + rand.N(b.next)
	b.next = min(2*b.next, Longest)
	return clock.Sleep(ctx, d)
}
