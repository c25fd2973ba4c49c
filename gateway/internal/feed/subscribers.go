package feed

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/gateway/internal/paced"
	"lectern/gateway/internal/server"
	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/store"
)

// A Project is what Subscribers need of the project.
type Project interface {
	// Feed returns the feed that answers requests now.
	Feed() *Feed
	// Stopping returns a channel that is closed when the server stops, and answers that wait must end.
	Stopping() <-chan struct{}
}

// Subscribers are the clients that wait for changes. While nothing changes, one that gets a stream costs its connection
// and a Subscriber, and no goroutine, buffer, place or snapshot. After a commit, Run finds out which types were
// changed, and serves the subscribers whom that concerns.
type Subscribers struct {
	// Waiting counts the clients, and Conditions those in the filters of their subscriptions.
	Waiting, Conditions *admission.Semaphore

	log     *slog.Logger
	project Project
	memory  *budget.Budget       // of all requests
	part    *budget.Budget       // of subscribers
	working *admission.Semaphore // bounds how many are served at a time, while they do not wait for their clients
	wake    chan struct{}

	mu      sync.Mutex
	streams map[*Subscriber]bool
	ended   bool
	serving sync.WaitGroup
}

// NewSubscribers returns Subscribers within limits. Together they may have a quarter of the memory of all requests:
// they may wait for days, and must leave the rest to others.
func NewSubscribers(log *slog.Logger, project Project, memory *budget.Budget, waiting,
	conditions admission.Limits) *Subscribers {
	return &Subscribers{
		Waiting: admission.New(waiting), Conditions: admission.New(conditions),
		log: log, project: project, memory: memory, part: budget.New(memory.Limit() / 4),
		working: admission.New(admission.Limits{Places: 2 * runtime.GOMAXPROCS(0)}),
		wake:    make(chan struct{}, 1), streams: map[*Subscriber]bool{},
	}
}

// A Subscriber is a client that gets a stream of events.
type Subscriber struct {
	// Since is the position after which it gets changes, and Sent the last one that was sent to it. A Delivery sets
	// both.
	Since, Sent changes.Position

	conn      net.Conn // nil if the connection belongs to net/http
	place     *Place
	delivery  Delivery
	heartbeat time.Duration

	// Used by the goroutine that serves the subscriber, or by Run while there is none:
	beatAt time.Time // when the client gets the next heartbeat
	busy   bool      // a goroutine serves the subscriber
	due    bool      // there may be more for the client, or its permissions may have changed
}

// A Delivery sends changes in the form that a client asked for.
type Delivery interface {
	// Deliver authenticates the client, sends it the next page of changes after s.Since, and sets s.Since to the
	// position behind them and s.Sent to the id that was sent last. It may send nothing. more reports whether there is
	// another page. At the end of a stream, the error is io.EOF.
	Deliver(ctx context.Context, feed *Feed, s *Subscriber, send func([]byte) error) (more bool, err error)
}

// NewSubscriber returns a subscriber that gets changes after a position, and a heartbeat if nothing was sent for a
// time.
func NewSubscriber(place *Place, d Delivery, since changes.Position, heartbeat time.Duration) *Subscriber {
	return &Subscriber{place: place, delivery: d, Since: since, Sent: since, heartbeat: heartbeat,
		beatAt: time.Now().Add(heartbeat)}
}

// add begins to serve a subscriber. In the end its connection is closed and its place given back.
func (s *Subscribers) add(to *Subscriber) {
	s.mu.Lock()
	ended := s.ended
	if to.due = true; !ended {
		s.streams[to] = true
	}
	s.mu.Unlock()
	if ended {
		to.close()
	} else {
		s.awake()
	}
}

func (s *Subscribers) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Subscriber) close() {
	if s.conn != nil {
		_ = s.conn.Close() // the client sees that the stream has ended
	}
	s.place.Leave()
}

// dropGone drops the subscribers who have closed their connections, so that others can have their places.
func (s *Subscribers) dropGone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.streams {
		if !one.busy && server.IsGone(one.conn) {
			delete(s.streams, one)
			one.close()
		}
	}
}

// tick is how often Run looks for subscribers who need a heartbeat or are gone.
const tick = time.Second

// Run serves subscribers until ctx ends, and then closes their connections.
func (s *Subscribers) Run(ctx context.Context) {
	defer s.close()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	var now round
	for {
		feed := s.project.Feed()
		var committed <-chan struct{}
		if s.count() > 0 {
			committed = feed.Store.NextCommit()
			now.begin(feed)
			if pause(ctx, s.serve(&now)) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-committed:
		case <-feed.Replaced:
		case <-s.wake:
		case <-ticks.C:
			s.dropGone()
		}
	}
}

// pause waits between two rounds, the longer, the more subscribers were served, from 2 to 250 milliseconds. So commits
// that follow fast cost one round together, and subscribers leave most of the time to writers.
func pause(ctx context.Context, served int) error {
	const each = 200 * time.Microsecond
	wait := time.NewTimer(min(max(time.Duration(served)*each, 2*time.Millisecond), 250*time.Millisecond))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}

