package auth_test

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lectern/auth"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := auth.NewLimiter(auth.RateLimit{Enabled: true, Interval: time.Minute, Max: 3}, func() time.Time { return now })
	ask := func(addr, route string) bool {
		ok, retry := l.Allow(netip.MustParseAddr(addr), route)
		if ok != (retry == 0) || retry < 0 || retry > time.Minute {
			t.Errorf("%s %s: %v, again in %v", addr, route, ok, retry)
		}
		return ok
	}
	for i, c := range []struct {
		after       time.Duration
		addr, route string
		want        bool
	}{
		{0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true},
		{0, "192.0.2.1", "a", false},
		{0, "::ffff:192.0.2.1", "a", false}, // the same address as IPv6
		{0, "192.0.2.1", "b", true},
		{0, "192.0.2.2", "a", true},
		{59 * time.Second, "192.0.2.1", "a", false},
		{time.Second, "192.0.2.1", "a", true}, // refused requests do not count
		{30 * time.Second, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", false},
		{30 * time.Second, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", false}, // one of the three is a minute old
		{time.Hour, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true},
		{0, "192.0.2.1", "a", false},
		{0, "2001:db8::1", "a", true}, {0, "2001:db8::2", "a", true}, {0, "2001:db8:0:0:ffff::3", "a", true},
		{0, "2001:db8::4", "a", false},
		{0, "2001:db8:0:1::1", "a", true},
		{0, "fe80::1%eth0", "a", true}, {0, "fe80::1%eth1", "a", true}, {0, "fe80::2", "a", true},
		{0, "fe80::1", "a", false},
	} {
		now = now.Add(c.after)
		if got := ask(c.addr, c.route); got != c.want {
			t.Errorf("%d: %s %s: %v, want %v", i, c.addr, c.route, got, c.want)
		}
	}
	// Requests whose address is unknown are limited too.
	for range 3 {
		l.Allow(netip.Addr{}, "a")
	}
	if ok, _ := l.Allow(netip.Addr{}, "a"); ok {
		t.Error("no address, no limit")
	}
}

// TestLimiterIsBounded sends requests from many addresses. The counter of an address that keeps sending is not dropped.
func TestLimiterIsBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := auth.NewLimiter(auth.RateLimit{Enabled: true, Interval: time.Hour, Max: 1}, func() time.Time { return now })
	busy := netip.MustParseAddr("192.0.2.1")
	l.Allow(busy, "a")
	for i := range uint32(100_000) {
		l.Allow(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 10<<24|i))), "a")
		if i%10_000 != 0 {
			continue
		}
		if ok, _ := l.Allow(busy, "a"); ok {
			t.Fatalf("forgotten after %d others", i)
		}
	}
}

// TestLimiterReachesItsLimitAndNeverPassesIt takes from one counter in several goroutines while the time passes: the
// limit is reached in each interval, never passed.
func TestLimiterReachesItsLimitAndNeverPassesIt(t *testing.T) {
	const most, steps, interval = 100, 5000, 80 * time.Millisecond
	start := time.Unix(1e9, 0)
	var passed, allowed atomic.Int64
	l := auth.NewLimiter(auth.RateLimit{Enabled: true, Interval: interval, Max: most}, func() time.Time {
		return start.Add(time.Duration(passed.Load()))
	})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range steps {
				passed.Add(int64(10 * time.Microsecond))
				q := l.Take(netip.Addr{}, "a token")
				if q.Allowed {
					allowed.Add(1)
				}
				if q.Allowed != (q.Retry == 0) || q.Remaining < 0 || q.Remaining >= most || q.Reset <= 0 ||
					q.Reset > interval || q.Retry > interval {
					t.Errorf("%+v", q)
				}
			}
		})
	}
	group.Wait()
	intervals := passed.Load() / int64(interval)
	if got := allowed.Load(); got > most*intervals || got < most*(intervals-1) {
		t.Errorf("%d requests were allowed in %d intervals", got, intervals)
	}
}

