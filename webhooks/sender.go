package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"lectern/internal/clock"
	"lectern/store"
)

const (
	// maxSending is how many requests a hook is sent at a time.
	maxSending = 16
	// maxQueued is how many events of a hook are in memory. Later ones wait in the log.
	maxQueued = 10_000
	// saveAfter is how long after a delivery a sender writes how far it has come. moveAfter is the same for entries of
	// the log that have no event for the hook: reading them again costs nothing.
	saveAfter, moveAfter = time.Second, time.Minute
	// readAgain is the pause after the log could not be read, or the notes could not be written.
	readAgain = 5 * time.Second

	// downAfter is how many failures in a row, that are not about their events, mean that the receiver is down. It is
	// then sent one request after each pause, of up to probePause, until it answers; all other events wait and are not
	// counted as failed.
	downAfter  = 20
	probePause = time.Minute
)

// A sender sends one hook its events. Its run method is the only goroutine that uses it; others hand it functions
// through calls.
type sender struct {
	hook    *Hook
	client  *client
	clock   clock.Clock
	log     *slog.Logger
	content func() Content

	queue   *queue
	state   state
	ledger  ledger
	readTo  uint64    // the sequence up to which the log was read
	sentTo  uint64    // the highest sequence of which an event was delivered
	behind  bool      // the log has more
	saveAt  time.Time // when to write state to the store; zero: it has not changed
	pauseTo time.Time // when to read or write again after that has failed; zero: now

	sending int
	idle    chan struct{} // not nil: no request begins; it is closed once none is under way
	outcome chan outcome
	calls   chan func()

	failures int // in a row, that are not about their events
	down     bool
	probes   int
	probeAt  time.Time

	counters   Counters
	deliveries []Delivery // the last ones, oldest first
}

// An outcome is how the attempt to send the first event of a backlog ended.
type outcome struct {
	backlog *backlog
	event   *Event
	attempt attempt
}

