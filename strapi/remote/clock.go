package remote

import (
	"context"
	"sync"
	"time"

	"lectern/internal/clock"
)

// A Clock tells the time and waits. Tests replace it.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or until ctx ends, and then returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time                                   { return time.Now() }
func (systemClock) Sleep(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, d) }

// A pacer spaces requests evenly, so that there are never more than one in each interval.
type pacer struct {
	clock    Clock
	interval time.Duration

	mu   sync.Mutex
	next time.Time // when the next request may begin
}

// wait returns when the caller may begin a request.
func (p *pacer) wait(ctx context.Context) error {
	p.mu.Lock()
	now := p.clock.Now()
	begin := p.next
	if begin.Before(now) {
		begin = now
	}
	p.next = begin.Add(p.interval)
	p.mu.Unlock()
	if delay := begin.Sub(now); delay > 0 {
		return p.clock.Sleep(ctx, delay)
	}
	return ctx.Err()
}

// hold keeps all requests back for d, because the server has asked for it.
func (p *pacer) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.clock.Now().Add(d); p.next.Before(until) {
		p.next = until
	}
}
