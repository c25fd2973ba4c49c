package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"lectern/gateway/internal/replication"
	"lectern/store"
)

// A frameQueue reads the stream of an origin's log ahead, so that all entries that have arrived share a transaction.
type frameQueue struct {
	stream *replication.Stream
	frames chan logFrame
	done   chan struct{} // closed when no more is read
	failed error         // why frames was closed
}

// A logFrame is an entry or a Status.
type logFrame struct {
	entry  *store.Entry
	status *replication.Status
}

const (
	// maxQueued is how many frames are read ahead.
	maxQueued = 1024
	// maxAppliedBytes bounds the bytes of entries that are applied together.
	maxAppliedBytes = 4 << 20
)

func newFrameQueue(s *replication.Stream) *frameQueue {
	q := &frameQueue{stream: s, frames: make(chan logFrame, maxQueued), done: make(chan struct{})}
	go q.read()
	return q
}

// read reads frames until the stream ends or close is called.
func (q *frameQueue) read() {
	defer close(q.frames)
	for {
		frame, err := q.readFrame()
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
	kind, payload, err := q.stream.Next()
	switch {
	case errors.Is(err, io.EOF):
		return f, errors.New("the origin has ended the connection")
	case err != nil:
		return f, err
	case kind == replication.EntryFrame:
		f.entry, err = replication.ParseEntry(payload)
	case kind == replication.PartFrame:
		f.entry, err = replication.ParsePartEntry(payload)
	case kind == replication.ResetFrame:
		err = fmt.Errorf("%w: %s", replication.ErrReset, payload)
	case kind == replication.StatusFrame:
		f.status = &replication.Status{}
		err = json.Unmarshal(payload, f.status)
	default:
		err = replication.ErrDamaged
	}
	return f, err
}

// next waits for a frame, and returns the entries that have arrived, up to the first Status, which comes after them; nil if none has come.
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
		case !ok || frame.status != nil:
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
	_ = q.stream.Close() // what is still to come is of no interest
	for range q.frames {
	}
}
