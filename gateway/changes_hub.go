package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/gateway/internal/paced"
	"lectern/internal/admission"
	"lectern/store"
)

// A changeHub tells listeners of changes. Each listener is a connection that was taken from net/http. While nothing changes it costs that
// connection and a changeListener, and no goroutine, buffer, place or snapshot. After a commit, the hub finds out which types were changed,
// and serves the listeners whom that concerns.
type changeHub struct {
	log     *slog.Logger
	working chan struct{} // bounds how many listeners are served at a time, while they do not wait for their clients
	wake    chan struct{}

	mu        sync.Mutex
	listeners map[*changeListener]bool
	ended     bool
	serving   sync.WaitGroup
}

// A changeListener is a client that listens to changes.
type changeListener struct {
	conn   net.Conn
	share  *admission.Share
	as     *http.Request // carries the credential
	params *changesParams

	// Used by the goroutine that serves the listener, or by the hub while there is none:
	since    changes.Position
	told     changes.Position // the position that the client knows
	beatAt   time.Time        // when the client gets the next heartbeat
	busy     bool             // a goroutine serves the listener
	due      bool             // there may be more for the client
	checkNow bool             // its permissions may have changed
}

func newChangeHub(log *slog.Logger) *changeHub {
	return &changeHub{
		log: log, working: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), wake: make(chan struct{}, 1), listeners: map[*changeListener]bool{},
	}
}

// add begins to serve a listener. The hub closes its connection and gives back its share in the end.
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
	_ = l.conn.Close() // the client sees that the stream has ended
	l.share.Release()
	l.share.Close()
}

// hubTick is how often the hub looks for listeners who need a heartbeat.
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

// concerns reports whether a listener must be served. It is called while nothing serves the listener, or notes that for later.
func (r *hubRound) concerns(l *changeListener) bool {
	l.checkNow = l.checkNow || r.recheck
	l.due = l.due || r.touched.Concerns(l.since)
	return l.due || l.checkNow || !r.now.Before(l.beatAt)
}

// serve has the listeners served whom a round concerns, and returns how many they are.
func (h *changeHub) serve(r *hubRound) (served int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.busy {
			l.due = true
		} else if r.concerns(l) {
			l.busy, l.due, l.checkNow = true, false, false
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
	if err == nil && !h.ended {
		return
	}
	delete(h.listeners, l)
	l.close()
	var told *apierror.Error
	var broken net.Error
	if err != nil && !errors.As(err, &told) && !errors.As(err, &broken) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, store.ErrRedefined) {
		h.log.Error("a listener's changes cannot be read", "error", err)
	}
}

// pagesAtOnce is how many pages one listener gets before others have their turn.
const pagesAtOnce = 16

// tell sends a listener what is new, or a heartbeat. more reports whether there is more for it.
func (h *changeHub) tell(feed *changeFeed, l *changeListener) (more bool, err error) {
	h.working <- struct{}{}
	defer func() { <-h.working }()
	who, err := feed.authenticate(l.as)
	if err != nil {
		return false, err
	}
	send := func(text []byte) error {
		<-h.working // the client may be slow
		defer func() { h.working <- struct{}{} }()
		_, err := paced.NewWriter(l.conn, l.conn, feed.limits.AnswerRate).Write(text)
		return err
	}
	return feed.events(context.Background(), who, l, send)
}

// events sends what is new to a listener, up to a number of pages. If there is nothing and the time has come, it sends a heartbeat.
func (f *changeFeed) events(ctx context.Context, who auth.Principal, l *changeListener, send func([]byte) error) (more bool, err error) {
	codec := f.codecs.Get().(*changes.Codec)
	defer f.codecs.Put(codec)
	q, err := f.query(l.params, who, codec)
	if err != nil {
		return false, err
	}
	more = true
	for n := 0; n < pagesAtOnce && more; n++ {
		if q.Since = l.since; !q.Sees(f.generation.Model) && !q.Since.HasTypes() {
			return false, apierror.Forbidden()
		}
		err := f.rest.Changes(ctx, *q, f.generation.answers, func(page changes.Page, text []byte) error {
			l.since, more = page.Next, page.Pending > 0
			if len(text) == 0 {
				return nil
			}
			l.told, l.beatAt = l.since, time.Now().Add(l.params.heartbeat)
			return send(text)
		})
		if err != nil {
			return false, err
		}
	}
	if now := time.Now(); !more && !now.Before(l.beatAt) {
		l.beatAt = now.Add(l.params.heartbeat)
		return false, send(l.heartbeat(codec))
	}
	return more, nil
}

// heartbeat returns what a client gets that has nothing to be told: a comment, or the position where it is now.
func (l *changeListener) heartbeat(codec *changes.Codec) []byte {
	if l.since == l.told {
		return []byte(":\n\n")
	}
	l.told = l.since
	return append(codec.Append([]byte("id: "), l.since), "\n\n"...)
}
