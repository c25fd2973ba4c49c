package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"lectern/store"
)

// A post does all that is done for a mail (looking a user up, storing a code, sending) after the answer has left, so that nobody
// learns from the answer, or from how long it takes, whether there is such a user. It outlives the Users that it was made for when
// definitions change.
type post struct {
	log     *slog.Logger
	work    chan errand
	mu      sync.Mutex
	users   *Users        // those under the definitions that hold now
	changed chan struct{} // closed when users are replaced by others
	closing sync.RWMutex
	closed  bool
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// An errand is a piece of such work, done with the Users that there are when its turn comes. Where it fails because the definitions
// have changed, it is done again with the next ones.
type errand func(context.Context, *Users) error

const (
	maxPost     = 256              // pieces of work that wait
	postWorkers = 2                // done at a time
	postTime    = 60 * time.Second // for one
	postGrace   = 5 * time.Second  // to finish when the server stops
)

func newPost(u *Users, log *slog.Logger) *post {
	ctx, stop := context.WithCancel(context.Background())
	q := &post{log: log, users: u, changed: make(chan struct{}), work: make(chan errand, maxPost), stop: stop}
	for range postWorkers {
		q.done.Go(func() {
			for f := range q.work {
				q.do(ctx, f)
			}
		})
	}
	return q
}

func (q *post) do(ctx context.Context, f errand) {
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	for {
		users, changed := q.now()
		err := f(ctx, users)
		if errors.Is(err, store.ErrRedefined) {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
			}
		}
		if err != nil {
			q.log.Error("a mail was not sent", "error", err)
		}
		return
	}
}

func (q *post) now() (users *Users, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.users, q.changed
}

// handTo has the work that waits done with other Users.
func (q *post) handTo(u *Users) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.users = u
	close(q.changed)
	q.changed = make(chan struct{})
}

// later has f done. When too much waits it is not, which the log tells: a flood of requests must not fill the memory.
func (q *post) later(f errand) {
	q.closing.RLock()
	defer q.closing.RUnlock()
	if q.closed {
		return
	}
	select {
	case q.work <- f:
	default:
		q.log.Error("a mail was not sent", "error", "too many wait to be sent")
	}
}

// close takes no more work, and waits until what there is is done, or for postGrace.
func (q *post) close() {
	q.closing.Lock()
	q.closed = true
	close(q.work)
	q.closing.Unlock()
	late := time.AfterFunc(postGrace, q.stop)
	q.done.Wait()
	late.Stop()
	q.stop()
}