// TestLimiterAllowsNoMoreInAnyWindow compares a Limiter with a list of the times of the requests that it allowed: no
// window has more than the limit, what a Quota tells is true, and no request is refused if the limit holds in a window
// that is an eighth longer.
func TestLimiterAllowsNoMoreInAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := auth.RateLimit{Enabled: true, Interval: time.Duration(rapid.IntRange(1, 5000).Draw(t, "interval")),
			Max: rapid.IntRange(1, 40).Draw(t, "max")}
		now := time.Unix(1e9, 0)
		l := auth.NewLimiter(limit, func() time.Time { return now })
		var allowed []time.Time
		lately := func(d time.Duration) (n int) { // how many were allowed in the time d that ends now
			for n < len(allowed) && now.Sub(allowed[len(allowed)-1-n]) < d {
				n++
			}
			return n
		}
		take := func() auth.Quota {
			before, roughly := lately(limit.Interval), lately(limit.Interval+limit.Interval/8+1)
			q := l.Take(netip.Addr{}, "")
			if q.Allowed {
				allowed = append(allowed, now)
			}
			if q.Allowed && before >= limit.Max || !q.Allowed && roughly < limit.Max {
				t.Fatalf("allowed: %v, after %d in the window, %d in a longer one", q.Allowed, before, roughly)
			}
			return q
		}
		gap := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 20), rapid.IntRange(0, 2*int(limit.Interval)))
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(gap.Draw(t, "gap")))
			q := take()
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0: // as many as remain are allowed
				for range q.Remaining {
					if !take().Allowed {
						t.Fatalf("%d should remain", q.Remaining)
					}
				}
				if again := take(); again.Allowed {
					t.Fatalf("more than %d remained", q.Remaining)
				}
			case 1: // after Retry, but not sooner, one is allowed
				if now = now.Add(q.Retry - 1); !q.Allowed && take().Allowed {
					t.Fatalf("allowed before %v", q.Retry)
				}
				if now = now.Add(1); !q.Allowed && !take().Allowed {
					t.Fatalf("refused after %v", q.Retry)
				}
			case 2: // after Reset all are allowed
				now = now.Add(q.Reset)
				if q := take(); q.Remaining != limit.Max-1 {
					t.Fatalf("%d remain after the reset", q.Remaining)
				}
			}
		}
	})
}

// TestLimiterForgetsWhateverTheClockDoes sets the clock back and forth, then a day back: what was allowed counts for no
// longer than an interval from then on.
func TestLimiterForgetsWhateverTheClockDoes(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := auth.NewLimiter(auth.RateLimit{Enabled: true, Interval: time.Minute, Max: 40}, func() time.Time { return now })
	for i := range 40 {
		now = now.Add([]time.Duration{10 * time.Second, -10 * time.Second}[i%2])
		if q := l.Take(netip.Addr{}, ""); !q.Allowed || q.Remaining != 39-i || q.Reset != time.Minute {
			t.Fatalf("%d: %+v", i, q)
		}
	}
	now = now.Add(-24 * time.Hour)
	if q := l.Take(netip.Addr{}, ""); q.Allowed || q.Retry != time.Minute {
		t.Errorf("%+v", q)
	}
	now = now.Add(time.Minute)
	if q := l.Take(netip.Addr{}, ""); q.Remaining != 39 {
		t.Errorf("%+v", q)
	}
}

// BenchmarkLimiter takes from one counter whose limit is reached.
func BenchmarkLimiter(b *testing.B) {
	l := auth.NewLimiter(auth.RateLimit{Enabled: true, Interval: time.Millisecond, Max: 1000}, nil)
	b.ReportAllocs()
	for b.Loop() {
		l.Take(netip.Addr{}, "a token")
	}
}

func TestMailTemplates(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "plain": true, "<%= URL %>?code=<%= TOKEN %>": true, "<%=CODE%>": true,
		"<%= USER.username %> <%= USER.email %>": true, "<%= SERVER_URL %>": true,
		"100 % sure": true, "a < b": true,
		"<%= user %>": false, "<%= USER.password %>": false, "<% evil() %>": false, "<%= URL": false,
		"<%- URL %>": false, "<%= process.env %>": false,
		"<%= URL + TOKEN %>": false, "<%= <%= URL %> %>": false, "<%%>": false,
	} {
		for _, m := range []auth.MailTemplate{{Subject: text}, {Message: text}} {
			if err := m.Check(); (err == nil) != want {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}
