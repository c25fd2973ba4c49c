package status_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/internal/status"
	"lectern/gateway/metrics"
	"lectern/internal/clock"
)

// A watched is a server whose numbers the test decides, with its History.
type watched struct {
	t *testing.T
	*status.History

	mu      sync.Mutex
	reading status.Reading
}

// watch runs f beside a History that takes samples, in a bubble with a clock of its own.
func watch(t *testing.T, f func(*watched)) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t}
		w.History = status.New(status.Options{
			Clock: clock.System, Read: w.read,
			Counts: func(route string) bool { return route != "/_health" },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		synctest.Wait()
		f(w)
		stop()
		<-ended // whoever starts it can wait for it
	})
}

func (w *watched) read() status.Reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reading
}

// counts changes the numbers of the server.
func (w *watched) counts(change func(*status.Reading)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.reading)
}

// pass lets time pass, and the sample of its end be taken.
func (w *watched) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *watched) tell() (s admin.Status) {
	w.Tell(&s)
	return s
}

func total(route string, all, client, server uint64, bucket int) metrics.Total {
	t := metrics.Total{Route: route, Method: "GET", Requests: all, ClientErrors: client, ServerErrors: server}
	t.Took[bucket] = all
	return t
}

func TestSamplesHaveWhatHappenedSinceTheOneBefore(t *testing.T) {
	watch(t, func(w *watched) {
		w.counts(func(r *status.Reading) {
			*r = status.Reading{Writes: 3, Disk: 4096, Free: 1 << 30,
				Totals: []metrics.Total{total("/api/a", 10, 2, 1, 2), total("/_health", 1000, 0, 0, 0)}}
		})
		w.pass(time.Minute)
		w.counts(func(r *status.Reading) {
			r.Totals, r.Writes = []metrics.Total{total("/api/a", 15, 2, 1, 2), total("/api/b", 4, 0, 4, 5)}, 5
		})
		w.pass(time.Minute)
		w.counts(func(r *status.Reading) { r.Writes, r.Free = 1, -1 }) // the store was replaced
		w.pass(time.Minute)
		time.Sleep(10 * time.Second) // less than a minute
		w.counts(func(r *status.Reading) { r.Writes = 3 })
		s := w.tell().Series
		for name, column := range map[string][2][]uint64{
			"requests": {{0, 10, 9, 0, 0}, s.Requests}, "clientErrors": {{0, 2, 0, 0, 0}, s.ClientErrors},
			"serverErrors": {{0, 1, 4, 0, 0}, s.ServerErrors}, "writes": {{0, 3, 2, 1, 2}, s.Writes},
		} {
			if !slices.Equal(column[0], column[1]) {
				t.Errorf("%s: %v, want %v", name, column[1], column[0])
			}
		}
		if s.P50[0] != nil || s.P50[3] != nil || *s.P50[1] < .5 || *s.P50[1] > 1 || *s.P99[2] < 5 || *s.P99[2] > 10 {
			t.Errorf("p50 %v, p99 %v", s.P50, s.P99)
		}
		if *s.Free[1] != 1<<30 || s.Free[3] != nil || s.Disk[1] != 4096 || s.Memory[3] <= 0 {
			t.Errorf("free %v, disk %v, memory %v", s.Free, s.Disk, s.Memory)
		}
		for i := 1; i < len(s.Times); i++ {
			if gap := s.Times[i] - s.Times[i-1]; gap != 60 && (gap != 10 || i < 4) {
				t.Errorf("times %v", s.Times)
			}
		}
	})
}

// TestADayIsKept lets three days pass, with a request of one route each minute and one of another in the first.
func TestADayIsKept(t *testing.T) {
	watch(t, func(w *watched) {
		begun := time.Now()
		for i := range uint64(3 * 24 * 60) {
			w.counts(func(r *status.Reading) {
				r.Totals = []metrics.Total{total("/api/a", i+1, 0, 0, 0), total("/api/b", 7, 0, 0, 0)}
			})
			w.pass(time.Minute)
		}
		s := w.tell()
		if n := len(s.Series.Times); n != 24*60+1 || s.Series.Times[n-1] != time.Now().Unix() || s.Series.Requests[0] != 1 || s.Series.Requests[n-1] != 0 {
			t.Errorf("%d samples, the last at %d", n, s.Series.Times[n-1])
		}
		if age := time.Since(s.Since); age < 24*time.Hour || age > 28*time.Hour || !s.Started.Equal(begun) {
			t.Errorf("routes are counted since %s, the start is %s", age, s.Started)
		}
		if len(s.Routes) != 1 || s.Routes[0].Route != "/api/a" || s.Routes[0].Requests != uint64(time.Since(s.Since)/time.Minute) {
			t.Errorf("%+v since %s", s.Routes, s.Since)
		}
	})
}

func TestRoutesAreSortedByTheirRequests(t *testing.T) {
	watch(t, func(w *watched) {
		w.counts(func(r *status.Reading) {
			r.Totals = []metrics.Total{total("/api/a", 3, 1, 0, 0), total("/api/b", 9, 0, 2, 0), total("/api/c", 0, 0, 0, 0)}
		})
		got := w.tell().Routes // counted since the last sample, too
		if len(got) != 2 || got[0].Route != "/api/b" || got[0].ServerErrors != 2 || got[1].ClientErrors != 1 || got[1].P95 == nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestNotedRequestsAreBounded(t *testing.T) {
	watch(t, func(w *watched) {
		if s := w.tell(); len(s.Slow) > 0 || len(s.Failed) > 0 || s.Slow == nil || s.Failed == nil {
			t.Errorf("%v %v", s.Slow, s.Failed)
		}
		w.Slow(admin.NotedRequest{Route: "/_health"})
		for i := range 250 {
			w.Failed(admin.NotedRequest{ID: fmt.Sprint(i)})
		}
		s := w.tell()
		if n := len(s.Failed); n != 100 || s.Failed[0].ID != "249" || s.Failed[99].ID != "150" || len(s.Slow) != 0 {
			t.Errorf("%d: %+v, slow %v", n, s.Failed, s.Slow)
		}
	})
}