// newSender returns the sender of a hook as the store has it. A hook that the store does not know begins with what is
// written from now on.
func (d *Dispatcher) newSender(h *Hook) (*sender, error) {
	s := &sender{
		hook: h, client: newClient(h, d.attemptTimeout()), clock: d.clock, log: d.log.With("webhook", h.Name),
		content: d.content, queue: newQueue(),
		outcome: make(chan outcome, maxSending), calls: make(chan func()),
	}
	s.ledger = ledger{h.Name, map[string]string{}}
	c := s.content()
	err := c.Store.View(func(snap *store.Snapshot) (err error) {
		if s.state, err = load(snap, h.Name); err != nil {
			return err
		}
		for name, raw := range snap.Notes(notesPrefix + h.Name) {
			if hookOfNote(name) == h.Name {
				s.ledger.written[name] = string(raw)
			}
		}
		if !s.state.known {
			s.state.Position = snap.Sequence()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the state of the webhook %s: %w", h.Name, err)
	}
	s.resume()
	if !s.state.known {
		s.saveWithin(0)
	}
	return s, nil
}

// resume fills the queue from what the store has.
func (s *sender) resume() {
	s.readTo, s.behind = s.state.Position, true
	for _, u := range s.state.pending {
		s.queue.restore(u)
	}
	if s.state.Stopped != "" && s.state.URL != s.hook.URL {
		s.start()
	}
}

// start has a hook that was stopped send again.
func (s *sender) start() {
	s.state.Stopped, s.state.URL = "", ""
	s.saveWithin(0)
}

// run sends events until ctx ends. It then writes how far it has come.
func (s *sender) run(ctx context.Context) {
	defer s.client.close()
	for ctx.Err() == nil {
		c := s.content()
		var committed <-chan struct{} = c.Store.NextCommit() // before the log is read, so that no commit is missed
		s.read(&c)
		next := s.send(ctx)
		s.save(ctx)
		var timer <-chan time.Time
		if wait := s.wait(next); wait > 0 {
			timer = s.clock.After(wait)
		}
		if s.behind && s.reads() && s.pauseTo.IsZero() {
			committed = closed
		}
		select {
		case <-ctx.Done():
		case <-committed:
		case o := <-s.outcome:
			s.settle(o)
		case f := <-s.calls:
			f()
		case <-timer:
		}
	}
	for s.sending > 0 { // their contexts have ended
		if o := <-s.outcome; o.attempt.err == nil {
			s.settle(o)
		} else {
			s.sending--
		}
	}
	s.saveUpTo(context.WithoutCancel(ctx), s.deliveredUpTo())
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// reads reports whether there is room for more events.
func (s *sender) reads() bool { return s.queue.events < maxQueued && s.state.Stopped == "" }

// wait returns how long to wait at most, given when the next backlog is due; 0: until something happens.
func (s *sender) wait(next time.Time) (wait time.Duration) {
	if s.idle != nil {
		return 0
	}
	now := s.clock.Now()
	sooner := func(at time.Time) {
		if left := max(at.Sub(now), time.Millisecond); !at.IsZero() && (wait == 0 || left < wait) {
			wait = left
		}
	}
	if s.down && s.sending == 0 {
		sooner(s.probeAt)
	} else if !s.down {
		sooner(next)
	}
	sooner(s.saveAt)
	sooner(s.pauseTo)
	return wait
}

// read adds a page of the log to the queue.
func (s *sender) read(c *Content) {
	if s.pauseTo.After(s.clock.Now()) || !s.reads() {
		return
	}
	s.pauseTo = time.Time{}
	p, err := c.events(s.readTo)
	if err != nil {
		s.retryLater("the log could not be read for a webhook, and will be read again", err)
		return
	}
	if p.lost > 0 {
		s.lost(p.lost, s.readTo)
	}
	for _, e := range p.events {
		if s.hook.wants(e) {
			s.queue.add(e)
		}
	}
	if p.upTo != s.readTo {
		s.saveWithin(moveAfter)
	}
	s.readTo, s.behind = p.upTo, p.more
}

// retryLater logs an error and has the sender pause.
func (s *sender) retryLater(what string, err error) {
	s.pauseTo = s.clock.Now().Add(readAgain)
	switch {
	case errors.Is(err, store.ErrRedefined): // the next generation will be there in a moment
	case errors.Is(err, store.ErrNotLeader):
		s.log.Info("another node of the cluster goes on with the webhook, and may send its last events again")
	default:
		s.log.Error(what, "error", err)
	}
}

// lost says that the log does not have entries any more that were not read.
func (s *sender) lost(entries, after uint64) {
	s.log.Error("the log of changes was trimmed before a webhook had read it; its events are lost, "+
		"and the receiver should read all content anew",
		"entries", entries, "help", "give log.keep and log.maxSize in config/server.yaml more room")
	s.counters.LostEntries += entries
	if s.hook.Format == Standard {
		s.queue.add(&Event{Sequence: after, Name: logReset, Time: s.clock.Now()})
	}
}

// send starts requests for the backlogs that are due, and returns when the next backlog is.
func (s *sender) send(ctx context.Context) (next time.Time) {
	now := s.clock.Now()
	next = s.queue.due(now)
	for s.sending < maxSending {
		l := s.nextBacklog(now)
		if l == nil {
			break
		}
		s.sending++
		e := l.events[0]
		go func() { s.outcome <- outcome{l, e, s.attempt(ctx, e)} }()
	}
	return next
}

// nextBacklog returns the backlog whose first event is to be sent now, nil if there is none.
func (s *sender) nextBacklog(now time.Time) *backlog {
	switch {
	case s.state.Stopped != "" || s.idle != nil:
		return nil
	case !s.down:
		return s.queue.next()
	case s.sending > 0 || s.probeAt.After(now):
		return nil
	}
	if l := s.queue.firstWaiting(); l != nil {
		return l
	}
	return s.queue.next()
}

// attempt sends an event once.
func (s *sender) attempt(ctx context.Context, e *Event) attempt {
	c := s.content()
	p, err := c.payload(ctx, s.hook, e)
	if err != nil {
		return attempt{err: err, unsent: true}
	}
	return s.client.send(ctx, p, s.clock.Now())
}

// settle takes the outcome of an attempt.
func (s *sender) settle(o outcome) {
	if s.sending--; s.sending == 0 && s.idle != nil {
		close(s.idle)
	}
	l, a, now := o.backlog, &o.attempt, s.clock.Now()
	if l != s.queue.backlogs[l.key] || len(l.events) == 0 || l.events[0] != o.event {
		return // the queue was emptied for a replay
	}
	if a.unsent {
		s.retryLater("the payload of a webhook could not be made, and will be made again", a.err)
		s.queue.later(l, s.pauseTo)
		return
	}
	s.saveWithin(saveAfter)
	s.record(Delivery{Event: o.event, ID: o.event.id(s.hook.Name), At: now, Attempt: l.attempts + 1, Status: a.status,
		Took: a.took, Error: message(a.err)})
	if a.err == nil {
		s.sentTo = max(s.sentTo, o.event.Sequence)
		s.queue.settled(l)
		s.recovered()
		return
	}
	at := now.Add(max(pauseAfter(l.attempts+1, lastPause), a.after))
	s.trouble(a, now)
	if l.attempts > 0 && now.Sub(l.since) >= giveUpAfter {
		s.giveUp(l, a.err.Error(), now)
		return
	}
	if l.attempts == 0 {
		s.log.Warn("a webhook could not be delivered and will be tried again", "event", o.event.Name, "document",
			o.event.Document, "error", a.err)
	}
	s.queue.failed(l, a.err.Error(), now, at)
	if a.status == http.StatusGone {
		s.state.Stopped, s.state.URL = "the receiver answered 410 Gone at "+now.UTC().Format(time.RFC3339), s.hook.URL
		s.log.Error("a webhook is stopped, since its receiver answered 410 Gone; its events are kept", "help",
			"change its url, or resume it by `lectern webhooks replay`")
	}
}

// recovered takes note that the receiver answers.
func (s *sender) recovered() {
	s.failures, s.probes = 0, 0
	if s.down {
		s.down = false
		s.queue.retryAll()
		s.log.Info("the receiver of a webhook answers again", "waiting", s.queue.events)
	}
}

// trouble takes note of a failed attempt: it may mean that the receiver is down.
func (s *sender) trouble(a *attempt, now time.Time) {
	if !a.receiver {
		s.failures = 0
		return
	}
	if s.failures++; s.failures < downAfter && !a.throttles() && !s.down {
		return
	}
	if !s.down {
		s.log.Warn("the receiver of a webhook is down; events wait until it answers", "error", a.err)
	}
	s.down = true
	s.probes++
	s.probeAt = now.Add(max(pauseAfter(s.probes, probePause), a.after))
}

// giveUp makes the first event of a backlog a dead letter.
func (s *sender) giveUp(l *backlog, reason string, now time.Time) {
	e := l.events[0]
	gone := s.state.bury(DeadLetter{Event: e, ID: e.id(s.hook.Name), Attempts: l.attempts + 1, GivenUp: now,
		Reason: reason})
	s.counters.DeadLetters++
	s.log.Error("a webhook could not be delivered for three days and is a dead letter now", "event", e.Name, "document",
		e.Document, "error", reason,
		"oldDeadLettersRemoved", gone)
	s.queue.settled(l)
}

// saveWithin makes the sender save its state within d.
func (s *sender) saveWithin(d time.Duration) {
	if at := s.clock.Now().Add(d); s.saveAt.IsZero() || at.Before(s.saveAt) {
		s.saveAt = at
	}
}

// save saves the state if the time for it has come, as saveWithin set it.
func (s *sender) save(ctx context.Context) {
	if now := s.clock.Now(); s.saveAt.IsZero() || s.saveAt.After(now) || s.pauseTo.After(now) || s.idle != nil {
		return
	}
	s.saveUpTo(ctx, s.settledUpTo())
}

// saveUpTo saves the state with a position, which write describes. After an error, which it logs, the next save tries
// again.
func (s *sender) saveUpTo(ctx context.Context, position uint64) {
	if err := s.write(ctx, position); err != nil {
		s.retryLater("the progress of a webhook could not be stored; after a restart its last events are sent again",
			err)
		return
	}
	s.saveAt = time.Time{}
}

// write writes the parts of the state that have changed into notes of the store. After a restart, the sender reads the
// log from position on, which is the result of settledUpTo or deliveredUpTo, and sends the events before it that the
// notes have.
func (s *sender) write(ctx context.Context, position uint64) error {
	s.state.known = true
	s.state.Position = position
	s.state.pending = s.queue.upTo(s.state.Position)
	changed, err := s.ledger.change(&s.state)
	if err != nil || len(changed) == 0 {
		return err
	}
	if err = s.content().Store.Write(ctx, func(tx *store.Tx) error { return apply(tx, changed) }); err == nil {
		s.ledger.wrote(changed)
	}
	return err
}

// settledUpTo returns the position for the store. It does not fall back, and it does not pass an event that has never
// failed, so that notes are made for few events: those that wait.
func (s *sender) settledUpTo() uint64 {
	position := s.readTo
	for _, l := range s.queue.backlogs {
		if l.attempts > 0 {
			continue
		}
		for _, e := range l.events {
			if e.Sequence > s.state.Position {
				position = min(position, e.Sequence-1)
				break
			}
		}
	}
	return max(position, s.state.Position)
}

// deliveredUpTo returns a position that passes all that was delivered. Events before it that were not are all in notes,
// as many as there are.
func (s *sender) deliveredUpTo() uint64 { return max(s.settledUpTo(), s.sentTo) }

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
