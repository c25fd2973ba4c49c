package backup

import (
	"context"
	"time"

	"lectern/internal/objects"
	"lectern/store"
	"lectern/store/frames"
)

// A segmentWriter adds entries to segments. Entries that were added are in the backup when save has returned nil.
type segmentWriter struct {
	to     objects.Store
	size   int // a segment is closed when it is this long
	name   string
	raw    []byte          // the segment that is open; empty if none is
	stored int             // how much of raw is in the backup
	last   *store.Position // behind the last entry that was added; nil if all are in the backup
	count  int
	opened time.Time
	closed bool
}

const (
	// directorySegment and bucketSegment are the sizes of segments. An open segment in a bucket is sent as a whole
	// whenever it grows.
	directorySegment = 16 << 20
	bucketSegment    = 1 << 20
	// closeAfter is how long a segment may be open.
	closeAfter = 10 * time.Minute
)

func newSegmentWriter(to objects.Store) *segmentWriter {
	w := &segmentWriter{to: to, size: directorySegment}
	if _, ok := to.(*objects.Bucket); ok {
		w.size = bucketSegment
	}
	return w
}

// add adds an entry. It reports whether the segment should be saved before others are added.
func (w *segmentWriter) add(e *store.Entry) (full bool) {
	if len(w.raw) == 0 {
		w.name, w.raw, w.opened = segmentName(e.Epoch, e.Sequence), newSegment(e.Epoch, e.Sequence), time.Now()
		w.count = 0
	}
	w.raw = frames.AppendEntry(w.raw, e)
	w.last = &store.Position{Epoch: e.Epoch, Sequence: e.Sequence}
	w.count++
	if full = len(w.raw) >= w.size; full {
		w.close()
	}
	return full
}

// close closes the segment, if one is open.
func (w *segmentWriter) close() {
	if len(w.raw) > 0 && !w.closed {
		w.raw, w.closed = closeSegment(w.raw, w.count), true
	}
}

// old reports whether a segment has been open for long.
func (w *segmentWriter) old() bool { return len(w.raw) > 0 && time.Since(w.opened) >= closeAfter }

// save stores what was added. It may be called again if it fails.
func (w *segmentWriter) save(ctx context.Context) error {
	if w.stored < len(w.raw) {
		if err := w.to.Extend(ctx, w.name, w.raw, w.stored); err != nil {
			return err
		}
		w.stored = len(w.raw)
	}
	if w.closed {
		w.raw, w.stored, w.closed = nil, 0, false
	}
	return nil
}

// resume reads the last segment of an epoch, which the death of the program that wrote it may have torn, and closes it.
// It returns the sequence of its last entry.
func (w *segmentWriter) resume(ctx context.Context, last listedSegment) (uint64, error) {
	raw, err := readObject(ctx, w.to, last.name)
	if err != nil {
		return 0, err
	}
	if len(raw) < segmentHeader {
		return last.first - 1, w.to.Delete(ctx, last.name)
	}
	s, err := parseSegment(raw)
	switch {
	case err != nil:
		return 0, err
	case s.closed:
		return s.last(), nil
	case len(s.entries) == 0:
		return last.first - 1, w.to.Delete(ctx, last.name)
	}
	return s.last(), putBytes(ctx, w.to, last.name, closeSegment(raw[:s.whole:s.whole], len(s.entries)))
}
