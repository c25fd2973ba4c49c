// Package status remembers what a server has done in the last day: a sample for each minute, and the last requests that
// were slow or failed. What it keeps is bounded, and requests do nothing for it that they do not do for the metrics.
package status

import (
	"context"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"lectern/gateway/admin"
	requests "lectern/gateway/metrics"
	"lectern/internal/clock"
)

const (
	// interval is the time from a sample to the next, and most how many are kept: those of a day.
	interval = time.Minute
	most     = int(24 * time.Hour / interval)

	// markEvery is how often the totals of routes are kept. What has happened since the oldest of the marks is shown.
	markEvery = 4 * time.Hour
	marks     = int(24*time.Hour/markEvery) + 1

	// noted is how many slow requests are kept, and how many that failed.
	noted = 100
)

// SlowAfter is how long a request takes at least to be noted as a slow one.
const SlowAfter = time.Second

// A Reading is what a server has counted until now, and what it uses.
type Reading struct {
	Totals []requests.Total
	Writes uint64
	Disk   int64 // bytes of the file of the store
	Free   int64 // bytes left on its disk; negative if the system does not say
}

// Options are what a History needs.
type Options struct {
	Clock clock.Clock
	Read  func() Reading
	// Counts reports whether requests of a route count. Those that wait for something, and probes, tell nothing of how
	// the server does.
	Counts func(route string) bool
}

// A History is what a server has done. All methods may be called by any number of goroutines.
type History struct {
	Options
	started time.Time

	mu           sync.Mutex
	samples      []sample // the oldest first
	before       counted  // at the last sample
	marks        []mark   // the oldest first
	slow, failed ring
}

// A counted is what was counted until a time.
type counted struct {
	requests, clientErrors, serverErrors, writes uint64
	took                                         requests.Durations
}

// A sample is what was counted since the sample before, and what the server uses.
type sample struct {
	at time.Time
	counted
	memory, disk, free int64
}

// A mark has the totals of routes at a time.
type mark struct {
	at     time.Time
	totals map[route]requests.Total
}

type route struct{ path, method string }

// New returns an empty History that begins now.
func New(o Options) *History {
	now := o.Clock.Now().UTC().Truncate(time.Second)
	return &History{Options: o, started: now, marks: []mark{{at: now}}}
}

// Run takes samples until ctx ends.
func (h *History) Run(ctx context.Context) {
	for {
		h.sample()
		select {
		case <-ctx.Done():
			return
		case <-h.Clock.After(interval):
		}
	}
}

// sample adds a sample of now.
func (h *History) sample() {
	r, now := h.Read(), h.Clock.Now().UTC()
	sum := h.sum(&r)
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sampleOf(now, &r, sum)
	h.before = sum
	for len(h.samples) > 0 && !h.samples[len(h.samples)-1].at.Before(now) { // the clock was set back
		h.samples = h.samples[:len(h.samples)-1]
	}
	if h.samples = append(h.samples, s); len(h.samples) > most {
		h.samples = slices.Delete(h.samples, 0, len(h.samples)-most)
	}
	if last := h.marks[len(h.marks)-1].at; now.Sub(last) >= markEvery || now.Before(last) {
		h.mark(now, &r)
	}
}

// sampleOf returns the sample of now, until when sum was counted.
func (h *History) sampleOf(now time.Time, r *Reading, sum counted) sample {
	s := sample{at: now, counted: sum, memory: memory(), disk: r.Disk, free: r.Free}
	s.subtract(&h.before)
	return s
}

// sum returns what the requests that count come to.
func (h *History) sum(r *Reading) counted {
	sum := counted{writes: r.Writes}
	for i := range r.Totals {
		t := &r.Totals[i]
		if !h.Counts(t.Route) {
			continue
		}
		sum.requests += t.Requests
		sum.clientErrors += t.ClientErrors
		sum.serverErrors += t.ServerErrors
		sum.took.Add(&t.Took)
	}
	return sum
}

// subtract takes away what was counted before. Counters of a store begin anew with a copy of it.
func (c *counted) subtract(before *counted) {
	c.requests -= before.requests
	c.clientErrors -= before.clientErrors
	c.serverErrors -= before.serverErrors
	c.took.Subtract(&before.took)
	if c.writes >= before.writes {
		c.writes -= before.writes
	}
}

// mark keeps the totals of now.
func (h *History) mark(now time.Time, r *Reading) {
	m := mark{now, make(map[route]requests.Total, len(r.Totals))}
	for _, t := range r.Totals {
		m.totals[route{t.Route, t.Method}] = t
	}
	if h.marks = append(h.marks, m); len(h.marks) > marks {
		h.marks = slices.Delete(h.marks, 0, len(h.marks)-marks)
	}
}

// memory returns how many bytes the process has from the system, as far as Go knows.
func memory() int64 {
	values := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(values)
	return int64(values[0].Value.Uint64() - values[1].Value.Uint64())
}

// Slow records a request that took SlowAfter or longer.
func (h *History) Slow(r admin.NotedRequest) {
	if h.Counts(r.Route) {
		h.note(&h.slow, r)
	}
}

// Failed records a request that was answered with 500 or above.
func (h *History) Failed(r admin.NotedRequest) { h.note(&h.failed, r) }

func (h *History) note(in *ring, r admin.NotedRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	in.add(r)
}

// A ring has the last requests that were added.
type ring struct {
	all  []admin.NotedRequest
	next int // where the next is put once there are noted
}

func (r *ring) add(one admin.NotedRequest) {
	if len(r.all) < noted {
		r.all = append(r.all, one)
		return
	}
	r.all[r.next], r.next = one, (r.next+1)%noted
}

// newest returns the requests, the newest first.
func (r *ring) newest() []admin.NotedRequest {
	list := slices.Concat(r.all[r.next:], r.all[:r.next])
	slices.Reverse(list)
	if list == nil {
		list = []admin.NotedRequest{}
	}
	return list
}
