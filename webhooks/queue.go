package webhooks

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// Pauses before an event is tried again, and when it is given up.
const (
	firstPause, lastPause = 5 * time.Second, 6 * time.Hour
	pauseGrowth           = 3
	giveUpAfter           = 72 * time.Hour
)

// pauseAfter returns the pause after so many failed attempts: three times the one before, up to most, and up to a fifth
// longer or shorter, so that events that failed together are not tried again together.
func pauseAfter(attempts int, most time.Duration) time.Duration {
	pause := firstPause
	for ; attempts > 1 && pause < most; attempts-- {
		pause *= pauseGrowth
	}
	pause = min(pause, most)
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

// A backlog holds the events of a document that are not delivered, oldest first. Only its first event is sent.
type backlog struct {
	key      string
	events   []*Event
	attempts int       // failed attempts of the first event
	since    time.Time // of the first of them
	at       time.Time // when to try again
	reason   string    // why the last attempt failed
}

// A queue holds the events that a hook is to be sent, and says which is next: backlogs take turns in the order in which
// their events came, and those that failed wait until it is time to try again.
type queue struct {
	backlogs map[string]*backlog
	ready    []*backlog // with an event to send now, the one that came first in front
	waiting  backlogHeap
	events   int // in all backlogs
}

func newQueue() *queue { return &queue{backlogs: map[string]*backlog{}} }

// add adds an event behind the others of its document.
func (q *queue) add(e *Event) *backlog {
	l := q.backlogs[e.key()]
	if l == nil {
		l = &backlog{key: e.key()}
		q.backlogs[l.key] = l
		q.ready = append(q.ready, l)
	}
	l.events = append(l.events, e)
	q.events++
	return l
}

// due moves backlogs whose pause is over to those that are ready, and returns when the next pause ends; zero if there
// is none.
func (q *queue) due(now time.Time) time.Time {
	for len(q.waiting) > 0 {
		if next := q.waiting[0]; next.at.After(now) {
			return next.at
		}
		q.ready = append(q.ready, heap.Pop(&q.waiting).(*backlog))
	}
	return time.Time{}
}

// next returns a backlog whose first event is to be sent now, nil if there is none. The caller must call settled,
// failed or later with it.
func (q *queue) next() *backlog {
	if len(q.ready) == 0 {
		return nil
	}
	l := q.ready[0]
	q.ready[0] = nil
	q.ready = q.ready[1:]
	return l
}

// firstWaiting returns the backlog whose pause ends first, although it is not over, nil if none waits. The caller must
// do with it as next says.
func (q *queue) firstWaiting() *backlog {
	if len(q.waiting) == 0 {
		return nil
	}
	return heap.Pop(&q.waiting).(*backlog)
}

// settled removes the first event of a backlog, which was delivered or given up.
func (q *queue) settled(l *backlog) {
	l.events[0] = nil
	l.events = l.events[1:]
	q.events--
	l.attempts, l.since, l.reason = 0, time.Time{}, ""
	if len(l.events) == 0 {
		delete(q.backlogs, l.key)
		return
	}
	q.ready = append(q.ready, l)
}

// failed has a backlog wait until at. reason says why its first event was not delivered.
func (q *queue) failed(l *backlog, reason string, now, at time.Time) {
	if l.attempts++; l.attempts == 1 {
		l.since = now
	}
	l.reason, l.at = reason, at
	heap.Push(&q.waiting, l)
}

// later has a backlog that was not tried wait until at.
func (q *queue) later(l *backlog, at time.Time) {
	l.at = at
	heap.Push(&q.waiting, l)
}

// has reports whether an event is in the backlog.
func (l *backlog) has(e *Event) bool {
	return slices.ContainsFunc(l.events, func(other *Event) bool { return other.compare(e) == 0 })
}

// retry ends the pause of a backlog, if it waits.
func (q *queue) retry(l *backlog) {
	if i := slices.Index(q.waiting, l); i >= 0 {
		heap.Remove(&q.waiting, i)
		q.ready = append(q.ready, l)
	}
}

// retryAll ends all pauses.
func (q *queue) retryAll() {
	for len(q.waiting) > 0 {
		q.ready = append(q.ready, heap.Pop(&q.waiting).(*backlog))
	}
}

// A backlogHeap orders backlogs by when they are tried again, and those of the same time by their first event.
type backlogHeap []*backlog

func (h backlogHeap) Len() int { return len(h) }
func (h backlogHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].events[0].compare(h[j].events[0]) < 0
}
func (h backlogHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *backlogHeap) Push(l any)   { *h = append(*h, l.(*backlog)) }
func (h *backlogHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}

// upTo returns the events up to a sequence, in their order.
func (q *queue) upTo(sequence uint64) (list []unsettled) {
	for _, l := range q.backlogs {
		for i, e := range l.events {
			if e.Sequence > sequence {
				continue
			}
			u := unsettled{Event: e}
			if i == 0 {
				u.Attempts, u.Since, u.Reason = l.attempts, l.since, l.reason
			}
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b unsettled) int { return a.compare(b.Event) })
	return list
}

// restore adds an event that upTo returned. It is tried at once.
func (q *queue) restore(u unsettled) {
	if l := q.add(u.Event); len(l.events) == 1 {
		l.attempts, l.since, l.reason = u.Attempts, u.Since, u.Reason
	}
}
