package webhooks

import (
	"slices"
	"time"
)

// A Status says how a hook is doing.
type Status struct {
	Name     string   `json:"name"`
	URL      string   `json:"url"`
	Format   Format   `json:"format"`
	Events   []string `json:"events"`
	Types    []string `json:"types,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
	// Stopped says why nothing is sent; "" if something is.
	Stopped string `json:"stopped,omitempty"`
	// Down says that the receiver does not answer. Events wait.
	Down bool `json:"down,omitempty"`
	// Waiting is how many events wait in memory, and Unread how many entries of the log are not read yet. Oldest is the
	// time of the oldest event that waits.
	Waiting int       `json:"waiting"`
	Unread  uint64    `json:"unread"`
	Oldest  time.Time `json:"oldest,omitzero"`
	// Dead is how many dead letters are kept.
	Dead     int      `json:"deadLetters"`
	Counters Counters `json:"counters"` // since the server started
}

// Counters count what a sender did since it was started.
type Counters struct {
	Delivered   uint64 `json:"delivered"`
	Failed      uint64 `json:"failed"`  // attempts
	Retried     uint64 `json:"retried"` // attempts after the first one of an event
	DeadLetters uint64 `json:"deadLetters"`
	LostEntries uint64 `json:"lostEntries"` // of the log, which was trimmed before they were read
}

// A Delivery is an attempt to send an event.
type Delivery struct {
	*Event
	ID      string        `json:"id"`
	At      time.Time     `json:"at"`
	Attempt int           `json:"attempt"`          // 1 for the first one
	Status  int           `json:"status,omitempty"` // of the answer; 0: there was none
	Took    time.Duration `json:"took"`
	Error   string        `json:"error,omitempty"` // why it failed; "" if it was delivered
}

// maxDeliveries is how many deliveries of a hook are remembered.
const maxDeliveries = 100

// record counts a delivery, and remembers it.
func (s *sender) record(d Delivery) {
	if d.Error == "" {
		s.counters.Delivered++
	} else {
		s.counters.Failed++
	}
	if d.Attempt > 1 {
		s.counters.Retried++
	}
	s.remember(d)
}

// remember keeps a delivery among the last ones.
func (s *sender) remember(d Delivery) {
	if len(s.deliveries) == maxDeliveries {
		s.deliveries = slices.Delete(s.deliveries, 0, 1)
	}
	s.deliveries = append(s.deliveries, d)
}

// status returns how the hook is doing.
func (s *sender) status() (Status, error) {
	h := s.hook
	st := Status{
		Name: h.Name, URL: h.shownURL(), Format: h.Format, Events: h.Events, Types: h.Types, Disabled: h.Disabled,
		Stopped: s.state.Stopped, Down: s.down, Waiting: s.queue.events, Dead: len(s.state.dead), Counters: s.counters,
	}
	for _, l := range s.queue.backlogs {
		if at := l.events[0].Time; st.Oldest.IsZero() || at.Before(st.Oldest) {
			st.Oldest = at
		}
	}
	c := s.content()
	present, err := c.present()
	if present > s.readTo {
		st.Unread = present - s.readTo
	}
	return st, err
}

// A Log is what is known about the deliveries of a hook.
type Log struct {
	Deliveries []Delivery   `json:"deliveries"` // the last ones since the server started, oldest first
	Waiting    []Waiting    `json:"waiting"`    // events that failed and are tried again
	Dead       []DeadLetter `json:"dead"`
}

// A Waiting is an event that failed and is tried again.
type Waiting struct {
	*Event
	ID       string    `json:"id"`
	Attempts int       `json:"attempts"`
	Next     time.Time `json:"next"`
	Behind   int       `json:"behind"` // how many later events of the document wait for it
	Reason   string    `json:"reason"`
}

// deliveryLog returns what is known about the deliveries.
func (s *sender) deliveryLog() Log {
	list := Log{Deliveries: slices.Clone(s.deliveries), Dead: slices.Clone(s.state.dead)}
	for _, l := range s.queue.backlogs {
		if l.attempts > 0 {
			list.Waiting = append(list.Waiting, Waiting{Event: l.events[0], ID: l.events[0].id(s.hook.Name),
				Attempts: l.attempts, Next: l.at, Behind: len(l.events) - 1, Reason: l.reason})
		}
	}
	slices.SortFunc(list.Waiting, func(a, b Waiting) int { return a.compare(b.Event) })
	return list
}
