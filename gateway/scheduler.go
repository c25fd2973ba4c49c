package gateway

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/clock"
	"lectern/store"
)

// A Clock tells the time, and when some of it has passed.
type Clock = clock.Clock

const (
	// clockCheck is how often the scheduler looks at the clock while schedules are pending. The clock may be set, and
	// timers stand still while the machine is suspended.
	clockCheck = 10 * time.Second
	// duePage is how many due schedules are read at a time.
	duePage = 500
	// firstRetry and lastRetry are the shortest and the longest time until a schedule that failed by no fault of its
	// own is tried again.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
)

// A scheduler carries out schedules when they are due: one after the other, the earliest first. Its run method is the
// only goroutine that does. What is due is decided by the wall clock alone, and a schedule is removed in the batch that
// carries it out, so a clock that is set forward or back changes when a schedule is carried out, but not how often.
type scheduler struct {
	clock     Clock
	log       *slog.Logger
	documents func() *documents.Service // of the definitions that are served
	woken     chan struct{}
	retries   map[string]retry // by the documentId of the schedule
}

// A retry says when a schedule is tried again.
type retry struct {
	attempts int
	at       time.Time
}

func newScheduler(clock Clock, log *slog.Logger, documents func() *documents.Service) *scheduler {
	return &scheduler{clock: clock, log: log, documents: documents, woken: make(chan struct{}, 1)}
}

// wake makes the scheduler look for due schedules now. It is called when schedules were written and when definitions
// have changed.
func (s *scheduler) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// run carries out schedules until ctx ends.
func (s *scheduler) run(ctx context.Context) {
	for {
		var timer <-chan time.Time
		if wait := s.carryOutDue(ctx); wait > 0 {
			timer = s.clock.After(min(wait, clockCheck))
		}
		select {
		case <-ctx.Done():
			return
		case <-s.woken:
		case <-timer:
		}
	}
}

// A target is what schedules publish and unpublish.
type target struct{ contentType, document, locale string }

// carryOutDue carries out the schedules that are due, and returns how long to wait for the next; 0 if none is pending.
func (s *scheduler) carryOutDue(ctx context.Context) (wait time.Duration) {
	docs, retries := s.documents(), map[string]retry{}
	late := map[target]bool{} // targets with a schedule that is tried again; later schedules must not overtake it
	for ctx.Err() == nil {
		now := s.clock.Now()
		due, next, err := docs.DueSchedules(now, len(retries), duePage)
		if err != nil {
			s.report(ctx, "schedules could not be read", err)
			return clockCheck
		}
		for _, sc := range due {
			at, left := s.retries[sc.ID], target{sc.ContentType, sc.Document, sc.Locale}
			if !late[left] && !at.at.After(now) {
				if err = s.carryOut(ctx, docs, sc, now); err == nil {
					continue
				}
				if stopped(ctx, err) {
					return clockCheck
				}
				at = retry{at.attempts + 1, now.Add(min(firstRetry<<min(at.attempts, 10), lastRetry))}
			}
			late[left], retries[sc.ID] = true, at
		}
		if len(due) == duePage {
			continue
		}
		s.retries = retries
		return s.wait(now, next)
	}
	return clockCheck
}

// wait returns how long to wait at now: until next, unless it is zero, or until the first retry.
func (s *scheduler) wait(now, next time.Time) (wait time.Duration) {
	sooner := func(at time.Time) {
		if left := max(at.Sub(now), time.Millisecond); wait == 0 || left < wait {
			wait = left
		}
	}
	if !next.IsZero() {
		sooner(next)
	}
	for _, r := range s.retries {
		sooner(r.at)
	}
	return wait
}

// stopped reports whether err has a cause that stops all schedules: the server is stopping, the definitions have
// changed, or the store cannot be written, which the store has logged.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, store.ErrRedefined) || documents.Unavailable(err) != nil
}

// carryOut carries out one schedule and logs what became of it. An error means that it stays pending.
func (s *scheduler) carryOut(ctx context.Context, docs *documents.Service, sc documents.Schedule, now time.Time) error {
	outcome, why, err := docs.CarryOut(ctx, sc)
	log := s.log.With("action", sc.Action.String(), "type", sc.ContentType, "document", sc.Document, "locale",
		sc.Locale, "at", sc.At,
		"late", now.Sub(sc.At).Round(time.Millisecond), "by", sc.By.Kind+" "+sc.By.Name)
	switch {
	case err != nil:
		s.report(ctx, "a schedule could not be carried out and will be tried again", err)
	case outcome == documents.CarriedOut:
		log.Info("carried out a schedule")
	case outcome == documents.NothingToUnpublish:
		log.Info("a schedule had nothing to unpublish")
	case outcome == documents.Refused:
		log.Warn("a schedule failed and will not be tried again", "error", reason(why))
	}
	return err
}

// reason returns the text of an error that a schedule keeps.
func reason(e *apierror.Error) string { return e.Name + ": " + e.Message }

// report logs an error, unless its cause is logged elsewhere.
func (s *scheduler) report(ctx context.Context, what string, err error) {
	if !stopped(ctx, err) {
		s.log.Error(what, "error", err)
	}
}
