package admission_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"lectern/internal/admission"
)

func client(addr string) admission.Client { return admission.ClientAt(netip.MustParseAddr(addr)) }

// waitUntil yields to other goroutines until a condition holds.
func waitUntil(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		runtime.Gosched()
	}
}

func TestClientAt(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
	} {
		if same := client(c.a) == client(c.b); same != c.same {
			t.Errorf("%s and %s are the same client: %t", c.a, c.b, same)
		}
	}
	if admission.ClientAt(netip.Addr{}) != (admission.Client{}) {
		t.Error("no address is a client")
	}
	ctx := admission.WithClient(context.Background(), client("192.0.2.1"))
	if admission.ClientOf(ctx) != client("192.0.2.1") ||
		admission.ClientOf(context.Background()) != (admission.Client{}) {
		t.Error("a context does not know for whom its work is")
	}
}

func TestTryAcquire(t *testing.T) {
	s := admission.New(admission.Limits{Places: 3, Share: 2})
	a, b := s.Share(client("192.0.2.1")), s.Share(client("192.0.2.2"))
	for i, c := range []struct {
		share *admission.Share
		want  error
	}{{a, nil}, {a, nil}, {a, admission.ErrShare}, {b, nil}, {b, admission.ErrFull}, {a, admission.ErrFull}} {
		if err := c.share.TryAcquire(); !errors.Is(err, c.want) {
			t.Errorf("step %d: %v, want %v", i, err, c.want)
		}
	}
	a.Release()
	if err := b.TryAcquire(); err != nil {
		t.Errorf("a place that was given back: %v", err)
	}
	if got, want := s.Stats(), (admission.Stats{Held: 3, Clients: 2, Refused: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, sh := range []*admission.Share{a, b, b} {
		sh.Release()
	}
	a.Close()
	b.Close()
	if got, want := s.Stats(), (admission.Stats{Refused: 3}); got != want {
		t.Errorf("in the end: %+v, want %+v", got, want)
	}
}

// TestTurns checks that clients take turns: the only request of the last client waits for one request of each other
// client.
func TestTurns(t *testing.T) {
	s := admission.New(admission.Limits{Places: 1})
	first := s.Share(client("192.0.2.1"))
	if err := first.TryAcquire(); err != nil {
		t.Fatal(err)
	}
	var order []string
	var all sync.WaitGroup
	come := func(addr string) {
		waiting := s.Stats().Waiting
		all.Go(func() {
			sh := s.Share(client(addr))
			defer sh.Close()
			if err := sh.Acquire(context.Background()); err != nil {
				t.Error(err)
				return
			}
			order = append(order, addr) // the place guards order
			sh.Release()
		})
		waitUntil(t, func() bool { return s.Stats().Waiting == waiting+1 })
	}
	for range 150 {
		come("192.0.2.1")
	}
	for range 50 {
		come("192.0.2.2")
	}
	come("192.0.2.3")
	first.Release()
	all.Wait()
	if len(order) != 201 {
		t.Fatalf("%d had their turn", len(order))
	}
	if order[2] != "192.0.2.3" {
		t.Errorf("the last client did not get the third turn: %v", order[:10])
	}
	for i, addr := range order[3:100] {
		if want := []string{"192.0.2.1", "192.0.2.2"}[i%2]; addr != want {
			t.Fatalf("turn %d was that of %s, want %s", i+3, addr, want)
		}
	}
}

// TestYield checks that a place changes hands when its holder yields and others wait, and only then.
func TestYield(t *testing.T) {
	s := admission.New(admission.Limits{Places: 1})
	a, b := s.Share(client("192.0.2.1")), s.Share(client("192.0.2.2"))
	if err := a.TryAcquire(); err != nil {
		t.Fatal(err)
	}
	if err := a.Yield(context.Background()); err != nil {
		t.Errorf("while nobody waits: %v", err)
	}
	var order []string
	granted := make(chan error)
	wait := func(sh *admission.Share, name string) {
		waiting := s.Stats().Waiting
		go func() {
			err := sh.Acquire(context.Background())
			order = append(order, name) // the place guards order
			granted <- err
		}()
		waitUntil(t, func() bool { return s.Stats().Waiting == waiting+1 })
	}
	wait(a, "a")
	wait(b, "b")
	yielded := make(chan error)
	go func() { yielded <- a.Yield(context.Background()) }()
	for _, sh := range []*admission.Share{a, b} {
		if err := <-granted; err != nil {
			t.Error(err)
		}
		sh.Release()
	}
	if err := <-yielded; err != nil || order[0] != "a" || order[1] != "b" {
		t.Errorf("%v after %q, want the place after a and b", err, order)
	}

	wait(b, "b")
	ctx, cancel := context.WithCancel(context.Background())
	go func() { yielded <- a.Yield(ctx) }()
	if err := <-granted; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-yielded; !errors.Is(err, context.Canceled) {
		t.Errorf("a holder that was cancelled: %v", err)
	}
	b.Release()
	a.Close()
	b.Close()
	if got := s.Stats(); got.Held != 0 || got.Waiting != 0 || got.Clients != 0 {
		t.Errorf("in the end: %+v", got)
	}
}

// TestWaitingAtTheLimit checks that a client at its limit waits even while places are free, and does not block other
// clients.
func TestWaitingAtTheLimit(t *testing.T) {
	s := admission.New(admission.Limits{Places: 3, Share: 1, Waiting: 2})
	greedy, other := s.Share(client("192.0.2.1")), s.Share(client("192.0.2.2"))
	if err := greedy.Acquire(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error)
	for range 2 {
		go func() { got <- greedy.Acquire(ctx) }()
	}
	waitUntil(t, func() bool { return s.Stats().Waiting == 2 })
	if err := greedy.Acquire(ctx); !errors.Is(err, admission.ErrWaiting) {
		t.Errorf("one more than may wait: %v", err)
	}
	if err := other.TryAcquire(); err != nil {
		t.Errorf("another client: %v", err)
	}
	greedy.Release()
	if err := <-got; err != nil {
		t.Errorf("the first waiter: %v", err)
	}
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled waiter: %v", err)
	}
	greedy.Release()
	other.Release()
	if got, want := s.Stats(), (admission.Stats{Clients: 2, Refused: 2}); got != want {
		t.Errorf("in the end: %+v, want %+v", got, want)
	}
}

// TestAnyOrder checks that in any order of calls no limit is exceeded, no place is lost, and no free place is refused.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := admission.Limits{Places: rapid.IntRange(1, 5).Draw(t, "places"),
			Share: rapid.IntRange(0, 3).Draw(t, "share")}
		s := admission.New(limits)
		var shares [3]*admission.Share
		var held [3]int
		for i := range shares {
			shares[i] = s.Share(client([]string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}[i]))
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "client")
			if rapid.Bool().Draw(t, "release") {
				if held[i] > 0 {
					shares[i].Release()
					held[i]--
				}
				continue
			}
			full := held[0]+held[1]+held[2] == limits.Places
			atShare := limits.Share > 0 && held[i] == limits.Share
			switch err := shares[i].TryAcquire(); {
			case err == nil && (full || atShare), err != nil && !full && !atShare:
				t.Fatalf("held %v of %+v, client %d: %v", held, limits, i, err)
			case err == nil:
				held[i]++
			}
			if got := s.Stats().Held; got != held[0]+held[1]+held[2] {
				t.Fatalf("%d are held, want %v", got, held)
			}
		}
	})
}

// TestAtOnce checks that no place, waiter or share is left after many goroutines acquire, cancel and release at the
// same time.
func TestAtOnce(t *testing.T) {
	s := admission.New(admission.Limits{Places: 2, Share: 1, Waiting: 20})
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			sh := s.Share(client([]string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}[i%4]))
			defer sh.Close()
			for n := range 200 {
				ctx, cancel := context.WithCancel(context.Background())
				if n%5 == 0 {
					cancel()
				}
				if err := sh.Acquire(ctx); err == nil {
					runtime.Gosched()
					sh.Release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if got := s.Stats(); got.Held != 0 || got.Waiting != 0 || got.Clients != 0 {
		t.Errorf("in the end: %+v", got)
	}
}

func BenchmarkAcquire(b *testing.B) {
	sh := admission.New(admission.Limits{Places: 1024, Share: 256}).Share(client("192.0.2.1"))
	b.ReportAllocs()
	for b.Loop() {
		if sh.TryAcquire() == nil {
			sh.Release()
		}
	}
}