func (s *Subscribers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

// close closes all connections and waits until no subscriber is served.
func (s *Subscribers) close() {
	s.mu.Lock()
	s.ended = true
	for one := range s.streams {
		if one.busy {
			_ = one.conn.Close() // ends a write
		} else {
			delete(s.streams, one)
			one.close()
		}
	}
	s.mu.Unlock()
	s.serving.Wait()
}

// A round is one look at what has changed.
type round struct {
	feed    *Feed
	head    store.Position
	touched changes.Touched
	recheck bool // permissions may have changed since the last round
	now     time.Time
}

// begin finds out what has changed since the last round.
func (r *round) begin(feed *Feed) {
	recheck := r.touched.BuiltIn // tokens and roles are read anew shortly after the commit that changed them
	if feed != r.feed {
		*r = round{feed: feed} // the log after the zero position cannot be read, so all has been touched
	}
	r.now, r.touched, r.recheck = time.Now(), changes.Touched{}, recheck
	err := feed.Store.View(func(s *store.Snapshot) (err error) {
		r.touched, r.head, err = changes.TouchedSince(s, r.head)
		return err
	})
	if err != nil {
		r.touched = changes.Touched{All: true, BuiltIn: true} // who is served meets the error
	}
	r.recheck = r.recheck || r.touched.BuiltIn
}

// concerns reports whether a subscriber that is not busy must be served.
func (r *round) concerns(s *Subscriber) bool {
	return s.due || r.recheck || r.touched.Concerns(s.Since) || !r.now.Before(s.beatAt)
}

// serve has the subscribers served whom a round concerns, and returns how many they are.
func (s *Subscribers) serve(r *round) (served int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.streams {
		if one.busy {
			one.due = true
		} else if r.concerns(one) {
			one.busy, one.due = true, false
			feed := r.feed
			s.serving.Go(func() { s.serveOne(feed, one) })
			served++
		}
	}
	return served
}

// serveOne sends a subscriber what is new. An error ends its stream.
func (s *Subscribers) serveOne(feed *Feed, one *Subscriber) {
	more, err := s.send(feed, one)
	s.mu.Lock()
	defer s.mu.Unlock()
	one.busy = false
	if one.due = one.due || more; one.due {
		defer s.awake()
	}
	if (err == nil || errors.Is(err, store.ErrRedefined)) &&
		!s.ended { // the first round of the next feed concerns all subscribers
		return
	}
	delete(s.streams, one)
	one.close()
	s.logFailure(err)
}

// logFailure logs the error that ended a stream, unless a client or the end of the server explains it.
func (s *Subscribers) logFailure(err error) {
	var answer *apierror.Error
	var broken net.Error
	if err == nil || errors.As(err, &answer) || errors.As(err, &broken) {
		return
	}
	for _, expected := range []error{io.EOF, net.ErrClosed, store.ErrRedefined, context.Canceled, budget.ErrExhausted} {
		if errors.Is(err, expected) {
			return
		}
	}
	s.log.Error("a listener's changes cannot be read", "error", err)
}

// send sends a subscriber what is new, or a heartbeat. more reports whether there is more for it.
func (s *Subscribers) send(feed *Feed, one *Subscriber) (more bool, err error) {
	client := one.place.client()
	ctx := admission.WithClient(context.Background(), client) // never ends, so that turns always come
	turn := s.working.Share(client)
	defer turn.Close()
	_ = turn.Acquire(ctx)
	defer turn.Release()
	to := paced.NewWriter(one.conn, one.conn, feed.Limits.AnswerRate)
	return one.deliver(ctx, feed, func(text []byte) error {
		turn.Release() // the client may be slow
		defer func() { _ = turn.Acquire(ctx) }()
		_, err := to.Write(text)
		return err
	})
}

// pagesAtOnce is how many pages one subscriber gets before others have their turn.
const pagesAtOnce = 16

// deliver sends what is new, up to a number of pages. If there is nothing and the time has come, it sends a heartbeat.
func (s *Subscriber) deliver(ctx context.Context, feed *Feed, send func([]byte) error) (more bool, err error) {
	sendNow := func(text []byte) error {
		s.beatAt = time.Now().Add(s.heartbeat)
		return send(text)
	}
	more = true
	for n := 0; n < pagesAtOnce && more; n++ {
		if more, err = s.delivery.Deliver(ctx, feed, s, sendNow); err != nil {
			return false, err
		}
	}
	if !more && !time.Now().Before(s.beatAt) {
		return false, sendNow(s.heartbeatText(feed.Positions))
	}
	return more, nil
}

// heartbeatText returns what a client gets for which there is nothing: a comment, or the position where it is now,
// since the log may lose the one that it knows.
func (s *Subscriber) heartbeatText(p *Positions) []byte {
	if s.Since == s.Sent && !s.Since.IsSealed() { // one that is sealed must not tell that it has moved
		return emptyComment
	}
	s.Sent = s.Since
	return []byte("id: " + p.Text(s.Since) + "\n\n")
}
