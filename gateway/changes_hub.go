package gateway

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
	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/store"
)

// A changeHub tells listeners of changes. Each listener is a connection that was taken from net/http. While nothing changes it costs that
// connection and a changeListener, and no goroutine, buffer, place or snapshot. After a commit, the hub finds out which types were changed,
// and serves the listeners whom that concerns.
type changeHub struct {
	log     *slog.Logger
	working *admission.Semaphore // bounds how many listeners are served at a time, while they do not wait for their clients
	wake    chan struct{}

	mu        sync.Mutex
	listeners map[*changeListener]bool
	ended     bool
	serving   sync.WaitGroup
}

// A changeListener is a client that listens to changes.
type changeListener struct {
	conn      net.Conn // nil if the connection belongs to net/http
	place     *listenerPlace
	delivery  delivery
	heartbeat time.Duration

	// Used by the goroutine that serves the listener, or by the hub while there is none:
	since  changes.Position
	told   changes.Position // the position that the client knows
	beatAt time.Time        // when the client gets the next heartbeat
	busy   bool             // a goroutine serves the listener
	due    bool             // there may be more for the client, or its permissions may have changed
}

// A delivery sends changes in the form that a client asked for.
type delivery interface {
	// deliver authenticates the client, sends it the next page of changes after l.since, and sets l.since to the position behind them and
	// l.told to the id that was sent last. It may send nothing. more reports whether there is another page. At the end of a stream, the error
	// is io.EOF.
	deliver(ctx context.Context, feed *changeFeed, l *changeListener, send func([]byte) error) (more bool, err error)
}

func newChangeListener(place *listenerPlace, d delivery, since changes.Position, heartbeat time.Duration) *changeListener {
	return &changeListener{place: place, delivery: d, since: since, told: since, heartbeat: heartbeat, beatAt: time.Now().Add(heartbeat)}
}

func newChangeHub(log *slog.Logger) *changeHub {
	working := admission.New(admission.Limits{Places: 2 * runtime.GOMAXPROCS(0)})
	return &changeHub{log: log, working: working, wake: make(chan struct{}, 1), listeners: map[*changeListener]bool{}}
}

// add begins to serve a listener. The hub closes its connection and gives back its place in the end.
func (h *changeHub) add(l *changeListener) {
	h.mu.Lock()
	ended := h.ended
	if l.due = true; !ended {
		h.listeners[l] = true
	}
	h.mu.Unlock()
	if ended {
		l.close()
	} else {
		h.awake()
	}
}

func (h *changeHub) awake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (l *changeListener) close() {
	if l.conn != nil {
		_ = l.conn.Close() // the client sees that the stream has ended
	}
	l.place.leave()
}

// dropGone drops the listeners who have closed their connections, so that others can have their places.
func (h *changeHub) dropGone() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if !l.busy && hungUp(socketOf(l.conn)) {
			delete(h.listeners, l)
			l.close()
		}
	}
}

// hubTick is how often the hub looks for listeners who need a heartbeat or are gone.
const hubTick = time.Second

// run serves listeners until ctx ends, and then closes their connections.
func (h *changeHub) run(ctx context.Context, server *Server) {
	defer h.close()
	tick := time.NewTicker(hubTick)
	defer tick.Stop()
	var round hubRound
	for {
		serving := server.serving.Load()
		var committed <-chan struct{}
		if h.count() > 0 && serving.rt.feed != nil {
			committed = serving.rt.feed.generation.store.NextCommit()
			round.begin(serving.rt.feed)
			if betweenRounds(ctx, h.serve(&round)) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-committed:
		case <-serving.replaced:
		case <-h.wake:
		case <-tick.C:
			h.dropGone()
		}
	}
}

// betweenRounds waits the longer, the more listeners were served, from 2 to 250 milliseconds. So commits that follow fast cost one round
// together, and listeners leave most of the time to writers.
func betweenRounds(ctx context.Context, served int) error {
	const perListener = 200 * time.Microsecond
	wait := time.NewTimer(min(max(time.Duration(served)*perListener, 2*time.Millisecond), 250*time.Millisecond))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}

