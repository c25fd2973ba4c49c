package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"lectern/internal/objects"
	"lectern/store"
)

// A Source is the project that is backed up.
type Source interface {
	// Base calls put with a backup of the store, without uploads, and what it is a backup of.
	Base(ctx context.Context, put func(Base, io.Reader) error) error
	// Log calls next with what happens after a position, until next fails, ctx ends or the connection breaks. The error
	// wraps store.ErrTrimmed or store.ErrOtherEpoch if the log does not have the entries after the position.
	Log(ctx context.Context, after store.Position, next func(Update) error) error
	// Pin keeps all uploaded files as they are until unpin is called. Later calls of unpin do nothing.
	Pin(ctx context.Context) (unpin func(), err error)
	// Uploads returns the directory of uploaded files.
	Uploads() string
}

// A Shipper writes a continuous backup. Only one may write to the same place.
type Shipper struct {
	From  Source
	To    objects.Store
	Every time.Duration // how long after a base the next one is taken
	Keep  time.Duration // each state of this time can be restored; what only older ones need is removed
	// Report is called with the progress, and with problems that the Shipper copes with. Several goroutines may call
	// it.
	Report func(Progress)

	segment   *segmentWriter
	keeper    *keeper
	lastFlush time.Duration                  // set by tests; 0: the constant
	position  atomic.Pointer[store.Position] // behind the last entry in the backup; nil if the next thing is a base
	progress  Progress
	notes     notes
}

// A Progress says how far a backup is.
type Progress struct {
	Position store.Position // behind the last entry in the backup
	Behind   time.Duration  // the age of the oldest entry that is not in the backup
	Entries  int            // how many the Shipper has added
	Bytes    int64          // the length of these
	Note     string         // if it is set, the others are not: a base was taken, or a problem
}

const (
	// flushEvery is how long an entry waits at most for others to be stored together with them.
	flushEvery = 250 * time.Millisecond
	// flushAt is how many bytes of entries do not wait.
	flushAt = 4 << 20
	// retryEvery is how long a Shipper waits until it tries again what failed.
	retryEvery = time.Second
	// lastFlush is how long the Shipper may take to store the last entries when it has to stop.
	lastFlush = 10 * time.Second
)

