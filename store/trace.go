package store

import (
	"context"
	"time"

	"lectern/internal/span"
)

// traceView begins a span for what a view reads, if the request of ctx is traced.
func (s *Snapshot) traceView(ctx context.Context) {
	if s.indexer != nil || s.span != nil { // a write has a span of its own, and a view has one
		return
	}
	if parent := span.From(ctx); parent != nil {
		s.span = parent.Child("store.view", time.Now())
	}
}

// endTrace ends the span of a view with the work that was done in it.
func (s *Snapshot) endTrace() {
	if s.span == nil {
		return
	}
	for kind, n := range s.stats.plans {
		if n > 0 {
			s.span.SetInt("lectern.queries."+PlanKind(kind).String(), int64(n))
		}
	}
	s.span.SetInt("lectern.rows", int64(s.stats.rows))
	s.span.SetInt("lectern.index_entries", int64(s.stats.entries))
	s.span.SetInt("lectern.links", int64(s.stats.links))
	s.span.SetInt("lectern.seeks", int64(s.stats.seeks))
	s.span.End(time.Now(), s.failed)
	s.span = nil
}

// A writeTrace records when a traced write began to run and when it was applied. The writer goroutine sets these times, of the last run.
type writeTrace struct {
	span         span.Span // nil: the write is not traced
	queued       time.Time
	ran, applied time.Time
}

// traceWrite begins the trace of a write.
func traceWrite(ctx context.Context) (t writeTrace) {
	if parent := span.From(ctx); parent != nil {
		t.queued = time.Now()
		t.span = parent.Child("store.write", t.queued)
	}
	return t
}

// end ends the span of a write, with spans for waiting in the queue, for applying it, and for the commit that it shared with others.
func (t *writeTrace) end(err error) {
	if t.span == nil {
		return
	}
	now := time.Now()
	if !t.applied.IsZero() {
		for _, part := range []struct {
			name         string
			began, ended time.Time
			err          error
		}{{"store.wait", t.queued, t.ran, nil}, {"store.apply", t.ran, t.applied, nil}, {"store.commit", t.applied, now, err}} {
			t.span.Child(part.name, part.began).End(part.ended, part.err)
		}
	}
	t.span.End(now, err)
}