func (h *changeHub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

// close closes all connections and waits until no listener is served.
func (h *changeHub) close() {
	h.mu.Lock()
	h.ended = true
	for l := range h.listeners {
		if l.busy {
			_ = l.conn.Close() // ends a write
		} else {
			delete(h.listeners, l)
			l.close()
		}
	}
	h.mu.Unlock()
	h.serving.Wait()
}

// A hubRound is one look of the hub at what has changed.
type hubRound struct {
	feed    *changeFeed
	head    store.Position
	touched changes.Touched
	recheck bool // permissions may have changed since the last round
	now     time.Time
}

// begin finds out what has changed since the last round.
func (r *hubRound) begin(feed *changeFeed) {
	recheck := r.touched.BuiltIn // tokens and roles are read anew a moment after the commit that changed them
	if feed != r.feed {
		*r = hubRound{feed: feed} // the log after the zero position cannot be read, so all has been touched
	}
	r.now, r.touched, r.recheck = time.Now(), changes.Touched{}, recheck
	err := feed.generation.store.View(func(s *store.Snapshot) (err error) {
		r.touched, r.head, err = changes.TouchedSince(s, r.head)
		return err
	})
	if err != nil {
		r.touched = changes.Touched{All: true, BuiltIn: true} // who is served meets the error
	}
	r.recheck = r.recheck || r.touched.BuiltIn
}

// concerns reports whether a listener that is not busy must be served.
func (r *hubRound) concerns(l *changeListener) bool {
	return l.due || r.recheck || r.touched.Concerns(l.since) || !r.now.Before(l.beatAt)
}

// serve has the listeners served whom a round concerns, and returns how many they are.
func (h *changeHub) serve(r *hubRound) (served int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.busy {
			l.due = true
		} else if r.concerns(l) {
			l.busy, l.due = true, false
			feed := r.feed
			h.serving.Go(func() { h.serveOne(feed, l) })
			served++
		}
	}
	return served
}

// serveOne tells a listener what is new. An error ends the listener.
func (h *changeHub) serveOne(feed *changeFeed, l *changeListener) {
	more, err := h.tell(feed, l)
	h.mu.Lock()
	defer h.mu.Unlock()
	l.busy = false
	if l.due = l.due || more; l.due {
		defer h.awake()
	}
	if (err == nil || errors.Is(err, store.ErrRedefined)) && !h.ended { // the first round of the next generation concerns all listeners
		return
	}
	delete(h.listeners, l)
	l.close()
	h.logFailure(err)
}

// logFailure logs the error that ended a listener, unless a client or the end of the server explains it.
func (h *changeHub) logFailure(err error) {
	var told *apierror.Error
	var broken net.Error
	if err == nil || errors.As(err, &told) || errors.As(err, &broken) {
		return
	}
	for _, expected := range []error{io.EOF, net.ErrClosed, store.ErrRedefined, context.Canceled, budget.ErrExhausted} {
		if errors.Is(err, expected) {
			return
		}
	}
	h.log.Error("a listener's changes cannot be read", "error", err)
}

// tell sends a listener what is new, or a heartbeat. more reports whether there is more for it.
func (h *changeHub) tell(feed *changeFeed, l *changeListener) (more bool, err error) {
	client := l.place.client()
	ctx := admission.WithClient(context.Background(), client) // never ends, so that turns always come
	turn := h.working.Share(client)
	defer turn.Close()
	_ = turn.Acquire(ctx)
	defer turn.Release()
	to := paced.NewWriter(l.conn, l.conn, feed.limits.AnswerRate)
	return l.tell(ctx, feed, func(text []byte) error {
		turn.Release() // the client may be slow
		defer func() { _ = turn.Acquire(ctx) }()
		_, err := to.Write(text)
		return err
	})
}

// pagesAtOnce is how many pages one listener gets before others have their turn.
const pagesAtOnce = 16

// tell sends what is new, up to a number of pages. If there is nothing and the time has come, it sends a heartbeat.
func (l *changeListener) tell(ctx context.Context, feed *changeFeed, send func([]byte) error) (more bool, err error) {
	sendNow := func(text []byte) error {
		l.beatAt = time.Now().Add(l.heartbeat)
		return send(text)
	}
	more = true
	for n := 0; n < pagesAtOnce && more; n++ {
		if more, err = l.delivery.deliver(ctx, feed, l, sendNow); err != nil {
			return false, err
		}
	}
	if !more && !time.Now().Before(l.beatAt) {
		return false, sendNow(l.heartbeatText(feed.positions))
	}
	return more, nil
}

// heartbeatText returns what a client gets that has nothing to be told: a comment, or the position where it is now, since the log may lose
// the one that it knows.
func (l *changeListener) heartbeatText(p *positions) []byte {
	if l.since == l.told {
		return emptyComment
	}
	l.told = l.since
	return []byte("id: " + p.text(l.since) + "\n\n")
}
