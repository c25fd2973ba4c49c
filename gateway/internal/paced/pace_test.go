package paced

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace writes through several Writers of one Pace, and expects all of them together to keep its rate.
func TestPace(t *testing.T) {
	const each, pace = 8 << 20, 4 << 20
	for _, writers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			p, begin := NewPace(pace), time.Now()
			sent := make([]bytes.Buffer, writers)
			var writing sync.WaitGroup
			for i := range writers {
				writing.Go(func() {
					if n, err := p.Writer(t.Context(), &sent[i]).Write(
						bytes.Repeat([]byte{byte(i)}, each)); n != each || err != nil {
						t.Errorf("%d bytes are written: %v", n, err)
					}
				})
			}
			writing.Wait()
			want := time.Duration(writers*each-Burst) * time.Second / pace // the first bytes do not wait
			if took := time.Since(begin).Round(time.Millisecond); took != want.Round(time.Millisecond) {
				t.Errorf("%d writers took %s, want %s", writers, took, want)
			}
			for i := range sent {
				if !bytes.Equal(sent[i].Bytes(), bytes.Repeat([]byte{byte(i)}, each)) {
					t.Errorf("writer %d wrote other bytes", i)
				}
			}
		})
	}
}

// TestPaceEnds ends the context of a Writer that waits.
func TestPaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		n, err := NewPace(Part).Writer(ctx, io.Discard).Write(make([]byte, 100*Part))
		if n != Burst+Part || !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes are written: %v", n, err)
		}
	})
}
