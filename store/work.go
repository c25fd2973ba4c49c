package store

import (
	"context"
	"time"
)

// stepsAtATime is how many steps of work are done between two checks of the clock. A step reads one link, index entry or row.
const stepsAtATime = 4096

// A workBudget ends work that takes too long or whose context has ended. Without it, a filter that follows circular relations could run
// for years.
type workBudget struct {
	ctx   context.Context // nil if the work is not limited
	limit time.Duration
	until time.Time // set when the clock is first read
	steps int
	over  bool // the budget has ended the work
}

// Within limits the work of the snapshot from now on. When ctx ends, or a positive limit has passed, look-ups find nothing more and View
// returns the error.
func (s *Snapshot) Within(ctx context.Context, limit time.Duration) {
	s.work.ctx, s.work.limit, s.work.until = ctx, limit, time.Time{}
	s.traceView(ctx)
}

// Step counts a step of work that the caller does between look-ups, and reports whether to continue (see Within).
func (s *Snapshot) Step() bool { return s.step() }

// Err returns the error that has ended the work, or nil while it may continue. After an error, results of look-ups are incomplete and
// must not be used.
func (s *Snapshot) Err() error { return s.failed }

// step counts a step of work, and reports whether to continue.
func (s *Snapshot) step() bool {
	if s.work.steps++; s.work.steps%stepsAtATime != 0 || s.work.ctx == nil {
		return s.failed == nil
	}
	return s.checkBudget()
}

// checkBudget checks the context and the clock, and reports whether to continue.
func (s *Snapshot) checkBudget() bool {
	if err := s.work.ctx.Err(); err != nil {
		s.work.end(s, err)
	}
	if s.work.limit > 0 {
		now := time.Now()
		if s.work.until.IsZero() {
			s.work.until = now.Add(s.work.limit)
		} else if now.After(s.work.until) {
			s.work.end(s, context.DeadlineExceeded)
		}
	}
	return s.failed == nil
}

func (w *workBudget) end(s *Snapshot, err error) {
	if s.failed == nil {
		s.failed, w.over = err, true
	}
}
