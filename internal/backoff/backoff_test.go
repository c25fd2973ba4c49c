package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lectern/internal/backoff"
)

// TestWaitsDoubleUpToTheLongest allows each wait the half and one and a half times of what doubling gives.
func TestWaitsDoubleUpToTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff.New()
		for i, about := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 120, 120, 120} {
			about *= 250 * time.Millisecond
			began := time.Now()
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < about/2 || took >= about+about/2 {
				t.Errorf("wait %d took %s, about %s is due", i, took, about)
			}
		}
		if longest := 120 * 250 * time.Millisecond; longest != backoff.Longest {
			t.Errorf("Longest is %s", backoff.Longest)
		}
	})
}

func TestWaitsOfSeveralDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := map[time.Duration]bool{}
		for range 20 {
			began := time.Now()
			if err := backoff.New().Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			took[time.Since(began)] = true
		}
		if len(took) < 10 {
			t.Errorf("20 waits have %d lengths", len(took))
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := backoff.New().Wait(ctx); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(began) != time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
