package store

import (
	"context"
	"runtime"
	"time"

	"lectern/internal/admission"
)

// stepsAtATime is how many steps of work are done between two checks of the clock, and with the right to a processor (see
// Options.Processors). A step reads one link, index entry or row, or tests up to testedAtATime bytes of a value.
const stepsAtATime = 4096

// testedAtATime is how many bytes of a value cost about as much to test as reading a link.
const testedAtATime = 64

// A workBudget ends work that takes too long or whose context has ended. Without it, a filter that follows circular relations could run
// for years. It also has work that goes on take turns with that of other clients.
type workBudget struct {
	ctx   context.Context // nil if the work is not limited
	limit time.Duration
	until time.Time // set when the clock is first read
	steps int       // since the last check
	over  bool      // the budget has ended the work

	processors *admission.Semaphore // nil: the work takes no turns
	share      *admission.Share     // of the processors; nil until the work has taken as many steps as are free
	holds      bool                 // one of the processors
}

// Within limits the work of the snapshot from now on. When ctx ends, or a positive limit has passed, look-ups find nothing more and View
// returns the error. Work of more than a few thousand steps takes turns with that of other clients (see Options.Processors); ctx says
// for which client it is done.
func (s *Snapshot) Within(ctx context.Context, limit time.Duration) {
	s.work.leave()
	s.work.ctx, s.work.limit, s.work.until = ctx, limit, time.Time{}
	s.traceView(ctx)
}

// Step counts a step of work that the caller does between look-ups, and reports whether to continue (see Within).
func (s *Snapshot) Step() bool { return s.spend(1) }

// Steps counts n steps of work as Step does.
func (s *Snapshot) Steps(n int) bool { return s.spend(n) }

// Rest lets others have the processor while the caller waits for something, such as a client that reads. The next step takes it again.
func (s *Snapshot) Rest() {
	if s.work.holds {
		s.work.rest()
		s.work.steps = stepsAtATime
	}
}

// Err returns the error that has ended the work, or nil while it may continue. After an error, results of look-ups are incomplete and
// must not be used.
func (s *Snapshot) Err() error { return s.failed }

// step counts a step of work, and reports whether to continue.
func (s *Snapshot) step() bool { return s.spend(1) }

// spend counts steps of work, and reports whether to continue.
func (s *Snapshot) spend(steps int) bool {
	if s.work.steps += steps; s.work.steps < stepsAtATime {
		return s.failed == nil
	}
	return s.endSlice()
}

// endSlice checks the budget after stepsAtATime steps, waits for a processor for the next ones, and reports whether to continue.
func (s *Snapshot) endSlice() bool {
	if s.work.steps = 0; s.work.ctx == nil || !s.checkBudget() {
		return s.failed == nil
	}
	if s.work.processors != nil {
		if err := s.work.takeTurn(); err != nil {
			s.work.end(s, err)
		}
	}
	return s.failed == nil
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

// takeTurn takes a processor or, if the work has one, lets others have it who wait. It waits no longer than the budget allows: a snapshot
// that waits keeps pages of the file from being used again.
func (w *workBudget) takeTurn() (err error) {
	ctx := w.ctx
	if w.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, w.until)
		defer cancel()
	}
	switch {
	case w.holds:
		err = w.share.Yield(ctx)
		runtime.Gosched() // requests that need no turn should not wait until the runtime interrupts this one
	case w.share == nil:
		w.share = w.processors.Share(admission.ClientOf(ctx))
		fallthrough
	default:
		err = w.share.Acquire(ctx)
	}
	w.holds = err == nil
	return err
}

// rest gives back the processor, if the work has one.
func (w *workBudget) rest() {
	if w.holds {
		w.holds = false
		w.share.Release()
	}
}

// leave gives back the processor, and the share of the processors.
func (w *workBudget) leave() {
	if w.share != nil {
		w.rest()
		w.share.Close()
		w.share = nil
	}
}
