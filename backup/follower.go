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

// A Follower writes a continuous backup. Only one may write to the same place.
type Follower struct {
	From  Source
	To    objects.Store
	Every time.Duration // how long after a base the next one is taken
	Keep  time.Duration // each moment of this time can be restored; what only older moments need is removed
	// Report is called with the progress, and with problems that the Follower copes with. Several goroutines may call
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
	Entries  int            // how many the Follower has added
	Bytes    int64          // the length of these
	Note     string         // if it is set, the others are not: a base was taken, or a problem
}

const (
	// flushEvery is how long an entry waits at most for others to be stored together with them.
	flushEvery = 250 * time.Millisecond
	// flushAt is how many bytes of entries do not wait.
	flushAt = 4 << 20
	// retryEvery is how long a Follower waits until it tries again what failed.
	retryEvery = time.Second
	// lastFlush is how long the Follower may take to store the last entries when it was told to stop.
	lastFlush = 10 * time.Second
)

// Run writes the backup until ctx ends. It goes on where an earlier one ended. If the server or the backup cannot be
// reached, it tries again.
func (f *Follower) Run(ctx context.Context) error {
	f.segment = newSegmentWriter(f.To)
	f.keeper = &keeper{from: f.From, to: f.To, every: f.Every, keep: f.Keep, note: f.note,
		pending: map[string]uint64{}, known: manifest{}, wake: make(chan struct{}, 1)}
	if err := f.retry(ctx, "read the backup", f.resume); err != nil {
		return ended(ctx, err)
	}
	ctx, stop := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer stop()
	keeping.Go(func() { f.keeper.run(ctx, &f.position) })
	for {
		if f.position.Load() == nil {
			if err := f.retry(ctx, "take a base", f.begin); err != nil {
				return ended(ctx, err)
			}
		}
		if err := f.retry(ctx, "follow the log", f.follow); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns err, or nil if the Follower was told to stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// errShared says what to do about objects.ErrChanged.
var errShared = errors.New("only one process may write to a backup")

// retry calls do until it succeeds. It returns an error if ctx ends, or if trying again is of no use.
func (f *Follower) retry(ctx context.Context, what string, do func(context.Context) error) error {
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
		f.note(fmt.Sprintf("%s: %v; trying again", what, err))
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

// resume finds out where an earlier Follower ended.
func (f *Follower) resume(ctx context.Context) error {
	c, err := list(ctx, f.To)
	if err != nil {
		return err
	}
	base, ok := c.newest()
	if !ok {
		return nil
	}
	if err := f.keeper.resume(ctx, &c, base); err != nil {
		return err
	}
	at := base.Position
	if segments := c.segmentsOf(at.Epoch); len(segments) > 0 {
		last, err := f.segment.resume(ctx, segments[len(segments)-1])
		switch {
		case errors.Is(err, errDamaged):
			f.note(fmt.Sprintf("%s: %v; a new base replaces it", segments[len(segments)-1].name, err))
			return nil
		case err != nil:
			return err
		}
		at.Sequence = last
	}
	f.position.Store(&at)
	return nil
}

// begin takes a base, after which the log can be followed.
func (f *Follower) begin(ctx context.Context) error {
	b, err := f.keeper.takeBase(ctx, store.Position{})
	if err == nil {
		f.position.Store(&b.Position)
	}
	return err
}

// follow adds entries to the backup as they are committed. It returns nil if the log does not have the next ones, so
// that a base is needed.
func (f *Follower) follow(ctx context.Context) error {
	if err := f.store(ctx, nil,
		true); err != nil { // the last entries of an earlier call, if it could not store them in time
		return err
	}
	updates := make(chan Update, 4)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	go func() {
		defer close(updates)
		failed = f.From.Log(reading, *f.position.Load(), func(u Update) error {
			select {
			case updates <- u:
				return nil
			case <-reading.Done():
				return reading.Err()
			}
		})
	}()
	err := f.ship(ctx, updates)
	stop()
	for range updates { // until the goroutine has ended
	}
	switch {
	case err != nil:
		return err
	case errors.Is(failed, store.ErrTrimmed), errors.Is(failed, store.ErrOtherEpoch):
		f.note(fmt.Sprintf("%v; a new base is taken", failed))
		f.position.Store(nil)
		return nil
	}
	return failed
}

// ship stores the entries of updates until there are no more.
func (f *Follower) ship(ctx context.Context, updates <-chan Update) error {
	var entries []*store.Entry
	size := 0
	flush := time.NewTimer(time.Hour)
	defer flush.Stop()
	for {
		select {
		case u, more := <-updates:
			if !more {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(f.lastFlush, lastFlush))
				defer cancel()
				return f.store(ctx, entries, true)
			}
			f.keeper.add(u)
			if len(entries) == 0 && len(u.Entries) > 0 {
				flush.Reset(flushEvery)
			}
			for _, e := range u.Entries {
				entries, size = append(entries, e), size+e.Size()
			}
			if size < flushAt && (len(entries) > 0 || !f.segment.old()) {
				f.report(entries)
				continue
			}
		case <-flush.C:
		}
		if err := f.store(ctx, entries, f.segment.old()); err != nil {
			return err
		}
		entries, size = nil, 0
		f.report(nil)
	}
}

// store adds entries to the backup, and closes the segment if asked to. If it fails, the segment still has what could
// not be stored, and the next call stores that first.
func (f *Follower) store(ctx context.Context, entries []*store.Entry, closing bool) error {
	for _, e := range entries {
		f.progress.Entries++
		f.progress.Bytes += int64(len(e.Raw()))
		if f.segment.add(e) {
			if err := f.save(ctx); err != nil {
				return err
			}
		}
	}
	if closing {
		f.segment.close()
	}
	return f.save(ctx)
}

// save stores what was added to the segment.
func (f *Follower) save(ctx context.Context) error {
	if err := f.retry(ctx, "write to the backup", f.segment.save); err != nil {
		return err
	}
	if f.segment.last != nil {
		f.position.Store(f.segment.last)
		f.segment.last = nil
	}
	return nil
}

// report reports the progress, given the entries that are not in the backup yet.
func (f *Follower) report(waiting []*store.Entry) {
	f.progress.Position, f.progress.Behind = *f.position.Load(), 0
	if len(waiting) > 0 {
		f.progress.Behind = time.Since(waiting[0].Time)
	}
	f.Report(f.progress)
}

// note reports a note, unless it is the same as a moment ago.
func (f *Follower) note(text string) {
	if f.notes.fresh(text) {
		f.Report(Progress{Note: text})
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
