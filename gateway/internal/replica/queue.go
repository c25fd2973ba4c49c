package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"lectern/gateway/internal/replication"
	"lectern/store"
	"lectern/store/frames"
)

// A frameQueue reads the stream of an origin's log ahead, so that all entries that have arrived share a transaction.
type frameQueue struct {
	stream frameStream
	frames chan logFrame
	room   *semaphore.Weighted // of bytes that are read ahead
	done   chan struct{}       // closed when no more is read
	stop   func()
	failed error // why frames was closed
}

// A frameStream is a replication.Stream.
type frameStream interface {
	Next() (frames.Frame, error)
	Close() error
}

// A logFrame is an entry or a Status.
type logFrame struct {
	size   int64 // what it takes of the room
	entry  *store.Entry
	status *replication.Status
}

const (
	// maxQueued is how many frames are read ahead, and maxQueuedBytes is how many bytes they have beside the last one.
	maxQueued      = 1024
	maxQueuedBytes = 16 << 20
	// maxAppliedBytes bounds the bytes of entries that are applied together.
	maxAppliedBytes = 4 << 20
)

func newFrameQueue(s frameStream) *frameQueue {
	ctx, stop := context.WithCancel(context.Background())
	q := &frameQueue{stream: s, frames: make(chan logFrame, maxQueued), room: semaphore.NewWeighted(maxQueuedBytes),
		done: make(chan struct{}), stop: stop}
	go q.read(ctx)
	return q
}

// read reads frames until the stream ends or close is called.
func (q *frameQueue) read(ctx context.Context) {
	defer close(q.frames)
	for {
		frame, err := q.readFrame()
		if err == nil {
			err = q.room.Acquire(ctx, frame.size) // before the next frame is read
		}
		if err != nil {
			q.failed = err
			return
		}
		select {
		case q.frames <- frame:
		case <-q.done:
			return
		}
	}
}

func (q *frameQueue) readFrame() (f logFrame, err error) {
	frame, err := q.stream.Next()
	f.size = min(int64(len(frame.Payload)), maxQueuedBytes)
	switch {
	case errors.Is(err, io.EOF):
		return f, errors.New("the origin has ended the connection")
	case err != nil:
		return f, err
	case frame.Kind == frames.Entry:
		f.entry, err = frame.Entry()
	case frame.Kind == replication.PartFrame:
		f.entry, err = replication.ParsePartEntry(frame.Payload)
	case frame.Kind == replication.ResetFrame:
		err = fmt.Errorf("%w: %s", replication.ErrReset, frame.Payload)
	case frame.Kind == replication.StatusFrame:
		f.status = &replication.Status{}
		err = json.Unmarshal(frame.Payload, f.status)
	default:
		err = frames.ErrDamaged
	}
	return f, err
}

// next waits for a frame, and returns the entries that have arrived, up to the first Status, which comes after them;
// nil if none has come.
func (q *frameQueue) next(ctx context.Context) (entries []*store.Entry, status *replication.Status, err error) {
	size := 0
	for size < maxAppliedBytes {
		frame, ok, wait := logFrame{}, false, len(entries) == 0
		if wait {
			select {
			case frame, ok = <-q.frames:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		} else {
			select {
			case frame, ok = <-q.frames:
			default:
				return entries, nil, nil
			}
		}
		switch {
		case !ok && wait:
			return nil, nil, q.failed
		case !ok:
			return entries, nil, nil
		}
		if q.room.Release(frame.size); frame.status != nil {
			return entries, frame.status, nil
		}
		entries = append(entries, frame.entry)
		size += frame.entry.Size()
	}
	return entries, nil, nil
}

// close ends the stream and waits until nothing reads it.
func (q *frameQueue) close() {
	close(q.done)
	q.stop()
	_ = q.stream.Close() // what is still to come is of no interest
	for range q.frames {
	}
}