// Run writes the backup until ctx ends. It goes on where an earlier one ended. If the server or the backup cannot be
// reached, it tries again.
func (s *Shipper) Run(ctx context.Context) error {
	s.segment = newSegmentWriter(s.To)
	s.keeper = &keeper{from: s.From, to: s.To, every: s.Every, keep: s.Keep, note: s.note,
		pending: map[string]uint64{}, known: manifest{}, wake: make(chan struct{}, 1)}
	if err := s.retry(ctx, "read the backup", s.resume); err != nil {
		return ended(ctx, err)
	}
	ctx, stop := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer stop()
	keeping.Go(func() { s.keeper.run(ctx, &s.position) })
	for {
		if s.position.Load() == nil {
			if err := s.retry(ctx, "take a base", s.begin); err != nil {
				return ended(ctx, err)
			}
		}
		if err := s.retry(ctx, "follow the log", s.shipLog); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns err, or nil if the Shipper had to stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// errShared says what to do about objects.ErrChanged.
var errShared = errors.New("only one process may write to a backup")

// retry calls do until it succeeds. It returns an error if ctx ends, or if trying again is of no use.
func (s *Shipper) retry(ctx context.Context, what string, do func(context.Context) error) error {
	for {
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errShared): // from a retry within do
			return fmt.Errorf("%s: %w", what, err)
		case errors.Is(err, objects.ErrChanged):
			return fmt.Errorf("%s: %w; %w", what, err, errShared)
		}
		s.note(fmt.Sprintf("%s: %v; trying again", what, err))
		if err := wait(ctx, retryEvery); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resume finds out where an earlier Shipper ended.
func (s *Shipper) resume(ctx context.Context) error {
	c, err := list(ctx, s.To)
	if err != nil {
		return err
	}
	base, ok := c.newest()
	if !ok {
		return nil
	}
	if err := s.keeper.resume(ctx, &c, base); err != nil {
		return err
	}
	at := base.Position
	if segments := c.segmentsOf(at.Epoch); len(segments) > 0 {
		last, err := s.segment.resume(ctx, segments[len(segments)-1])
		switch {
		case errors.Is(err, errDamaged):
			s.note(fmt.Sprintf("%s: %v; a new base replaces it", segments[len(segments)-1].name, err))
			return nil
		case err != nil:
			return err
		}
		at.Sequence = last
	}
	s.position.Store(&at)
	return nil
}

// begin takes a base, after which the log can be shipped.
func (s *Shipper) begin(ctx context.Context) error {
	b, err := s.keeper.takeBase(ctx, store.Position{})
	if err == nil {
		s.position.Store(&b.Position)
	}
	return err
}

// shipLog adds entries to the backup as they are committed. It returns nil if the log does not have the next ones, so
// that a base is needed.
func (s *Shipper) shipLog(ctx context.Context) error {
	// the last entries of an earlier call, if it could not store them in time
	if err := s.store(ctx, nil, true); err != nil {
		return err
	}
	updates := make(chan Update, 4)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	go func() {
		defer close(updates)
		failed = s.From.Log(reading, *s.position.Load(), func(u Update) error {
			select {
			case updates <- u:
				return nil
			case <-reading.Done():
				return reading.Err()
			}
		})
	}()
	err := s.storeUpdates(ctx, updates)
	stop()
	for range updates { // until the goroutine has ended
	}
	switch {
	case err != nil:
		return err
	case errors.Is(failed, store.ErrTrimmed), errors.Is(failed, store.ErrOtherEpoch):
		s.note(fmt.Sprintf("%v; a new base is taken", failed))
		s.position.Store(nil)
		return nil
	}
	return failed
}

// storeUpdates stores the entries of updates until there are no more.
func (s *Shipper) storeUpdates(ctx context.Context, updates <-chan Update) error {
	var entries []*store.Entry
	size := 0
	flush := time.NewTimer(time.Hour)
	defer flush.Stop()
	for {
		select {
		case u, more := <-updates:
			if !more {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.lastFlush, lastFlush))
				defer cancel()
				return s.store(ctx, entries, true)
			}
			s.keeper.add(u)
			if len(entries) == 0 && len(u.Entries) > 0 {
				flush.Reset(flushEvery)
			}
			for _, e := range u.Entries {
				entries, size = append(entries, e), size+e.Size()
			}
			if size < flushAt && (len(entries) > 0 || !s.segment.old()) {
				s.report(entries)
				continue
			}
		case <-flush.C:
		}
		if err := s.store(ctx, entries, s.segment.old()); err != nil {
			return err
		}
		entries, size = nil, 0
		s.report(nil)
	}
}

// store adds entries to the backup, and closes the segment if asked to. If it fails, the segment still has what could
// not be stored, and the next call stores that first.
func (s *Shipper) store(ctx context.Context, entries []*store.Entry, closing bool) error {
	for _, e := range entries {
		s.progress.Entries++
		s.progress.Bytes += int64(len(e.Raw()))
		if s.segment.add(e) {
			if err := s.save(ctx); err != nil {
				return err
			}
		}
	}
	if closing {
		s.segment.close()
	}
	return s.save(ctx)
}

// save stores what was added to the segment.
func (s *Shipper) save(ctx context.Context) error {
	if err := s.retry(ctx, "write to the backup", s.segment.save); err != nil {
		return err
	}
	if s.segment.last != nil {
		s.position.Store(s.segment.last)
		s.segment.last = nil
	}
	return nil
}

// report reports the progress, given the entries that are not in the backup yet.
func (s *Shipper) report(waiting []*store.Entry) {
	s.progress.Position, s.progress.Behind = *s.position.Load(), 0
	if len(waiting) > 0 {
		s.progress.Behind = time.Since(waiting[0].Time)
	}
	s.Report(s.progress)
}

// note reports a note, unless it is the same as just before.
func (s *Shipper) note(text string) {
	if s.notes.fresh(text) {
		s.Report(Progress{Note: text})
	}
}

// notes remembers the last note, so that a problem that lasts is not reported each second.
type notes struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

func (n *notes) fresh(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text == n.text && time.Since(n.at) < time.Minute {
		return false
	}
	n.text, n.at = text, time.Now()
	return true
}
