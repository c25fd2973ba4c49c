package budget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"lectern/internal/budget"
)

// ended returns a context that has ended, so that Wait returns at once.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestGrow(t *testing.T) {
	b := budget.New(1000)
	one, other := b.Reservation(), b.Reservation()
	for _, step := range []struct {
		of       *budget.Reservation
		bytes    int64
		fits     bool
		reserved int64
	}{
		{&one, 400, true, 400},
		{&one, 300, true, 400}, // has 400 reserved already
		{&other, 600, true, 1000},
		{&other, 601, false, 1000},
		{&one, 401, false, 1000},
	} {
		if err := step.of.Grow(step.bytes); (err == nil) != step.fits || err != nil &&
			!errors.Is(err, budget.ErrExhausted) {
			t.Errorf("grow to %d: %v", step.bytes, err)
		}
		if got := b.Stats().Reserved; got != step.reserved {
			t.Errorf("after growing to %d: %d reserved, not %d", step.bytes, got, step.reserved)
		}
	}
	other.Release()
	other.Release()
	if err := one.Grow(1000); err != nil {
		t.Errorf("after a release: %v", err)
	}
	one.Release()
	want := budget.Stats{Limit: 1000, Peak: 1000, Denied: 2}
	if got := b.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestLargeLeaveRoom checks that reservations above 1 MiB leave a quarter of the budget to smaller ones.
func TestLargeLeaveRoom(t *testing.T) {
	b := budget.New(16 << 20)
	large, another, small := b.Reservation(), b.Reservation(), b.Reservation()
	if err := large.Grow(12 << 20); err != nil {
		t.Fatal(err)
	}
	if err := another.Grow(2 << 20); err == nil {
		t.Error("a large reservation took what is kept for small ones")
	}
	if err := small.Grow(1 << 20); err != nil {
		t.Errorf("a small reservation: %v", err)
	}
	if err := small.Grow(1<<20 + 1); err == nil {
		t.Error("a reservation that became large took what is kept for small ones")
	}
	if err := another.Wait(context.Background(), 13<<20); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("waiting for what can never be free: %v", err)
	}
}

func TestWait(t *testing.T) {
	b := budget.New(1000)
	holder, waiter := b.Reservation(), b.Reservation()
	if err := errors.Join(holder.Grow(900), waiter.Grow(100)); err != nil {
		t.Fatal(err)
	}
	if err := waiter.Wait(ended(), 200); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("nothing was free: %v", err)
	}
	if got := b.Stats(); got.Reserved != 900 || got.Refused != 1 || waiter.Bytes() != 0 {
		t.Errorf("who waits holds nothing: %+v", got)
	}
	granted := make(chan error)
	go func() { granted <- waiter.Wait(context.Background(), 200) }()
	holder.Release()
	if err := <-granted; err != nil || waiter.Bytes() != 200 || b.Stats().Reserved != 200 {
		t.Errorf("after waiting: %v, %+v", err, b.Stats())
	}
	waiter.Release()
}

// TestUnbounded checks that reservations of a nil Budget have no limit.
func TestUnbounded(t *testing.T) {
	var none *budget.Budget
	r := none.Reservation()
	if err := errors.Join(r.Grow(1<<60), r.Wait(ended(), 1<<61)); err != nil {
		t.Error(err)
	}
	r.Release()
	if none.Stats() != (budget.Stats{}) || none.Limit() != 0 {
		t.Error("a nil budget counts")
	}
}

// TestEbb checks that Ebb sends once after a flood of reservations ends.
func TestEbb(t *testing.T) {
	b := budget.New(100 << 20)
	told := func() bool {
		select {
		case <-b.Ebb():
			return true
		default:
			return false
		}
	}
	small, large := b.Reservation(), b.Reservation()
	for _, r := range []*budget.Reservation{&small, &large} {
		if err := r.Grow(16 << 20); err != nil {
			t.Fatal(err)
		}
	}
	small.Release()
	if told() {
		t.Error("told while much is reserved")
	}
	large.Release()
	if !told() {
		t.Error("not told")
	}
	if err := small.Grow(16 << 20); err != nil {
		t.Fatal(err)
	}
	small.Release()
	if told() {
		t.Error("told of little")
	}
}

// TestAgainstModel reserves and releases random amounts, and compares the budget with a plain sum.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 64<<20).Draw(t, "limit")
		b := budget.New(limit)
		held := make([]budget.Reservation, 4)
		model := make([]int64, len(held))
		for i := range held {
			held[i] = b.Reservation()
		}
		total := func() (n int64) {
			for _, m := range model {
				n += m
			}
			return n
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
			bytes := rapid.Int64Range(0, limit+10).Draw(t, "bytes")
			room := limit
			if bytes > 1<<20 {
				room -= limit / 4
			}
			switch rapid.SampledFrom([]string{"grow", "wait", "release"}).Draw(t, "step") {
			case "grow":
				fits := bytes <= model[i] || total()+bytes-model[i] <= room
				if err := held[i].Grow(bytes); (err == nil) != fits {
					t.Fatalf("grow from %d to %d of %d, %d reserved: %v", model[i], bytes, limit, total(), err)
				}
				if fits {
					model[i] = max(model[i], bytes)
				}
			case "wait":
				model[i] = 0
				fits := total()+bytes <= room
				if err := held[i].Wait(ended(), bytes); (err == nil) != fits {
					t.Fatalf("wait for %d of %d, %d reserved: %v", bytes, limit, total(), err)
				}
				if fits {
					model[i] = bytes
				}
			case "release":
				held[i].Release()
				model[i] = 0
			}
			if got := b.Stats(); got.Reserved != total() || got.Peak > limit {
				t.Fatalf("%+v, not %d reserved", got, total())
			}
		}
	})
}

// TestTogether checks that many goroutines never reserve more than the budget, that each is granted its share
// eventually, and that nothing stays reserved.
func TestTogether(t *testing.T) {
	const limit, workers, rounds = 10_000, 16, 300
	b := budget.New(limit)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			r := b.Reservation()
			for range rounds {
				n := rand.Int64N(limit / 2)
				if r.Grow(n) != nil {
					if err := r.Wait(context.Background(), n); err != nil {
						t.Error(err)
					}
				}
				if r.Grow(n+rand.Int64N(limit/2)) != nil && r.Bytes() < n {
					t.Error("a denied reservation shrank")
				}
				r.Release()
			}
		})
	}
	all.Wait()
	if got := b.Stats(); got.Reserved != 0 || got.Peak > limit || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkGrow(b *testing.B) {
	memory := budget.New(1 << 30)
	b.ReportAllocs()
	for b.Loop() {
		r := memory.Reservation()
		if err := r.Grow(1 << 20); err != nil {
			b.Fatal(err)
		}
		r.Release()
	}
}
