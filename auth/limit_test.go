package auth_test

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		{0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", false},
		{0, "::ffff:192.0.2.1", "a", false}, // the same address as IPv6
		{0, "192.0.2.1", "b", true},
		{0, "192.0.2.2", "a", true},
		{19 * time.Second, "192.0.2.1", "a", false},
		{time.Second, "192.0.2.1", "a", true}, // a third of the interval has passed
		{0, "192.0.2.1", "a", false},          // refused requests do not count
		{time.Hour, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", true}, {0, "192.0.2.1", "a", false},
		{0, "2001:db8::1", "a", true}, {0, "2001:db8::2", "a", true}, {0, "2001:db8:0:0:ffff::3", "a", true}, {0, "2001:db8::4", "a", false},
		{0, "2001:db8:0:1::1", "a", true},
		{0, "fe80::1%eth0", "a", true}, {0, "fe80::1%eth1", "a", true}, {0, "fe80::2", "a", true}, {0, "fe80::1", "a", false},
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

// TestLimiterUnderLoad takes from one counter in several goroutines while the time passes: in no time more are allowed than the limit says.
func TestLimiterUnderLoad(t *testing.T) {
	const most, steps = 100, 5000
	start := time.Unix(1e9, 0)
	var passed, allowed atomic.Int64
	l := auth.NewLimiter(auth.RateLimit{Enabled: true, Interval: time.Second, Max: most}, func() time.Time {
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
				if q.Allowed != (q.Retry == 0) || q.Remaining < 0 || q.Remaining >= most || q.Reset <= 0 || q.Reset > time.Second || q.Retry > time.Second/most {
					t.Errorf("%+v", q)
				}
			}
		})
	}
	group.Wait()
	if got, want := allowed.Load(), most+int64(most*time.Duration(passed.Load())/time.Second); got > want || got < want-1 {
		t.Errorf("%d requests were allowed, want %d", got, want)
	}
}

func TestMailTemplates(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "plain": true, "<%= URL %>?code=<%= TOKEN %>": true, "<%=CODE%>": true, "<%= USER.username %> <%= USER.email %>": true, "<%= SERVER_URL %>": true,
		"100 % sure": true, "a < b": true,
		"<%= user %>": false, "<%= USER.password %>": false, "<% evil() %>": false, "<%= URL": false, "<%- URL %>": false, "<%= process.env %>": false,
		"<%= URL + TOKEN %>": false, "<%= <%= URL %> %>": false, "<%%>": false,
	} {
		for _, m := range []auth.MailTemplate{{Subject: text}, {Message: text}} {
			if err := m.Check(); (err == nil) != want {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}
