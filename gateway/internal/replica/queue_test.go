package replica

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"lectern/gateway/internal/replication"
	"lectern/store/frames"
)

// endlessFrames is the stream of an origin that sends long frames without end.
type endlessFrames struct {
	payload []byte
	read    atomic.Int64 // bytes
}

func (e *endlessFrames) Next() (frames.Frame, error) {
	e.read.Add(int64(len(e.payload)))
	return frames.Frame{Kind: replication.StatusFrame, Payload: e.payload}, nil
}

func (e *endlessFrames) Close() error { return nil }

// TestFrameQueueIsBounded reads ahead from an origin that sends without end: the queue must hold a bounded number of
// bytes, and go on when some are taken.
func TestFrameQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &endlessFrames{payload: []byte(`{"position":"` + strings.Repeat("x", 60<<10) + `"}`)}
		q := newFrameQueue(from)
		defer q.close()
		synctest.Wait()
		held := from.read.Load()
		if most := int64(maxQueuedBytes + len(from.payload)); held > most {
			t.Errorf("%d bytes were read ahead, want %d at most", held, most)
		}
		for range 10 {
			if _, status, err := q.next(t.Context()); status == nil || err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if more := from.read.Load() - held; more != int64(10*len(from.payload)) {
			t.Errorf("%d bytes were read after 10 frames were taken", more)
		}
	})
}
