package status

import (
	"cmp"
	"slices"
	"time"

	"lectern/gateway/admin"
	requests "lectern/gateway/metrics"
)

// Tell fills in what the History knows.
func (h *History) Tell(s *admin.Status) {
	r, now := h.Read(), h.Clock.Now().UTC()
	sum := h.sum(&r)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Started, s.SlowAfter = h.started, SlowAfter.Milliseconds()
	last := h.sampleOf(now, &r, sum)
	s.Memory, s.Disk, s.Free = last.memory, last.disk, known(last.free)
	s.Series = series(append(slices.Clip(h.samples), last))
	s.Since, s.Routes = h.marks[0].at, h.routes(r.Totals)
	s.Slow, s.Failed = h.slow.newest(), h.failed.newest()
}

func series(samples []sample) admin.StatusSeries {
	n := len(samples)
	s := admin.StatusSeries{
		Times:    make([]int64, n),
		Requests: make([]uint64, n), ClientErrors: make([]uint64, n), ServerErrors: make([]uint64, n),
		Writes: make([]uint64, n),
		P50:    make([]*float64, n), P95: make([]*float64, n), P99: make([]*float64, n),
		Memory: make([]int64, n), Disk: make([]int64, n), Free: make([]*int64, n),
	}
	for i := range samples {
		of := &samples[i]
		s.Times[i] = of.at.Unix()
		s.Requests[i], s.ClientErrors[i], s.ServerErrors[i] = of.requests, of.clientErrors, of.serverErrors
		s.Writes[i] = of.writes
		s.P50[i], s.P95[i], s.P99[i] = quantiles(&of.took)
		s.Memory[i], s.Disk[i], s.Free[i] = of.memory, of.disk, known(of.free)
	}
	return s
}

// routes returns what has come to each route since the oldest mark.
func (h *History) routes(now []requests.Total) []admin.RouteStatus {
	list := []admin.RouteStatus{}
	for _, t := range now {
		before := h.marks[0].totals[route{t.Route, t.Method}]
		if t.Requests == before.Requests {
			continue
		}
		t.Took.Subtract(&before.Took)
		of := admin.RouteStatus{
			Route: t.Route, Method: t.Method, Requests: t.Requests - before.Requests,
			ClientErrors: t.ClientErrors - before.ClientErrors, ServerErrors: t.ServerErrors - before.ServerErrors,
		}
		of.P50, of.P95, of.P99 = quantiles(&t.Took)
		list = append(list, of)
	}
	slices.SortStableFunc(list, func(x, y admin.RouteStatus) int { return cmp.Compare(y.Requests, x.Requests) })
	return list
}

func quantiles(d *requests.Durations) (p50, p95, p99 *float64) {
	of := func(q float64) *float64 {
		took, ok := d.Quantile(q)
		if !ok {
			return nil
		}
		ms := Milliseconds(took)
		return &ms
	}
	return of(.5), of(.95), of(.99)
}

// Milliseconds returns a time as a Status has it: with three digits behind the point.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// known returns a number of bytes; nil if it is negative.
func known(bytes int64) *int64 {
	if bytes < 0 {
		return nil
	}
	return &bytes
}
