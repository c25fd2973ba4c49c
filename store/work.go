package store

import (
	"context"
	"time"
)

// stepsAtATime is how many steps of work (links, entries, rows) lie between two looks at the clock.
const stepsAtATime = 4096

// A workBudget ends work that takes too long, or that nobody waits for any more. A filter through relations that lead in circles asks
// for more steps than any machine takes.
type workBudget struct {
	ctx   context.Context // nil: no bound
	limit time.Duration
	until time.Time // set at the first look
	steps int
	over  bool // the bound has ended the work
}

// Within bounds the time that the snapshot's work takes, from now on: when ctx ends, or limit (if positive) has passed, look-ups
// find nothing more, and View returns the error.
func (s *Snapshot) Within(ctx context.Context, limit time.Duration) {
	s.work.ctx, s.work.limit, s.work.until = ctx, limit, time.Time{}
}

// Step counts a step of work that a caller does between look-ups, and reports whether work may go on (see Within).
func (s *Snapshot) Step() bool { return s.step() }

// Err is what has ended the work, nil while it may go on. Whatever was computed from look-ups after that means nothing.
func (s *Snapshot) Err() error { return s.failed }

// step counts a step of work and reports whether work may go on.
func (s *Snapshot) step() bool {
	if s.work.steps++; s.work.steps%stepsAtATime != 0 || s.work.ctx == nil {
		return s.failed == nil
	}
	return s.look()
}

// look sees whether the bound of the work has been reached, and reports whether work may go on.
func (s *Snapshot) look() bool {
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
