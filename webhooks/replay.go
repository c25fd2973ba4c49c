package webhooks

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lectern/store"
)

// A Replayed says what a replay has a hook sent again.
type Replayed struct {
	DeadLetters int `json:"deadLetters"` // that are sent again
	// Entries is how many entries of the log are read again.
	Entries uint64 `json:"entries"`
	// Missing says that the log begins later than the time from which events were wanted.
	Missing bool `json:"missing,omitempty"`
}

// replay has the dead letters sent again, and, unless since is zero, all events from then on. It also has a stopped
// hook send again.
func (s *sender) replay(since time.Time) (r Replayed, err error) {
	if s.state.Stopped != "" {
		s.start()
	}
	if !since.IsZero() {
		if r, err = s.rewind(since); err != nil {
			return r, err
		}
	}
	for _, d := range s.state.dead {
		if since.IsZero() || d.Sequence <= s.readTo { // later ones are read from the log
			s.queue.add(d.Event)
			r.DeadLetters++
		}
	}
	s.state.dead = nil
	s.queue.retryAll()
	s.answersAgain()
	s.saveWithin(0)
	return r, nil
}

// resend has the event with an id sent again, now.
func (s *sender) resend(id string) error {
	e := s.known(id)
	if e == nil {
		return &Refusal{fmt.Sprintf("the webhook %s has no event %s among its dead letters, those that are tried again, "+
			"and its last %d deliveries", s.hook.Name, id, maxDeliveries), true}
	}
	if s.state.Stopped != "" {
		s.start()
	}
	s.state.dead = slices.DeleteFunc(s.state.dead, func(d DeadLetter) bool { return d.compare(e) == 0 })
	if l := s.queue.backlogs[e.key()]; l == nil || !l.has(e) {
		s.queue.add(e)
	} else if l.events[0].compare(e) == 0 {
		s.queue.retry(l)
	}
	s.answersAgain()
	s.saveWithin(0)
	return nil
}

// known returns the event with an id, nil if it is not among those that Log shows.
func (s *sender) known(id string) *Event {
	l := s.deliveryLog()
	for _, d := range l.Dead {
		if d.ID == id {
			return d.Event
		}
	}
	for _, w := range l.Waiting {
		if w.ID == id {
			return w.Event
		}
	}
	for _, d := range l.Deliveries {
		if d.ID == id && d.Type != "" { // and not a test
			return d.Event
		}
	}
	return nil
}

// answersAgain takes the receiver for one that answers, until it fails again.
func (s *sender) answersAgain() {
	s.down, s.failures, s.probes, s.probeAt = false, 0, 0, time.Time{}
}

// errFound ends the walk over the log.
var errFound = errors.New("found")

// rewind has the sender read the log again from the first entry that was made at a time or later. Events in the queue
// are dropped if they come after that: they are read again.
func (s *sender) rewind(since time.Time) (r Replayed, err error) {
	c := s.content()
	var to, last uint64
	err = c.Store.View(func(snap *store.Snapshot) error {
		oldest, err := snap.OldestPosition()
		if err != nil {
			return err
		}
		to, last = oldest.Sequence, snap.Sequence()
		entries, err := snap.Entries(oldest)
		if err != nil {
			return err
		}
		for e, err := range entries {
			if err != nil {
				return err
			}
			if !e.Time.Before(since) {
				r.Missing = e.Sequence == oldest.Sequence+1 && oldest.Sequence > 0
				return errFound
			}
			to = e.Sequence
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return r, fmt.Errorf("find the events since %s: %w", since.Format(time.RFC3339), err)
	}
	r.Entries = last - to
	before := s.queue
	s.queue = newQueue()
	for _, u := range before.upTo(to) {
		s.queue.restore(u)
	}
	s.readTo, s.behind = to, true
	s.state.Position, s.sentTo = min(s.state.Position, to), min(s.sentTo, to)
	return r, nil
}
